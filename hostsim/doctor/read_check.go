package doctor

import (
	"errors"

	"github.com/pointsman/pointsman/hostsim/doctor/schema"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
	"github.com/pointsman/pointsman/statesvc/config"
)

// check holds a document against a protobuf message.
func (r *reading) check(at tree.At, message string) {
	if m, ok := schema.Named(message); ok {
		r.problems(schema.Message(at, m))
	}
}

func (r *reading) checkResources(at tree.At) {
	if m, ok := schema.Named("envoy.service.discovery.v3.DiscoveryResponse"); ok {
		r.problems(schema.Message(at, m))
	}
}

func (r *reading) problems(list []schema.Problem) {
	for _, p := range list {
		rule := ruleBadValue
		if p.Unknown {
			rule = ruleUnknownField
		}
		r.broken(rule, p.At, "%s", p.Text)
	}
}

// service reads a configuration of the state service. Tokens in the environment are
// those of another machine.
func (r *reading) service(at tree.At) {
	s := &stateConfig{at: at}
	cfg, err := config.Parse(at.Node.JSON(), func(string) string { return "set-elsewhere" })
	if err != nil {
		problems, ok := errors.AsType[config.Problems](err)
		if !ok {
			problems = config.Problems{{Reason: err.Error()}}
		}
		for _, p := range problems {
			r.broken(ruleStateConfig, at.Find(p.Path), "%s", p.Reason)
		}
	} else {
		s.config = cfg
	}
	r.model.services = append(r.model.services, s)
}
