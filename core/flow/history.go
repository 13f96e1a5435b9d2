package flow

import (
	"cmp"
	"math"
	"math/bits"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/history"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
)

// Shelf is where the contexts of one proxy leave word of what they sent where
// (design section 5b). It may forget anything at any time.
type Shelf interface {
	// Put notes that an engine was sent a prompt, named by the hash of all of it.
	Put(tip uint64, id core.WorkerID, generation uint64)
	// Get finds the engine that was sent a prompt. The ID is valid until the next
	// call.
	Get(tip uint64) (id core.WorkerID, generation uint64, ok bool)
}

// maxTurns is how many former turns of a conversation a request asks the shelf
// about. The last turn is one answer back, with its tool calls a few messages
// more.
const maxTurns = 8

// past is what a context knows of where prompts were sent. Contexts whose
// policies do not ask have none.
type past struct {
	table  *history.Table
	outbox history.Outbox
	shelf  Shelf // nil for none
	turns  []int
	looked *Request // whose prompt the table looked up last
	least  uint64   // bytes that it asked for then
}

// UseShelf lets the context share what it sent where with others of its proxy.
func (c *Context) UseShelf(s Shelf) {
	if c.past != nil {
		c.past.shelf = s
	}
}

// Entered gives what the context has sent where since the last call, for the next
// sync. It is valid until the next event.
func (c *Context) Entered() []wire.Run {
	if c.past == nil {
		return nil
	}
	c.Counters[HistoryDropped] = c.past.outbox.Dropped()
	return c.past.outbox.Drain()
}

// Learn takes over what other contexts have sent where. Engines that the fleet
// does not have are passed over.
func (c *Context) Learn(runs []wire.Run, now core.Instant) {
	if c.past == nil {
		return
	}
	c.past.looked = nil
	for i := range runs {
		w := c.Fleet.Member(runs[i].Worker)
		if w == nil {
			continue
		}
		c.past.table.Import(w, &runs[i], c.capacity(w, now))
		c.Counters.add(HistoryImported)
	}
}

// capacity is how many tokens an engine can cache, as far as it says.
func (c *Context) capacity(w *core.Worker, now core.Instant) core.Count {
	if report, fresh := c.Fleet.Report(w, now); fresh {
		return report.KVCapacity
	}
	return core.Count{}
}

// remembers reports whether a model's policies go by history.
func (c *Context) remembers(model string) bool {
	return c.past != nil && c.Router.ModelNeeds(model).History
}

// endsWanted gives the place for where the elements of a prompt end, nil when no
// prompt is looked at.
func (c *Context) endsWanted() *chat.Ends {
	if c.past == nil && c.pending == nil {
		return nil
	}
	return &c.ends
}

// trace makes the path of the request's prompt, if a policy may ask for it. The
// prompt goes with the body.
func (r *Request) trace(target spec.Target, a *ask) {
	if a.prompt == "" || !r.ctx.remembers(target.Model) && !r.ctx.credits(target.Model) {
		return
	}
	if r.steps == nil {
		r.steps = &history.Path{}
	}
	r.path = r.steps
	r.path.Reset(&history.Namespace{
		Model: target.Model, Adapter: cmp.Or(a.adapter, target.Asked), Salt: a.salt, Dialect: uint8(r.dialect), Template: a.template,
	})
	r.path.Message(a.tools, false)
	chat.Parts(a.prompt, a.lead, a.ends, func(p chat.Part) {
		if p.Whole {
			r.path.Message(p.Text, p.Answer)
		} else {
			r.path.Rest(p.Text)
		}
	})
}

// keep makes copies of what a request that waits for the fleet is placed by: the
// body belongs to the event.
func (a *ask) keep() {
	a.model = strings.Clone(a.model)
	a.prompt = strings.Clone(a.prompt[:min(len(a.prompt), keepPrompt)])
	a.tools = strings.Clone(a.tools[:min(len(a.tools), keepPrompt)])
	a.template = strings.Clone(a.template[:min(len(a.template), keepPrompt)])
	a.ends = nil
}

// lookBack answers a policy that asks where the request's prompt was sent before, and
// looks at engines that were sent so many tokens of it.
func (r *Request) lookBack(least uint64) policy.Lookup {
	if r.path == nil || r.path.Len() == 0 {
		return policy.Lookup{Outcome: policy.LookupMiss}
	}
	least = bytesOf(least, r.bucket.Input, r.path.Bytes())
	if past := r.ctx.past; past.looked != r || past.least > least {
		r.match = past.table.Lookup(r.path, least)
		if r.learn() {
			r.match = past.table.Lookup(r.path, least)
		}
		past.looked, past.least = r, least
	}
	if !r.match.Found {
		return policy.Lookup{Outcome: policy.LookupMiss, Blocks: r.match.Bytes}
	}
	return policy.Lookup{
		Outcome: policy.LookupHit, Blocks: r.match.Bytes, Shared: r.match.Shared,
		Holders: r.ctx.past.table.Holders(), Depths: r.ctx.past.table.Depths(),
	}
}

// bytesOf is how many bytes of a prompt so many of its tokens are, or fewer.
func bytesOf(tokens, input core.Tokens, size uint64) uint64 {
	if tokens > input {
		return math.MaxUint64
	}
	high, low := bits.Mul64(tokens, size)
	if high >= max(input, 1) {
		return math.MaxUint64
	}
	count, _ := bits.Div64(high, low, max(input, 1))
	return count
}

// learn asks the shelf for the conversation's former turns, where the context has
// not seen the last one itself.
func (r *Request) learn() bool {
	past := r.ctx.past
	if past.shelf == nil || r.learned {
		return false
	}
	r.learned = true
	past.turns = r.path.AppendTurns(past.turns[:0], maxTurns)
	for _, at := range past.turns {
		if r.path.End(at) <= r.match.Deepest {
			return false
		}
		id, generation, ok := past.shelf.Get(r.path.Hash(at))
		if !ok {
			continue
		}
		w := r.ctx.Fleet.Member(id)
		if w == nil || generation != 0 && w.Generation != 0 && generation != w.Generation {
			return false
		}
		past.table.Learn(w, r.path, at)
		r.ctx.Counters.add(HistoryShared)
		return true
	}
	return false
}

// enter notes where the request is sent.
func (r *Request) enter(w *core.Worker, now core.Instant) {
	if r.path == nil || r.path.Len() == 0 {
		return
	}
	r.mark, r.credited, r.sent = history.Mark{}, history.Mark{}, w
	if r.ctx.remembers(r.bucket.Model) {
		r.record(w, now)
	}
	if r.ctx.credits(r.bucket.Model) {
		r.credit(w, now)
	}
}

// record notes it in the history.
func (r *Request) record(w *core.Worker, now core.Instant) {
	past := r.ctx.past
	past.looked = nil
	var fresh int
	r.mark, fresh = past.table.Enter(w, r.path, r.ctx.capacity(w, now))
	past.outbox.Add(w, r.path, fresh)
	if past.shelf != nil {
		past.shelf.Put(r.path.Tip(), w.ID, w.Generation)
	}
}

// leave takes back where the request was sent: the engine did not take it. What
// other contexts have heard of it stays, as one wrong guess.
func (r *Request) leave() {
	if r.sent == nil {
		return
	}
	if past := r.ctx.past; past != nil {
		past.looked = nil
		past.table.Leave(r.sent, r.path, r.mark)
	}
	r.uncredit()
	r.sent = nil
}
