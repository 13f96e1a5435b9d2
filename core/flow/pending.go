package flow

import (
	"math/bits"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/history"
)

// pending is what a context sent engines that need not have told of it yet: their
// events come once the prompt is computed, and until then a burst of requests with
// one new prefix would scatter (engine-selection.md 10.8). It counts where an index
// of those events is asked, here or elsewhere, on top of what that says.
type pending struct {
	table  *history.Pending
	ranks  sentRanks
	looked *Request     // whose prompt the table looked up last
	at     core.Instant // of that lookup
}

// newPending makes one for prompts that count so long; nil for no time.
func newPending(ttl core.Instant) *pending {
	if ttl <= 0 {
		return nil
	}
	return &pending{table: history.NewPending(ttl)}
}

// credits reports whether what a model's requests were sent counts.
func (c *Context) credits(model string) bool {
	return c.pending != nil && len(c.wants(model).Prefixes) > 0
}

// credit notes where the request is sent, once its selection is complete.
func (r *Request) credit(w *core.Worker, now core.Instant) {
	p := r.ctx.pending
	p.looked = nil
	r.credited = p.table.Enter(w, r.path, now)
}

// uncredit takes that back: the engine did not take the request.
func (r *Request) uncredit() {
	if p := r.ctx.pending; p != nil {
		p.looked = nil
		p.table.Leave(r.sent, r.path, r.credited)
	}
}

// expects reports whether what is pending counts beside an answer. An answer that says
// nothing of any engine stays what it is.
func (r *Request) expects(l *lookup) bool {
	return r.ctx.pending != nil && r.path != nil && r.path.Len() > 0 && l.counts()
}

// expected looks the prompt up in what is pending, and reports whether some engine was
// sent a part of it.
func (r *Request) expected(l *lookup) bool {
	r.lookAhead()
	var most uint64
	for _, sent := range r.ctx.pending.table.Holders() {
		if w := r.ctx.Fleet.Member(sent.ID); w != nil { // in its present life
			most = max(most, r.pendingDepth(l, w))
		}
	}
	if !l.noted { // later picks of the request find its own prompt as well
		l.noted = true
		if most > l.deepest() {
			r.ctx.Counters.add(PendingPrefixes)
		}
	}
	return most > 0
}

// lookAhead makes the table's last lookup that of the request.
func (r *Request) lookAhead() {
	if p := r.ctx.pending; p.looked != r || p.at != r.bucket.Now {
		p.table.Lookup(r.path, r.bucket.Now)
		p.looked, p.at = r, r.bucket.Now
	}
}

// pendingDepth is how many of a query's blocks an engine was lately sent, by their
// share of the prompt's bytes. The last block is computed again, as the index has it.
func (r *Request) pendingDepth(l *lookup, w *core.Worker) uint64 {
	high, low := bits.Mul64(l.Blocks, r.ctx.pending.table.Depth(w))
	depth, _ := bits.Div64(high, low, r.path.Bytes()) // high is less: no depth is above the prompt's bytes
	return min(depth, l.Blocks-1)
}
