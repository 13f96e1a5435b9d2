package kvindex_test

import (
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

// clock is set by hand.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

func newClock() *clock { return &clock{now: time.Unix(1_700_000_000, 0)} }

// other is a prompt of 16-token blocks unlike all of other numbers.
func other(number, blocks int) (kvindex.Prompt, kvevents.Event) {
	tokens := count(1_000_000*(number+1), blocks*16+1)
	e := stored(tokens[:blocks*16], 16, uint64(number))
	return kvindex.Prompt{Tokens: tokens}, *e
}

func Test_evictionTakesOldestLeavesFirst(t *testing.T) {
	c := newClock()
	s := newStage(t, kvindex.Config{Budget: 9000, Now: c.Now})
	var prompts []kvindex.Prompt
	for i := range 9 { // 90 blocks, about 8,000 bytes
		p, e := other(i, 10)
		prompts = append(prompts, p)
		s.apply(engine, e)
		c.advance(time.Second)
	}
	require.Zero(t, s.x.Stats().Evicted)
	require.Equal(t, 160, s.tokens(prompts[0]), "and that is a use")
	c.advance(time.Second)

	for i := 9; i < 12; i++ {
		p, e := other(i, 10)
		prompts = append(prompts, p)
		s.apply(engine, e)
		require.LessOrEqual(t, s.x.Stats().Bytes, int64(9000))
		c.advance(time.Second)
	}
	require.NotZero(t, s.x.Stats().Evicted)
	require.Equal(t, 160, s.tokens(prompts[0]), "used since")
	require.Equal(t, 160, s.tokens(prompts[11]))
	require.Zero(t, s.tokens(prompts[1]), "the oldest went whole")
	left := 0
	for _, p := range prompts {
		n := s.tokens(p)
		if n > 0 && n < 160 {
			left++
		}
	}
	require.LessOrEqual(t, left, 1, "one chain at most lost its tail only")
}

// A use of a long prefix is one of all its blocks, also when its end goes.
func Test_evictionKnowsTheUseOfAncestors(t *testing.T) {
	c := newClock()
	s := newStage(t, kvindex.Config{Budget: 2000, Now: c.Now})
	used, e := other(0, 6)
	unused, f := other(1, 6)
	s.apply(engine, e)
	c.advance(time.Second)
	s.apply(engine, f)
	c.advance(time.Second)
	require.Equal(t, 96, s.tokens(used))
	s.apply(engine, gone(kvevents.TierDevice, e.Hashes[5], e.Hashes[4]))
	c.advance(time.Second)
	_, g := other(2, 12)
	s.apply(engine, g)
	require.NotZero(t, s.x.Stats().Evicted)
	require.Equal(t, 64, s.tokens(used))
	require.Less(t, s.tokens(unused), 96)
}

func Test_evictedBlocksMayStillBeRemovedAndExtended(t *testing.T) {
	c := newClock()
	s := newStage(t, kvindex.Config{Budget: 2000, Now: c.Now})
	_, old := other(0, 10)
	s.apply(engine, old)
	c.advance(time.Second)
	_, young := other(1, 20)
	s.apply(engine, young)
	require.NotZero(t, s.x.Stats().Evicted)

	s.apply(engine, gone(kvevents.TierDevice, old.Hashes...))
	require.NotZero(t, s.x.Stats().RemovedUnknown)
	child := old
	child.Parent, child.HasParent = old.Hashes[9], true
	child.Hashes, child.Tokens = []kvevents.Hash{5}, old.Tokens[:16]
	s.apply(engine, child)
	require.EqualValues(t, 1, s.x.Stats().UnknownParent)
	require.EqualValues(t, 1, s.x.Stats().Unplaced)
}

// Everything that can be evicted is shared by several holders, with names of their
// own.
func Test_evictionTakesAllHolders(t *testing.T) {
	c := newClock()
	s := newStage(t, kvindex.Config{Budget: 4000, Now: c.Now})
	for round := range 20 {
		for w := range 3 {
			_, e := other(round, 5)
			for i := range e.Hashes {
				e.Hashes[i] += kvevents.Hash(w % 2)
			}
			e.Group = uint32(w % 2)
			s.apply(benchOwner(w), e)
		}
		c.advance(time.Second)
		require.LessOrEqual(t, s.x.Stats().Bytes, int64(4000))
	}
	require.NotZero(t, s.x.Stats().Evicted)
}

func Test_unknownParentIsKeptFindable(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	s.apply(engine, blocks(2, 4)) // its parent was lost
	require.Zero(t, s.x.Stats().Nodes, "nothing hangs from a root")
	require.EqualValues(t, 2, s.x.Stats().Unplaced)
	require.EqualValues(t, 2, s.x.Occupancies(nil)[0].On(kvevents.TierDevice), "the engine has them all the same")

	s.apply(engine, gone(kvevents.TierDevice, 103))
	require.EqualValues(t, 1, s.x.Stats().Unplaced)
	s.apply(engine, blocks(0, 3))
	require.Zero(t, s.x.Stats().Unplaced, "the replay told where it belongs")
	require.Equal(t, 48, s.tokens(text(64)))
	s.apply(engine, gone(kvevents.TierDevice, 102))
	require.Equal(t, 48, s.tokens(text(64)), "it was counted once unplaced, and once placed")
}

func Test_unplacedHashesHaveAShareOfTheBudget(t *testing.T) {
	s := newStage(t, kvindex.Config{Budget: 100_000})
	flooder := kvindex.Owner{Worker: "flooder"}
	s.apply(engine, blocks(2, 3))
	for i := range 20 {
		e := kvevents.Event{Kind: kvevents.KindStored, Tier: kvevents.TierHost}
		for j := range 100 {
			e.Hashes = append(e.Hashes, kvevents.Hash(1000*i+j))
		}
		s.apply(flooder, e)
		require.LessOrEqual(t, s.x.Stats().Bytes, int64(100_000/8))
	}
	require.NotZero(t, s.x.Stats().UnplacedDropped)
	for _, o := range s.x.Occupancies(nil) {
		if o.Owner == engine {
			require.EqualValues(t, 1, o.Unplaced, "one engine's flood is its own loss")
		}
	}
}

func Test_limitsOfWhatAnEngineMaySay(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	for size := range 20 {
		e := kvevents.Event{
			Kind: kvevents.KindStored, BlockSize: uint32(size), Tokens: count(0, max(size, 1)),
			Hashes: []kvevents.Hash{kvevents.Hash(size)},
		}
		s.apply(engine, e)
	}
	require.Equal(t, 16, s.x.Stats().Shapes)
	require.EqualValues(t, 3, s.x.Stats().TooManyShapes)
	require.EqualValues(t, 1, s.x.Stats().Mismatched, "blocks of no tokens")

	for group := range 70 {
		e := blocks(0, 1)
		e.Group = uint32(group)
		s.apply(engine, e)
	}
	require.Len(t, s.x.Occupancies(nil), 64)
	require.EqualValues(t, 6, s.x.Stats().TooManyGroups)

	odd := blocks(0, 1)
	odd.Tier = kvevents.TierUnknown
	s.apply(engine, odd, kvevents.Event{})
	require.EqualValues(t, 1, s.x.Stats().UnknownTier)
	s.apply(engine, gone(kvevents.TierUnknown, 5))
	s.x.RemoveWorker("engine")
	require.Equal(t, kvindex.Stats{}, s.x.Stats().Held())
}

func Test_removalWithoutATierIsFromEveryTier(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	host := blocks(0, 2)
	host.Tier = kvevents.TierHost
	s.apply(engine, blocks(0, 2), host)
	require.Equal(t, [4]int{2, 2, 2, 2}, s.match(text(64))[engine].Within)
	s.apply(engine, gone(kvevents.TierDevice, 101))
	require.Equal(t, [4]int{1, 2, 2, 2}, s.match(text(64))[engine].Within)
	s.apply(engine, gone(kvevents.TierNone, 100))
	require.Empty(t, s.match(text(64)))
	require.Equal(t, [4]int64{0, 1, 0, 0}, s.x.Occupancies(nil)[0].Blocks)
}

func Test_matchDoesNotAllocate(t *testing.T) {
	c := newClock()
	s := newStage(t, kvindex.Config{PendingTTL: time.Minute, Now: c.Now})
	for i := range 20 {
		s.apply(benchOwner(i), blocks(0, 1+i%3))
	}
	window := blocks(0, 3)
	window.Group, window.Window = 1, 20
	s.apply(benchOwner(0), window)
	p := text(64)
	s.x.Credit(benchOwner(30), p)
	var r kvindex.Result
	s.x.Match(p, &r)
	require.Len(t, r.Matches, 21)
	require.Zero(t, testing.AllocsPerRun(100, func() { s.x.Match(p, &r) }))
}

func Test_dumpShowsUpToItsLimit(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	for i := range 40 {
		_, e := other(i, 5)
		s.apply(engine, e)
	}
	list, more := s.x.Dump(nil, 50)
	require.LessOrEqual(t, len(list), 50)
	require.NotEmpty(t, list)
	require.True(t, more)
	list, more = s.x.Dump(nil, 10_000)
	require.Len(t, list, 200)
	require.False(t, more)
}

func Test_equalKeysOfTwoPrefixesAreNoMatch(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	s.apply(engine, blocks(0, 2))
	number := 0
	p, e := other(number, 3)
	for !s.x.Plant(p) {
		number++
		p, e = other(number, 3)
	}
	require.NoError(t, s.x.Sane())
	require.Empty(t, s.match(p), "the node of that key has another parent")
	s.apply(engine, e)
	require.EqualValues(t, 1, s.x.Stats().Collisions)
	require.EqualValues(t, 3, s.x.Stats().Unplaced)
	require.Empty(t, s.match(p))
	s.x.RemoveWorker("engine")
	require.Equal(t, kvindex.Stats{}, s.x.Stats().Held())
}

// Engines with random seeds call a block differently, and that takes memory.
func Test_namesOfTheirOwnCountInTheBudget(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	s.apply(engine, blocks(0, 10))
	same := s.x.Stats().Bytes
	e := blocks(0, 10)
	s.apply(benchOwner(1), e)
	more := s.x.Stats().Bytes - same
	for i := range e.Hashes {
		e.Hashes[i] += 5000
	}
	s.apply(benchOwner(2), e)
	require.Greater(t, s.x.Stats().Bytes-same-more, more)
	s.x.RemoveWorker("engine")
	require.NoError(t, s.x.Sane())
	require.Equal(t, 160, s.match(text(161))[benchOwner(2)].Tokens)
	s.apply(benchOwner(2), gone(kvevents.TierDevice, e.Hashes...))
	require.NotContains(t, s.match(text(161)), benchOwner(2))
}

func TestFind_byTheBeginningOfAHash(t *testing.T) {
	x := kvindex.New(kvindex.Config{Seed: 3})
	x.Apply(kvindex.Owner{Worker: "a"}, &kvevents.Event{
		Kind: kvevents.KindStored, Hashes: []kvevents.Hash{1, 2, 3}, Tokens: []uint32{1, 2, 3, 4, 5, 6}, BlockSize: 2,
	})
	all, more := x.Find(nil, 0, 0, 10)
	require.False(t, more)
	require.Len(t, all, 3)
	for _, b := range all {
		found, _ := x.Find(nil, b.Hash>>32, 8, 10)
		require.Contains(t, found, b)
		found, _ = x.Find(nil, b.Hash, 16, 10)
		require.Equal(t, []kvindex.BlockView{b}, found)
	}
	some, more := x.Find(nil, 0, 0, 2)
	require.True(t, more)
	require.Len(t, some, 2)
}

// An eviction is put down to who made it necessary, whoever's blocks go.
func Test_evictionsNameWhoMadeRoom(t *testing.T) {
	s := newStage(t, kvindex.Config{Budget: 20_000})
	_, quiet := other(0, 50)
	s.apply(engine, quiet)
	require.Empty(t, s.x.EvictionsBy())
	for i := range 40 {
		_, e := other(1+i, 50)
		s.apply(benchOwner(i%2), e)
	}
	by := s.x.EvictionsBy()
	require.NotContains(t, by, engine.Worker)
	require.NotZero(t, by[benchOwner(0).Worker])
	require.Equal(t, s.x.Stats().Evicted, by[benchOwner(0).Worker]+by[benchOwner(1).Worker])
	s.x.RemoveWorker(benchOwner(0).Worker)
	require.NotContains(t, s.x.EvictionsBy(), benchOwner(0).Worker)
}

// Removals take memory too: what was one set of holders becomes many.
func Test_removalsKeepTheBudget(t *testing.T) {
	const owners, blocks = 64, 100
	full := kvindex.New(kvindex.Config{Seed: 1})
	_, e := other(0, blocks)
	fill := func(x *kvindex.Index) {
		for i := range owners {
			x.Apply(benchOwner(i), &e)
		}
	}
	fill(full)
	budget := full.Stats().Bytes
	x := kvindex.New(kvindex.Config{Seed: 1, Budget: budget})
	fill(x)
	require.Zero(t, x.Stats().Evicted)
	for i := range blocks {
		lost := gone(kvevents.TierDevice, e.Hashes[blocks-1-i])
		x.Apply(benchOwner(i%owners), &lost)
		require.LessOrEqual(t, x.Stats().Bytes, budget, "after %d", i)
		require.NoError(t, x.Sane())
	}
}
