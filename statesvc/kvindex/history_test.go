package kvindex_test

import (
	order "cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// chooser draws a number below n.
type chooser func(n int) int

func (c chooser) chance(percent int) bool { return c(100) < percent }

func pick[T any](c chooser, list ...T) T { return list[c(len(list))] }

// step is one thing that happens to an index.
type step struct {
	owner  kvindex.Owner
	event  *kvevents.Event
	reset  bool
	remove bool
}

// history makes steps of engines that are right, wrong and unlucky.
type history struct {
	choose chooser
	seen   map[kvindex.Owner][]kvevents.Hash
	second map[kvindex.Owner]map[kvevents.Hash]bool // further names of contents
}

func newHistory(choose chooser) *history {
	return &history{choose: choose, seen: map[kvindex.Owner][]kvevents.Hash{}, second: map[kvindex.Owner]map[kvevents.Hash]bool{}}
}

func (h *history) prompt() kvindex.Prompt {
	p := kvindex.Prompt{Tokens: make([]uint32, h.choose(9))}
	for i := range p.Tokens {
		p.Tokens[i] = uint32(h.choose(2))
	}
	if h.choose.chance(30) {
		p.Salt = "s"
	}
	if h.choose.chance(30) {
		p.LoRA = "a"
	}
	return p
}

func (h *history) next() step {
	o := kvindex.Owner{Worker: pick(h.choose, "one", "collapsed", "two"), Rank: uint32(h.choose(2))}
	switch n := h.choose(100); {
	case n < 55:
		return step{owner: o, event: h.store(o)}
	case n < 90:
		return step{owner: o, event: h.removal(o)}
	case n < 95:
		return step{owner: o, event: &kvevents.Event{Kind: kvevents.KindCleared}}
	case n < 98:
		return step{owner: o, reset: true}
	default:
		return step{owner: o, remove: true}
	}
}

func (h *history) tier() kvevents.Tier {
	if h.choose.chance(60) {
		return kvevents.TierDevice
	}
	return kvevents.Tier(h.choose(int(kvevents.TierUnknown) + 1))
}

func (h *history) store(o kvindex.Owner) *kvevents.Event {
	e := &kvevents.Event{Kind: kvevents.KindStored, Tier: h.tier()}
	if h.choose.chance(35) {
		e.Group = uint32(1 + h.choose(2))
	}
	if h.choose.chance(12) {
		e.Hashes = h.some(o)
		return e
	}
	h.chain(o, e)
	if e.Group == 2 {
		e.Window = uint32(2 + h.choose(3))
		e.Hashes = slices.DeleteFunc(e.Hashes, func(kvevents.Hash) bool { return h.choose.chance(30) })
	} else if h.choose.chance(3) && len(e.Hashes) > 0 {
		e.Hashes = e.Hashes[1:]
	}
	h.seen[o] = append(h.seen[o], e.Hashes...)
	return e
}

// chain fills an event with a range of a prompt's blocks.
func (h *history) chain(o kvindex.Owner, e *kvevents.Event) {
	p := h.prompt()
	e.BlockSize, e.Bigram = pick(h.choose, uint32(1), 1, 2, 3), h.choose.chance(10)
	contents := promptTexts(p, e.BlockSize, e.Bigram)
	start := 0
	if len(contents) > 1 && h.choose.chance(40) {
		start = h.choose(len(contents))
		if start > 0 {
			e.Parent, e.HasParent = nameOf(o, contents[start-1]), true
		}
	}
	if start == 0 {
		e.Salt = p.Salt
	}
	e.LoRA = p.LoRA
	size := int(e.BlockSize)
	for i := start; i < len(contents); i++ {
		name := nameOf(o, contents[i])
		if h.choose.chance(5) {
			name++ // a second name of one content
			if h.second[o] == nil {
				h.second[o] = map[kvevents.Hash]bool{}
			}
			h.second[o][name] = true
		}
		e.Hashes = append(e.Hashes, name)
		e.Tokens = append(e.Tokens, unitsOf(p.Tokens, i*size, size, e.Bigram)...)
	}
	if h.choose.chance(5) && len(e.Hashes) > 0 {
		e.Extra = make([]uint64, len(e.Hashes))
		e.Extra[h.choose(len(e.Extra))] = 7
	}
}

func (h *history) some(o kvindex.Owner) []kvevents.Hash {
	var list []kvevents.Hash
	for range 1 + h.choose(3) {
		if seen := h.seen[o]; len(seen) > 0 && h.choose.chance(90) {
			list = append(list, seen[h.choose(len(seen))])
		} else {
			list = append(list, kvevents.Hash(h.choose(3)))
		}
	}
	return list
}

func (h *history) removal(o kvindex.Owner) *kvevents.Event {
	e := &kvevents.Event{Kind: kvevents.KindRemoved, Tier: h.tier(), Hashes: h.some(o)}
	if h.choose.chance(25) {
		e.Group = uint32(1 + h.choose(2))
	}
	return e
}

func (s step) index(x *kvindex.Index) {
	switch {
	case s.reset:
		x.Reset(s.owner)
	case s.remove:
		x.RemoveWorker(s.owner.Worker)
	default:
		x.Apply(s.owner, s.event)
	}
}

func (s step) model(m *model) {
	switch {
	case s.reset:
		m.reset(s.owner)
	case s.remove:
		m.removeWorker(s.owner.Worker)
	default:
		m.apply(s.owner, s.event)
	}
}

var plain = cmpopts.IgnoreUnexported(kvindex.Match{})

func alike(a, b kvindex.Match) bool { return cmp.Equal(a, b, plain) }

// agree compares one lookup.
func agree(t require.TestingT, x *kvindex.Index, m *model, p kvindex.Prompt, r *kvindex.Result) {
	agreeOn(t, x, m, p, r, func(kvindex.Owner) bool { return true })
}

// agreeOn compares it for some owners.
func agreeOn(t require.TestingT, x *kvindex.Index, m *model, p kvindex.Prompt, r *kvindex.Result, of func(kvindex.Owner) bool) {
	x.Match(p, r)
	r.Matches = slices.DeleteFunc(r.Matches, func(got kvindex.Match) bool { return !of(got.Owner) })
	want := m.match(p)
	maps.DeleteFunc(want, func(o kvindex.Owner, _ []kvindex.Match) bool { return !of(o) })
	require.Len(t, r.Matches, len(want), "%+v", p)
	for _, got := range r.Matches {
		ok := slices.ContainsFunc(want[got.Owner], func(w kvindex.Match) bool { return alike(w, got) })
		if !ok {
			require.Empty(t, cmp.Diff(want[got.Owner], []kvindex.Match{got}, plain), "%+v", p)
		}
	}
}

func runHistory(t require.TestingT, choose chooser, steps int) {
	h := newHistory(choose)
	copies := pick(choose, uint8(1), 2, 16)
	x := kvindex.New(kvindex.Config{Seed: 1, MaxCopies: copies})
	m := newModel(copies)
	var r kvindex.Result
	for range steps {
		s := h.next()
		s.index(x)
		s.model(m)
		require.NoError(t, x.Sane())
		for range 3 {
			agree(t, x, m, h.prompt(), &r)
		}
	}
	for _, w := range []string{"one", "two", "collapsed"} {
		x.RemoveWorker(w)
		require.NoError(t, x.Sane())
	}
	s := x.Stats()
	require.Equal(t, kvindex.Stats{}, s.Held())
}

func TestIndex_agreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Uint64()
		choose := func(n int) int { return int(number.Draw(t, "n") % uint64(n)) }
		runHistory(t, choose, 40)
	})
}

