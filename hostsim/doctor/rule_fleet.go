package doctor

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
	"github.com/pointsman/pointsman/statesvc/config"
)

func fleetRules() []Rule {
	return []Rule{
		{
			Name: "fleet-id", Severity: Error, Looks: "a group that names an engine the state service does not have",
			Why: "the engine is missing from its group, and a group without engines is passed over", Fix: "make worker_ids and the ids of fleet.static agree; an engine without an id has its address for one", check: fleetIDs,
		},
		{
			Name: "fleet-model", Severity: Warning, Looks: "a model that no engine of the state service is said to serve",
			Why: "requests for it get 503", Fix: "add the model to an engine's models, leave models out so that engines are asked, or correct the name", check: fleetModels,
		},
		{
			Name: "fleet-differs", Severity: Warning, Looks: "an engine with one id and two addresses, in the filter and in the state service",
			Why: "the filter's workers count until the service has answered: for that time requests go to the other address", Fix: "make them agree, or leave workers out", check: fleetDiffers,
		},
	}
}

// workersOf lists the engines that a filter may name: its own, and those of the state
// service. Names are left out.
func (m *model) workersOf(f *filter) (list []worker) {
	cfg := f.plugin.config
	if cfg == nil || cfg.spec == nil {
		return nil
	}
	for i, w := range cfg.spec.Workers {
		list = append(list, worker{w.ID, w.Address, cfg.at.Get("workers", strconv.Itoa(i), "address")})
	}
	if s := m.service(); s != nil && cfg.spec.State != nil {
		for i, w := range s.config.Fleet.Static {
			if a := literal(w.Endpoint); a != "" {
				list = append(list, worker{w.ID, a, s.at.Find(fmt.Sprintf("fleet.static[%d]", i))})
			}
		}
	}
	return list
}

// literal is ip:port of an endpoint, empty where it has a name.
func literal(e config.Endpoint) string {
	if _, err := netip.ParseAddr(e.Host); err != nil {
		return ""
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// closed reports whether the state service has no engines but those in its file.
func closed(s *stateConfig) bool {
	return len(s.config.Fleet.Static) > 0 && !s.config.Discovery.Any()
}

func fleetIDs(m *model, report reporter) {
	m.eachPair(func(f *filterConfig, s *stateConfig) {
		if !closed(s) {
			return
		}
		has := func(id string) bool {
			return slices.ContainsFunc(s.config.Fleet.Static, func(w config.Worker) bool { return w.ID == id })
		}
		for _, name := range slices.Sorted(maps.Keys(f.spec.Models)) {
			for i, b := range f.spec.Models[name].Buckets {
				eachGroup(b.Groups, func(stage string, g *spec.Group) {
					if g.WorkerIDs == nil {
						return
					}
					for n, id := range *g.WorkerIDs {
						if !has(id) {
							path := fmt.Sprintf("%s.buckets[%d].groups.%s.worker_ids[%d]", tree.Join("models", name), i, stage, n)
							report(f.at.Find(path), "the state service has no engine %q", id)
						}
					}
				})
			}
		}
	})
}

func fleetModels(m *model, report reporter) {
	m.eachPair(func(f *filterConfig, s *stateConfig) {
		asked := slices.ContainsFunc(s.config.Fleet.Static, func(w config.Worker) bool { return len(w.Models) == 0 })
		if asked || !closed(s) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(f.spec.Models)) {
			if !slices.ContainsFunc(s.config.Fleet.Static, func(w config.Worker) bool { return slices.Contains(w.Models, name) }) {
				report(f.at.Get("models").Get(name), "no engine of the state service serves %q", name)
			}
		}
	})
}

func fleetDiffers(m *model, report reporter) {
	m.eachPair(func(f *filterConfig, s *stateConfig) {
		for i, w := range f.spec.Workers {
			for _, o := range s.config.Fleet.Static {
				if a := literal(o.Endpoint); w.ID != "" && w.ID == o.ID && a != "" && a != w.Address {
					report(f.at.Get("workers", strconv.Itoa(i), "address"), "engine %q is at %s in the state service", w.ID, a)
				}
			}
		}
	})
}
