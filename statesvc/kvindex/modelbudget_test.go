package kvindex_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// tidy makes steps of an engine whose hashes name one content each and whose groups hold
// every block: whatever was forgotten about it, what is left is true. (Which content a
// removal meant, and whether a window is filled, cannot be told after an eviction.)
func (h *history) tidy() step {
	for {
		s := h.next()
		e := s.event
		switch {
		case s.owner.Worker == "collapsed":
		case e == nil || e.Kind != kvevents.KindStored:
			return s
		case e.Window == 0 && len(e.Extra) == 0 && (len(e.Tokens) == 0 || e.Units() == len(e.Hashes)*int(e.BlockSize)) && h.ownNames(s.owner, e):
			return s
		}
	}
}

// ownNames reports whether a store gives each content its first name.
func (h *history) ownNames(o kvindex.Owner, e *kvevents.Event) bool {
	if len(e.Tokens) == 0 {
		return true
	}
	for _, name := range e.Hashes {
		if h.second[o][name] {
			return false
		}
	}
	return true
}

// truthful requires that nothing is said of an owner that is not so, in one of the two
// shapes a prompt is cut into: a match does not say which it was found in.
func truthful(t require.TestingT, x *kvindex.Index, m *model, p kvindex.Prompt, r *kvindex.Result) {
	x.Match(p, r)
	for _, got := range r.Matches {
		plain, _ := m.depth(got.Owner, p, uint32(got.BlockSize), false)
		pairs, _ := m.depth(got.Owner, p, uint32(got.BlockSize), true)
		require.True(t, withinOf(got, plain) || withinOf(got, pairs), "%+v is neither in %+v nor in %+v", got, plain, pairs)
	}
}

// withinOf reports whether a match says no more than another.
func withinOf(got, most kvindex.Match) bool {
	for tier := range got.Within {
		if got.Within[tier] > most.Within[tier] {
			return false
		}
	}
	return got.Blocks <= most.Blocks && got.AtMost <= most.AtMost
}

func runBudget(t require.TestingT, choose chooser, steps int) (evicted uint64) {
	h := newHistory(choose)
	c := newClock()
	budget := int64(pick(choose, 1000, 2000, 4000))
	x := kvindex.New(kvindex.Config{Seed: 1, Budget: budget, Now: c.Now})
	m := newModel(kvindex.DefaultMaxCopies)
	var r kvindex.Result
	for range steps {
		s := h.tidy()
		s.index(x)
		s.model(m)
		c.advance(time.Duration(choose(3)) * 100 * time.Millisecond)
		require.NoError(t, x.Sane())
		require.LessOrEqual(t, x.Stats().Bytes, budget)
		for range 3 {
			truthful(t, x, m, h.prompt(), &r)
		}
	}
	evicted = x.Stats().Evicted
	for _, w := range []string{"one", "two"} {
		x.RemoveWorker(w)
	}
	require.Equal(t, kvindex.Stats{}, x.Stats().Held())
	return evicted
}

// Under a budget the index forgets; it never holds more, and never says what is not so.
func TestIndex_keepsItsBudgetAndTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64()
		runBudget(t, func(n int) int { return int(number.Draw(t, "n") % uint64(n)) }, 40)
	})
	var evicted uint64
	for seed := range uint64(150) {
		evicted += runBudget(t, rand.New(rand.NewPCG(seed, 11)).IntN, 80)
	}
	require.NotZero(t, evicted)
}

// cut is the stream of an owner that lost batches, and all that its process published.
type cut struct {
	missed, all []step
	lost        bool // some are not to be had one by one
}

// cuts plays the streams of a history into an index, with losses.
type cuts struct {
	choose chooser
	x      *kvindex.Index
	by     map[kvindex.Owner]*cut
}

func (c *cuts) of(o kvindex.Owner) *cut {
	if c.by[o] == nil {
		c.by[o] = &cut{}
	}
	return c.by[o]
}

// trusted reports whether all of an owner was delivered.
func (c *cuts) trusted(o kvindex.Owner) bool { return len(c.of(o).missed) == 0 && !c.of(o).lost }

// happen delivers a step or loses it; what follows a loss is delivered after it was mended.
func (c *cuts) happen(s step) {
	switch {
	case s.remove:
		for o := range c.by {
			if o.Worker == s.owner.Worker {
				delete(c.by, o)
			}
		}
		s.index(c.x)
		return
	case s.reset:
		delete(c.by, s.owner)
		s.index(c.x)
		return
	}
	k := c.of(s.owner)
	k.all = append(k.all, s)
	if c.choose.chance(20) {
		k.missed = append(k.missed, s)
		return
	}
	c.mend(k)
	s.index(c.x)
}

// mend asks for what was missed. A replay gives all of it, or the end of it only: then the
// owner's trust is gone.
func (c *cuts) mend(k *cut) {
	if len(k.missed) > 0 && c.choose.chance(50) {
		k.lost = true
		k.missed = k.missed[c.choose(len(k.missed)+1):]
	}
	for _, s := range k.missed {
		s.index(c.x)
	}
	k.missed = nil
}

