package gauges

import (
	"container/list"
	"errors"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
)

// Reasons to refuse a report. Nothing of a refused report is kept.
var (
	ErrTooManyContexts = errors.New("too many live contexts; raise limits.max_contexts or look for configuration updates in a loop")
	ErrTooManyGauges   = errors.New("too many gauges in all; raise limits.max_gauges")
)

// Limits bounds a Book.
type Limits struct {
	Contexts int
	Gauges   int // of all contexts together
	// Expiry is how long a context lives after its last report, in milliseconds.
	Expiry core.Instant
}

// Book holds the live contexts.
type Book struct {
	limits   Limits
	contexts map[uint64]*filterContext
	order    *list.List // of *filterContext, oldest report first
	gauges   int
	expired  uint64
}

// filterContext is one context's last report.
type filterContext struct {
	key     uint64
	seq     uint64
	at      core.Instant // of the last applied report
	entries map[*Life]entry
	place   *list.Element
}

// NewBook returns an empty book.
func NewBook(limits Limits) *Book {
	return &Book{limits: limits, contexts: map[uint64]*filterContext{}, order: list.New()}
}

// Contexts counts the live contexts.
func (b *Book) Contexts() int { return len(b.contexts) }

// Gauges counts the contributions held.
func (b *Book) Gauges() int { return b.gauges }

// Expired counts the contexts that fell silent.
func (b *Book) Expired() uint64 { return b.expired }

// Own is what the context's last applied report says it has in flight.
func (b *Book) Own(context uint64, l *Life) uint32 {
	c := b.contexts[context]
	if c == nil {
		return 0
	}
	return c.entries[l].inflight
}

// Apply takes over a report made at now. find gives the present life of a
// worker, nil for an unknown one; gauges of unknown workers and of other
// generations are ignored. changed is called for each life whose total moved.
// applied is false for a report not newer than the last applied one.
func (b *Book) Apply(now core.Instant, r *wire.SyncRequest, find func(core.WorkerID) *Life, changed func(*Life)) (applied bool, err error) {
	c := b.contexts[r.Context]
	if c != nil && r.Seq <= c.seq {
		return false, nil
	}
	if c == nil && len(b.contexts) >= b.limits.Contexts {
		return false, ErrTooManyContexts
	}
	if b.gauges+len(r.Workers) > b.limits.Gauges && b.gauges+b.growth(c, r, find) > b.limits.Gauges {
		return false, ErrTooManyGauges
	}
	if c == nil {
		c = &filterContext{key: r.Context, entries: map[*Life]entry{}}
		c.place = b.order.PushBack(c)
		b.contexts[r.Context] = c
	}
	c.seq, c.at = r.Seq, now
	b.order.MoveToBack(c.place)
	for i := range r.Workers {
		b.note(c, now, &r.Workers[i], find, changed)
	}
	b.sweep(c, changed)
	return true, nil
}

// growth is how many contributions the report would add.
func (b *Book) growth(c *filterContext, r *wire.SyncRequest, find func(core.WorkerID) *Life) int {
	n := 0
	for i := range r.Workers {
		g := &r.Workers[i]
		if (g.Inflight > 0 || g.BreakerOpen) && present(g, find) != nil {
			n++
		}
	}
	if c != nil {
		n -= len(c.entries)
	}
	return n
}

func present(g *wire.WorkerGauge, find func(core.WorkerID) *Life) *Life {
	l := find(g.ID)
	if l == nil || l.Generation != g.Generation {
		return nil
	}
	return l
}

// note takes one gauge into the totals.
func (b *Book) note(c *filterContext, now core.Instant, g *wire.WorkerGauge, find func(core.WorkerID) *Life, changed func(*Life)) {
	l := present(g, find)
	if l == nil {
		return
	}
	if g.AnsweredAge.Known && g.AnsweredAge.N <= uint64(max(now, 0)) {
		l.noteAnswer(now - core.Instant(g.AnsweredAge.N))
	}
	fresh := entry{inflight: g.Inflight, open: g.BreakerOpen, seq: c.seq}
	if fresh.empty() {
		return // sweep drops what the context said before
	}
	b.replace(c, l, fresh, changed)
}

// sweep drops the contributions that the report at hand no longer makes.
func (b *Book) sweep(c *filterContext, changed func(*Life)) {
	for l, e := range c.entries {
		if e.seq != c.seq {
			b.replace(c, l, entry{}, changed)
		}
	}
}

// replace changes one contribution and moves the totals by the difference.
func (b *Book) replace(c *filterContext, l *Life, fresh entry, changed func(*Life)) {
	old, had := c.entries[l]
	l.inflight += uint64(fresh.inflight)
	l.inflight -= uint64(old.inflight)
	l.open += count(fresh.open) - count(old.open)
	switch {
	case fresh.empty():
		delete(c.entries, l)
	default:
		c.entries[l] = fresh
	}
	b.gauges += count(!fresh.empty()) - count(had)
	if fresh.inflight != old.inflight {
		changed(l)
	}
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Expire forgets the contexts whose last report is Expiry or longer ago.
func (b *Book) Expire(now core.Instant, changed func(*Life)) {
	for front := b.order.Front(); front != nil; front = b.order.Front() {
		c := front.Value.(*filterContext)
		if now-c.at < b.limits.Expiry {
			return
		}
		for l := range c.entries {
			b.replace(c, l, entry{}, changed)
		}
		b.order.Remove(front)
		delete(b.contexts, c.key)
		b.expired++
	}
}

// NextExpiry is the instant at which the next context expires, false when no
// context is live.
func (b *Book) NextExpiry() (core.Instant, bool) {
	front := b.order.Front()
	if front == nil {
		return 0, false
	}
	return front.Value.(*filterContext).at + b.limits.Expiry, true
}
