package flow

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/fleet"
)

// ridRoom is where a body can be given a rid.
type ridRoom struct {
	place chat.Place
	free  bool // it can be given one
}

// roomOf finds the place for a rid. A client's own rid is the client's, and an
// engine knows a request that fans out by other names (engine-selection.md 12.4).
func roomOf(dialect chat.Dialect, facts *chat.Facts) ridRoom {
	return ridRoom{facts.RidPlace, dialect.TakesRid() && !facts.HasRid && !facts.FansOut()}
}

// rid is the name that an engine knows a request by.
type rid struct {
	room     ridRoom
	name     string // empty for none of ours
	answered bool   // the engine is done with the request, or never had it
}

// nameRequest gives the request a name for its engine, if the engine can abort by
// it: 128 of the request's random bits.
func (r *Request) nameRequest(w *core.Worker) {
	if !r.ctx.aborting || !r.rid.room.free || !w.Aborts {
		return
	}
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], r.rand.Uint64())
	binary.BigEndian.PutUint64(raw[8:], r.rand.Uint64())
	r.rid.name = hex.EncodeToString(raw[:])
}

// splice has the host put what the body must be given into it: a rid, sampling
// parameters and token ids, where they meet in this order (engine-selection.md 12.4).
func (r *Request) splice() {
	list := r.inserts[:0]
	if r.rid.name != "" {
		place := r.rid.room.place
		list = append(list, Insertion{place.At, place.Text(`"rid":"` + r.rid.name + `"`)})
	}
	for _, in := range [...]*Insertion{&r.defaults, &r.ids.added} {
		if in.Text != "" {
			list = append(list, *in)
		}
	}
	if len(list) > 1 && r.rid.name != "" {
		r.placeRid(list)
	}
	if list = r.withPriority(list); len(list) == 0 {
		return
	}
	r.effects = append(r.effects, Effect{Kind: EffectSplice, Insertions: list})
}

// placeRid puts a rid, the first of several texts, where it belongs among them: it
// stands at the end of a body where it outdoes a null.
func (r *Request) placeRid(list []Insertion) {
	if list[1].At == list[0].At && r.rid.room.place == (chat.Place{At: list[0].At}) {
		list[0].Text += "," // the object is empty, and each would be its first member
	}
	slices.SortStableFunc(list, func(a, b Insertion) int { return cmp.Compare(a.At, b.At) })
}

// noteAnswer notes whether the engine is done with the request before its stream
// ends: it answered with an error, or the host's own answer says that it was never
// reached. Where the host's answer says that time ran out, the engine is at work.
func (r *Request) noteAnswer(ev *Event) {
	const requestTimeout, gatewayTimeout = 408, 504
	switch {
	case ev.Own:
		r.rid.answered = ev.Status != requestTimeout && ev.Status != gatewayTimeout
	case !ev.Failure:
		r.rid.answered = ev.Status < 200 || ev.Status > 299
	}
}

// abortion is what tells the engine to end a request that nobody waits for any
// more. A transport retry may have moved it to an engine that cannot be told.
func (r *Request) abortion(ev *Event) (Effect, bool) {
	if r.rid.name == "" || r.rid.answered || ev.End == fleet.EndComplete || !r.named[0].Aborts {
		return Effect{}, false
	}
	r.ctx.Counters.add(AbortsAsked)
	return Effect{Kind: EffectAbort, Endpoint: r.named[0].Address, Text: r.rid.name}, true
}
