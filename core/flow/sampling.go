package flow

import (
	"fmt"
	"strconv"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/sampling"
	"github.com/pointsman/pointsman/core/spec"
)

// parameters are what a body has for sampling.
type parameters struct {
	dialect   chat.Dialect
	values    sampling.Values
	place     chat.Place
	perPrompt bool
	rid       ridRoom
	seen      bool // there was a body
}

func parametersOf(dialect chat.Dialect, facts *chat.Facts) parameters {
	return parameters{dialect, facts.Sampling, facts.Place, facts.PerPrompt, roomOf(dialect, facts), true}
}

// govern holds a request to the sampling contract of its model: it notes what the
// body must be given, or answers why not (engine-selection.md 12.6). A body that
// was not seen cannot be held to anything.
func (r *Request) govern(model string, p *parameters) bool {
	contract := r.ctx.Router.Sampling(model)
	known := p.dialect.Sampling()
	switch {
	case contract == nil:
		return true
	case !p.seen:
		r.ctx.Counters.add(SamplingUnseen)
		return true
	case known == 0:
		return true
	}
	if p.perPrompt {
		r.refuse(CodeSamplingViolation, `"sampling_params" is a list, and this model's sampling parameters are governed: send one object for all prompts`)
		return false
	}
	broken := contract.Violated(&p.values)
	if first, any := broken.First(); any {
		r.ctx.Counters.violated(broken)
		r.refuse(CodeSamplingViolation, fmt.Sprintf("%s must be %s for this model", strconv.Quote(first.String()), contract.Wants(first)))
		return false
	}
	if n, given := contract.Given(sampling.N, &p.values, known); given && n > 1 {
		p.rid.free = false // the engine is going to know the request by more names
	}
	if members := contract.Missing(&p.values, known); members != "" {
		r.defaults = Insertion{p.place.At, p.place.Text(members)}
	}
	return true
}

// adapted follows an adapter that a body names beside its model, where the fleet
// knows it as one of that model's: engines that have it must serve the request.
func (r *Request) adapted(route spec.Target, adapter string) spec.Target {
	if adapter == "" {
		return route
	}
	if t, ok := r.ctx.Router.Route(adapter, r.ctx.Fleet); ok && t.Model == route.Model && t.Asked == adapter {
		return t
	}
	return route
}