// rebuild is a replay from number 0: the owner is reset and given everything.
func (c *cuts) rebuild(o kvindex.Owner) {
	k := c.of(o)
	c.x.Reset(o)
	for _, s := range k.all {
		s.index(c.x)
	}
	k.missed, k.lost = nil, false
}

func runCuts(t require.TestingT, choose chooser, steps int) {
	h := newHistory(choose)
	c := &cuts{choose: choose, x: kvindex.New(kvindex.Config{Seed: 1}), by: map[kvindex.Owner]*cut{}}
	m := newModel(kvindex.DefaultMaxCopies)
	var r kvindex.Result
	for range steps {
		s := h.next()
		c.happen(s)
		s.model(m)
		if choose.chance(10) {
			c.rebuild(s.owner)
		}
		require.NoError(t, c.x.Sane())
		agreeOn(t, c.x, m, h.prompt(), &r, c.trusted)
	}
	for o := range c.by {
		c.rebuild(o)
	}
	for range 20 {
		agree(t, c.x, m, h.prompt(), &r)
	}
}

// Streams break: what is replayed in order, and what is rebuilt from number 0, ends as if
// nothing had been lost, and an owner that lost something is nobody else's loss.
func TestIndex_cutStreamsAgreeWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64()
		runCuts(t, func(n int) int { return int(number.Draw(t, "n") % uint64(n)) }, 40)
	})
	for seed := range uint64(200) {
		runCuts(t, rand.New(rand.NewPCG(seed, 12)).IntN, 60)
	}
}

// credits is the naive pending prefixes: until when each owner is credited with a content.
type credits map[kvindex.Owner]map[string]time.Time

const creditBlock = 16

func (c credits) add(o kvindex.Owner, p kvindex.Prompt, until time.Time) {
	if c[o] == nil {
		c[o] = map[string]time.Time{}
	}
	for _, content := range promptTexts(p, creditBlock, false) {
		c[o][content] = until
	}
}

func (c credits) forget(worker string) {
	for o := range c {
		if o.Worker == worker {
			delete(c, o)
		}
	}
}

func (c credits) tokens(o kvindex.Owner, p kvindex.Prompt, now time.Time) (n int) {
	for _, content := range promptTexts(p, creditBlock, false) {
		if !c[o][content].After(now) {
			break
		}
		n += creditBlock
	}
	return n
}

// long is a prompt of some blocks that prompts share from the start.
func (h *history) long() kvindex.Prompt {
	p := h.prompt()
	p.Tokens = nil
	for range h.choose(5) {
		token := uint32(h.choose(2))
		for range creditBlock {
			p.Tokens = append(p.Tokens, token)
		}
	}
	p.Tokens = append(p.Tokens, make([]uint32, h.choose(3))...)
	return p
}

func runCredits(t require.TestingT, choose chooser, steps int) {
	const ttl = time.Second
	h := newHistory(choose)
	c := newClock()
	x := kvindex.New(kvindex.Config{Seed: 1, PendingTTL: ttl, Now: c.Now})
	m, credited := newModel(kvindex.DefaultMaxCopies), credits{}
	var r kvindex.Result
	for range steps {
		s := h.next()
		if choose.chance(50) {
			p := h.long()
			x.Credit(s.owner, p)
			credited.add(s.owner, p, c.now.Add(ttl))
		} else {
			s.index(x)
			s.model(m)
			if s.remove {
				credited.forget(s.owner.Worker)
			}
		}
		c.advance(time.Duration(choose(5)) * 100 * time.Millisecond)
		require.NoError(t, x.Sane())
		for _, p := range []kvindex.Prompt{h.long(), h.prompt()} {
			agreeCredits(t, x, m, credited, p, &r, c.now)
		}
	}
	c.advance(ttl)
	x.Match(h.long(), &r)
	require.Zero(t, x.Stats().Pending)
}

// agreeCredits compares one lookup: what is confirmed, and what is credited beside it.
func agreeCredits(t require.TestingT, x *kvindex.Index, m *model, c credits, p kvindex.Prompt, r *kvindex.Result, now time.Time) {
	x.Match(p, r)
	want := m.match(p)
	owners := 0
	for w := range c {
		if c.tokens(w, p, now) > 0 && len(want[w]) == 0 {
			owners++
		}
	}
	require.Len(t, r.Matches, len(want)+owners, "%+v", p)
	for _, got := range r.Matches {
		require.Equal(t, c.tokens(got.Owner, p, now), got.Pending, "%+v", p)
		got.Pending = 0
		if list := want[got.Owner]; len(list) > 0 {
			require.True(t, slices.ContainsFunc(list, func(w kvindex.Match) bool { return alike(w, got) }), "%+v is none of %+v", got, list)
			continue
		}
		require.True(t, alike(kvindex.Match{Owner: got.Owner, Certain: true}, got), "%+v", got)
	}
}

// Credits count until they expire, from the start without a gap, beside what is confirmed.
func TestIndex_creditsAgreeWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64()
		runCredits(t, func(n int) int { return int(number.Draw(t, "n") % uint64(n)) }, 40)
	})
	for seed := range uint64(200) {
		runCredits(t, rand.New(rand.NewPCG(seed, 13)).IntN, 60)
	}
}