// The bulk: rapid would spend most of its time on recording draws.
func TestIndex_agreesWithModelOverManyHistories(t *testing.T) {
	histories := 10_000
	if testing.Short() || racing {
		histories = 500
	}
	seed := 0
	defer func() {
		if t.Failed() {
			t.Logf("history %d", seed)
		}
	}()
	for ; seed < histories; seed++ {
		runHistory(t, rand.New(rand.NewPCG(uint64(seed), 5)).IntN, 30)
	}
}

// Streams of different ranks have no common order: any interleaving ends alike.
func TestIndex_interleavingsAgree(t *testing.T) {
	for seed := range 200 {
		random := rand.New(rand.NewPCG(uint64(seed), 6))
		h := newHistory(random.IntN)
		streams := map[kvindex.Owner][]step{}
		var turns []kvindex.Owner
		for range 120 {
			s := h.next()
			if s.remove {
				continue
			}
			streams[s.owner] = append(streams[s.owner], s)
			turns = append(turns, s.owner)
		}
		a, b := kvindex.New(kvindex.Config{Seed: 1}), kvindex.New(kvindex.Config{Seed: 1})
		replay(a, streams, turns)
		random.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
		replay(b, streams, turns)
		require.NoError(t, a.Sane())
		require.NoError(t, b.Sane())
		require.Empty(t, cmp.Diff(contents(t, a), contents(t, b)))
		require.Equal(t, a.Occupancies(nil), b.Occupancies(nil))
	}
}

func replay(x *kvindex.Index, streams map[kvindex.Owner][]step, turns []kvindex.Owner) {
	at := map[kvindex.Owner]int{}
	for _, o := range turns {
		streams[o][at[o]].index(x)
		at[o]++
	}
}

func contents(t *testing.T, x *kvindex.Index) map[uint64]kvindex.BlockView {
	t.Helper()
	list, more := x.Dump(nil, 100_000)
	require.False(t, more)
	out := map[uint64]kvindex.BlockView{}
	for _, b := range list {
		slices.SortFunc(b.Holders, func(a, b kvindex.HolderView) int {
			return order.Or(order.Compare(a.Owner.Worker, b.Owner.Worker), order.Compare(a.Owner.Rank, b.Owner.Rank),
				order.Compare(a.Group, b.Group))
		})
		out[b.Hash] = b
	}
	return out
}
