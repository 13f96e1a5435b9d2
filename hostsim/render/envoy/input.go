package envoy

import (
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/render"
)

// Cluster names.
const (
	engines    = "engines"     // unless the configuration names one, for aborts
	enginesAny = "engines_any" // for paths that the filter does not route
)

// read turns an input into what the template shows, or refuses it.
func read(in *render.Input) (*bootstrap, error) {
	var refused render.Refusals
	c, o := in.Filter, in.Options
	b := &bootstrap{
		Filter: string(in.Text), Wasm: o.Wasm.Path, Labels: labels(), Paths: c.Paths, Retry: c.TransportRetry,
		OriginalDst: c.EndpointMode == spec.EndpointOriginalDst, Cluster: engines,
	}
	if c.Abort != nil {
		b.Cluster = c.Abort.Cluster
	}
	b.limits(c)
	b.version(o.EnvoyVersion, &refused)
	b.Listen = address("--listen", o.Listen, true, &refused)
	b.Admin = address("--admin", o.Admin, true, &refused)
	if b.Wasm == "" {
		refused.Add("--wasm", "--wasm /etc/envoy/filter.wasm", "is empty")
	}
	b.state(in, &refused)
	b.engines(in, &refused)
	b.names(&refused)
	return b, refused.Err()
}

func (b *bootstrap) version(text string, refused *render.Refusals) {
	minor, ok := usual, true
	if text != "" {
		minor, ok = Minor(text)
	}
	switch {
	case !ok:
		refused.Add("--envoy-version", "a version like 1.36 or 1.40.0", "%q is no version of Envoy 1", text)
	case minor < Floor:
		refused.Add("--envoy-version", fmt.Sprintf("1.%d or later", Floor), "Envoy %s cannot hold a request's headers until its body is known: allow_on_headers_stop_iteration came with 1.%d", text, Floor)
	}
	b.Version, b.RouteLimit = fmt.Sprintf("1.%d", minor), minor >= routeLimits
}

// state finds the state service.
func (b *bootstrap) state(in *render.Input, refused *render.Refusals) {
	c, flag := in.Filter, in.Options.State
	switch {
	case c.State == nil && flag != "":
		refused.Add("--state", `"state": {"cluster": "pointsman_state"} in the configuration, or no --state`, "the configuration has no state service")
	case c.State != nil && flag == "":
		refused.Add("state.cluster", "--state HOST:PORT", "nothing says where the state service is")
	case c.State != nil:
		b.TokenEnv = c.State.TokenEnv
		at := []render.Address{address("--state", flag, false, refused)}
		b.State = &cluster{Name: c.State.Cluster, Type: typeOf(at), Endpoints: at}
	}
}

// engines finds the engines that Envoy itself is to know.
func (b *bootstrap) engines(in *render.Input, refused *render.Refusals) {
	list, flag := in.Options.Engines, "--engine"
	if len(list) == 0 {
		flag = "workers"
		for _, w := range in.Filter.Workers {
			list = append(list, w.Address)
		}
	}
	b.Engines.Name = b.Cluster
	if b.OriginalDst {
		b.Engines.Name = enginesAny
	}
	seen := map[render.Address]bool{}
	for _, text := range list {
		at := address(flag, text, false, refused)
		if seen[at] && at != (render.Address{}) {
			refused.Add(flag, "each engine once", "%s stands twice", text)
		}
		seen[at] = true
		b.Engines.Endpoints = append(b.Engines.Endpoints, at)
	}
	b.Engines.Type = typeOf(b.Engines.Endpoints)
	if len(list) == 0 && !b.OriginalDst {
		refused.Add("endpoint_mode", `--engine HOST:PORT for each engine, or "endpoint_mode": "original_dst"`, "is %s: Envoy takes only engines that it knows, and none is given", spec.EndpointOverrideHost)
	}
}

// names refuses clusters of one name.
func (b *bootstrap) names(refused *render.Refusals) {
	if b.State != nil && b.State.Name == b.Cluster {
		refused.Add("abort.cluster", `"abort": {"cluster": "engines"}`, "%q is the state service's cluster", b.Cluster)
	}
	for path, name := range map[string]string{"abort.cluster": b.Cluster, "state.cluster": b.stateName()} {
		if name == enginesAny || path == "state.cluster" && name == engines {
			refused.Add(path, "another name", "%q is what the bootstrap calls its engines", name)
		}
	}
}

func (b *bootstrap) stateName() string {
	if b.State == nil {
		return ""
	}
	return b.State.Name
}

// address reads a flag's host:port.
func address(flag, text string, literal bool, refused *render.Refusals) render.Address {
	a, err := render.ParseAddress(strings.TrimSpace(text))
	switch {
	case err != nil:
		refused.Add(flag, "an address like 10.0.0.7:8000", "%q %v", text, err)
	case literal && !a.Literal():
		refused.Add(flag, "an address like 0.0.0.0:8080", "%q is a name, and Envoy listens on IP addresses only", text)
	}
	return a
}
