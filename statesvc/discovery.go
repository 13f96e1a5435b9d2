package statesvc

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/pointsman/pointsman/statesvc/fleet/dnsnames"
	"github.com/pointsman/pointsman/statesvc/fleet/register"
	"github.com/pointsman/pointsman/statesvc/fleet/watchfile"
)

// Source finds engines and tells the fleet of them from Start to Stop.
type Source interface {
	Start()
	Stop()
}

// awaited are the sources that the first answer to a sync waits for.
func awaited(d *config.Discovery) []claims.Source {
	var list []claims.Source
	for _, s := range []struct {
		source claims.Source
		on     bool
	}{
		{claims.File, d.File.Path != ""},
		{claims.HTTP, d.HTTP.Enabled},
		{claims.Kubernetes, d.Kubernetes.Enabled},
		{claims.DNS, len(d.DNS.Names) > 0},
	} {
		if s.on {
			list = append(list, s.source)
		}
	}
	return list
}

// openDiscovery makes the sources of the configuration.
func (s *Service) openDiscovery(opts *Options) (problems config.Problems, err error) {
	d := &s.cfg.Discovery
	if d.File.Path != "" {
		w, err := watchfile.New(watchfile.Options{Config: d.File, MaxStringBytes: s.cfg.Limits.MaxStringBytes, Sink: s.fleet, Logger: opts.Logger})
		problems = within(problems, "discovery.file.path", err)
		s.sources = append(s.sources, w)
	}
	if d.HTTP.Enabled {
		r, err := register.New(register.Options{Fleet: s.fleet, StateFile: d.HTTP.StateFile, MaxStringBytes: s.cfg.Limits.MaxStringBytes})
		problems = within(problems, "discovery.http.state_file", err)
		s.registry = r
		s.sources = append(s.sources, remembering{r, d.HTTP.StateFile == "" && s.cfg.OnlyHTTP()})
	}
	if len(d.DNS.Names) > 0 {
		s.sources = append(s.sources, dnsnames.New(dnsnames.Options{Config: d.DNS, Sink: s.fleet}))
	}
	if !d.Kubernetes.Enabled {
		return problems, nil
	}
	if opts.Kubernetes == nil {
		return problems, errors.New("discovery.kubernetes: this program is built without it")
	}
	source, err := opts.Kubernetes(s.cfg, s.fleet, opts.Logger)
	problems = within(problems, "discovery.kubernetes", err)
	s.sources = append(s.sources, source)
	return problems, nil
}

// remembering is the registry as a source. Where registrations are the only source and
// none are kept over a restart, it says nothing until there is one: an empty fleet would
// be told to contexts that know the one of before the restart.
type remembering struct {
	*register.Registry
	silent bool
}

func (r remembering) Start() {
	if !r.silent {
		r.Registry.Start()
	}
}

func (r remembering) Stop() {}

// within puts the problems of a file below the setting that names it.
func within(problems config.Problems, path string, err error) config.Problems {
	if inner, ok := errors.AsType[config.Problems](err); ok {
		for _, p := range inner {
			problems = append(problems, config.Problem{Path: path, Reason: p.String()})
		}
		return problems
	}
	if err != nil {
		problems = append(problems, config.Problem{Path: path, Reason: err.Error()})
	}
	return problems
}

// checkDiscovery names what openDiscovery would refuse of the files that are named.
func checkDiscovery(cfg *config.Config) (problems config.Problems) {
	d := &cfg.Discovery
	if d.File.Path != "" {
		problems = within(problems, "discovery.file.path", watchfile.Check(d.File.Path, cfg.Limits.MaxStringBytes))
	}
	if d.HTTP.StateFile != "" {
		_, err := register.New(register.Options{StateFile: d.HTTP.StateFile, MaxStringBytes: cfg.Limits.MaxStringBytes})
		problems = within(problems, "discovery.http.state_file", err)
	}
	return problems
}

// KubernetesSource makes a source of EndpointSlices. It is given to New by programs that
// are to follow them, so that others do not link Kubernetes' client.
type KubernetesSource func(cfg *config.Config, sink claims.Sink, log *slog.Logger) (Source, error)

func (s *Service) startDiscovery() {
	for _, source := range s.sources {
		source.Start()
	}
}

func (s *Service) stopDiscovery() {
	for _, source := range s.sources {
		source.Stop()
	}
}

// describeSources is for the log.
func (s *Service) describeSources() string {
	list := awaited(&s.cfg.Discovery)
	if len(s.cfg.Fleet.Static) > 0 {
		list = append([]claims.Source{claims.Static}, list...)
	}
	return fmt.Sprint(list)
}
