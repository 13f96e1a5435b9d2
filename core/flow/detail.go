package flow

import (
	"fmt"
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
)

// explain notes what became of a bucket's engines in a turn that gave no selection,
// for the full form of the receipt.
func (r *Request) explain(b *bucket.Bucket, err error) {
	if !r.receipt.IsFull() {
		return
	}
	for _, rejection := range core.Rejections(err) {
		r.receipt.NotHad(rejection.Worker, fmt.Sprintf("%s %d of %d", rejection.Limit, rejection.Value, rejection.Cap))
	}
	stage := core.StageOf(err)
	for _, g := range b.EngineGroups() {
		if g.Stage() != stage {
			continue
		}
		for _, w := range r.ctx.Fleet.Serving(r.bucket.Asked) {
			if why := r.absence(g, w); why != "" {
				r.receipt.NotHad(w.ID, why)
			}
		}
	}
}

// absence says why an engine that serves the model is no candidate of a group,
// empty when it is one.
func (r *Request) absence(g *bucket.EngineGroup, w *core.Worker) string {
	switch {
	case w.Stage != g.Stage():
		return "is " + w.Stage.String()
	case !g.Members().Contains(w):
		return "is no member"
	case !w.Healthy:
		return "is down"
	case w.Draining:
		return "drains"
	case !r.bucket.Subset.Allows(w):
		return "is not among those the request is kept to"
	case slices.Contains(r.bucket.Excluded, w):
		return "was tried"
	case !r.ctx.Fleet.Available(w, r.bucket.Now):
		return "has an open breaker"
	}
	return ""
}
