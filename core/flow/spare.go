package flow

import (
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
)

// maxSpares is how many engines are named beside the chosen one (design 4a).
const maxSpares = 2

// chooseSpares picks further engines of the chosen bucket, each admitted and
// none of them twice. Fewer than maxSpares, or none, are as good as it gets.
func (r *Request) chooseSpares(b *bucket.Bucket) {
	r.bucket.Spare = true
	for r.spares < maxSpares {
		r.bucket.Excluded = r.named[:1+r.spares]
		picked, err := b.Pick(r.ctx.Fleet, &r.bucket)
		if err != nil {
			break
		}
		pick, _ := picked.Plain()
		r.spares++
		r.named[r.spares] = pick.Worker
	}
	r.bucket.Spare, r.bucket.Excluded = false, nil
}

// endpoint is the value of the endpoint header.
func (r *Request) endpoint() string {
	if r.spares == 0 {
		return r.named[0].Address
	}
	var value strings.Builder
	for i, w := range r.named[:1+r.spares] {
		if i > 0 {
			value.WriteByte(',')
		}
		value.WriteString(w.Address)
	}
	return value.String()
}

// follow moves the charge to the engine that the host used in the end. The
// engines it passed over could not be reached: each gets a breaker failure.
func (r *Request) follow(ev *Event) {
	if ev.Upstream == "" || !r.charge.Held() || ev.Upstream == r.named[0].Address {
		return
	}
	r.ctx.Counters.add(PicksReplaced)
	used := r.used(ev.Upstream)
	for _, w := range r.named[1 : 1+r.spares] {
		if w == used {
			break
		}
		r.ctx.Fleet.Fault(w, ev.Now)
	}
	r.leave()
	if used != nil {
		r.enter(used, ev.Now)
	}
	if !r.ctx.Fleet.Move(&r.charge, used, ev.Now) {
		r.ctx.Counters.add(ChargesReleased)
	}
	if used == nil {
		used = &core.Worker{Address: ev.Upstream}
	}
	r.named[0], r.spares = used, 0
}

// used finds the engine at an address: a spare, or one that the host's own
// policy chose after the list; nil for an address the fleet does not have.
func (r *Request) used(address string) *core.Worker {
	for _, w := range r.named[1 : 1+r.spares] {
		if w.Address == address {
			return w
		}
	}
	return r.ctx.Fleet.ByAddress(address)
}
