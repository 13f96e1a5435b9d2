package kvindex_test

import (
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

// The traps of fixtures/README.md section 4 that an index can fall into, by number.
// The recorded streams themselves are replayed where the decoders are.

var engine = kvindex.Owner{Worker: "engine"}

// stage is an index that checks itself after each event.
type stage struct {
	t *testing.T
	x *kvindex.Index
	r kvindex.Result
}

func newStage(t *testing.T, cfg kvindex.Config) *stage {
	t.Helper()
	cfg.Seed = 7
	return &stage{t: t, x: kvindex.New(cfg)}
}

func (s *stage) apply(o kvindex.Owner, list ...kvevents.Event) {
	s.t.Helper()
	for i := range list {
		s.x.Apply(o, &list[i])
		require.NoError(s.t, s.x.Sane())
	}
}

func (s *stage) match(p kvindex.Prompt) map[kvindex.Owner]kvindex.Match {
	s.x.Match(p, &s.r)
	out := map[kvindex.Owner]kvindex.Match{}
	for _, m := range s.r.Matches {
		out[m.Owner] = m
	}
	return out
}

// tokens is what the engine has of a prompt.
func (s *stage) tokens(p kvindex.Prompt) int { return s.match(p)[engine].Tokens }

func count(from, n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(from + i)
	}
	return list
}

func text(n int) kvindex.Prompt { return kvindex.Prompt{Tokens: count(0, n)} }

// blocks is a store of blocks from..to of the counting prompt, 16 tokens each. Block
// i is named 100+i.
func blocks(from, to int) kvevents.Event {
	e := kvevents.Event{Kind: kvevents.KindStored, BlockSize: 16, Tokens: count(from*16, (to-from)*16)}
	if from > 0 {
		e.Parent, e.HasParent = kvevents.Hash(99+from), true
	}
	for i := from; i < to; i++ {
		e.Hashes = append(e.Hashes, kvevents.Hash(100+i))
	}
	return e
}

func gone(tier kvevents.Tier, names ...kvevents.Hash) kvevents.Event {
	return kvevents.Event{Kind: kvevents.KindRemoved, Tier: tier, Hashes: names}
}

func cleared() kvevents.Event { return kvevents.Event{Kind: kvevents.KindCleared} }

func Test_trap03_copiesAreCounted(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	s.apply(engine, blocks(0, 3), blocks(2, 3)) // the last block, recomputed
	require.EqualValues(t, 1, s.x.Stats().ExtraCopies)
	s.apply(engine, gone(kvevents.TierDevice, 102))
	require.Equal(t, 48, s.tokens(text(64)), "the other copy still serves")
	s.apply(engine, gone(kvevents.TierDevice, 102))
	require.Equal(t, 32, s.tokens(text(64)))
}

// A hit announced again looks like a copy. What that can make one believe is bounded.
func Test_trap03_repeatsAreBounded(t *testing.T) {
	s := newStage(t, kvindex.Config{MaxCopies: 2})
	for range 50 {
		s.apply(engine, blocks(0, 1))
	}
	require.EqualValues(t, 1, s.x.Stats().ExtraCopies)
	require.EqualValues(t, 48, s.x.Stats().UncountedCopies)
	s.apply(engine, gone(kvevents.TierDevice, 100), gone(kvevents.TierDevice, 100))
	require.Zero(t, s.tokens(text(64)))

	set := newStage(t, kvindex.Config{MaxCopies: 1})
	set.apply(engine, blocks(0, 1), blocks(0, 1), gone(kvevents.TierDevice, 100))
	require.Zero(t, set.tokens(text(64)), "a plain set, when so configured")
}

func Test_trap04_clearIsOfItsRankAndMayRepeat(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	other := kvindex.Owner{Worker: "engine", Rank: 1}
	s.apply(engine, blocks(0, 3))
	s.apply(other, blocks(0, 3))
	s.apply(engine, cleared(), cleared(), blocks(0, 1)) // two resets, announced with the next step
	m := s.match(text(64))
	require.Equal(t, 16, m[engine].Tokens)
	require.Equal(t, 48, m[other].Tokens, "each rank announces for itself")
	require.EqualValues(t, 2, s.x.Stats().Clears)
}

func Test_trap05_groupsAreNotZipped(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	// 12 blocks in full attention; the window of 64 tokens keeps the last four of
	// them, and does not say which.
	full := blocks(0, 12)
	full.Group = 1
	window := blocks(0, 12)
	window.Window = 64
	window.Hashes = window.Hashes[8:]
	s.apply(engine, window, full)

	m := s.match(text(12*16 + 1))[engine]
	require.Equal(t, 12*16, m.Tokens, "the window before the end is filled")
	require.True(t, m.Certain)

	m = s.match(kvindex.Prompt{Tokens: append(count(0, 6*16), 1)})[engine]
	require.Zero(t, m.Tokens, "six blocks in full attention are no hit without their window")
	require.Equal(t, 6, m.AtMost)
	require.True(t, m.Certain)
}

// A window of 17 tokens needs the one block before the position, one of 33 needs two.
func Test_trap05_windowsCountBlocksBeforeThePosition(t *testing.T) {
	for window, want := range map[uint32]int{17: 64, 18: 0, 33: 0} {
		s := newStage(t, kvindex.Config{})
		part := blocks(0, 4)
		part.Group, part.Window = 1, window
		part.Hashes = []kvevents.Hash{101, 103} // the sets of holders take turns
		s.apply(engine, blocks(0, 4), part)
		m := s.match(text(65))[engine]
		require.Equal(t, want, m.Tokens, "window %d", window)
		require.Equal(t, 4, m.AtMost)
	}
}

func Test_trap05_unknownWindowBlocksMakeItUncertain(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	full := blocks(0, 6)
	full.Group = 1
	window := blocks(0, 6)
	window.Window, window.Hashes = 64, []kvevents.Hash{900, 901} // named as nothing else
	none := window
	none.Hashes = nil
	s.apply(engine, full, window, none)
	m := s.match(text(97))[engine]
	require.Zero(t, m.Blocks)
	require.Equal(t, 6, m.AtMost)
	require.False(t, m.Certain)

	s.apply(engine, gone(kvevents.TierDevice, 900, 901))
	require.True(t, s.match(text(97))[engine].Certain, "they were findable")
}

// A group that keeps something else than blocks may name as many hashes as there are
// blocks: they are no blocks of the prompt all the same.
func Test_trap05_otherScopesAreNeverZipped(t *testing.T) {
	for _, scope := range []kvevents.Scope{kvevents.ScopeWindow, kvevents.ScopeOther} {
		s := newStage(t, kvindex.Config{})
		other := blocks(0, 4)
		other.Group, other.Scope = 1, scope
		other.Hashes = []kvevents.Hash{901, 902, 903, 904}
		s.apply(engine, blocks(0, 4), other)
		m := s.match(text(65))[engine]
		require.Zero(t, m.Blocks, "what the group keeps of them is not known")
		require.Equal(t, 4, m.AtMost)
		require.False(t, m.Certain)
	}
}

func Test_trap06_placeholdersAreNoRoots(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	host := kvevents.Event{Kind: kvevents.KindStored, Tier: kvevents.TierHost, Hashes: []kvevents.Hash{100, 101, 777}}
	s.apply(engine, blocks(0, 3), host)
	require.EqualValues(t, 1, s.x.Stats().Unplaced, "777 is not attached anywhere")
	require.EqualValues(t, 3, s.x.Stats().Nodes)

	s.apply(engine, gone(kvevents.TierDevice, 102, 101, 100))
	m := s.match(text(64))[engine]
	require.Equal(t, 32, m.Tokens)
	require.Equal(t, [4]int{0, 2, 2, 2}, m.Within, "nothing within the device, two within the host")

	s.apply(engine, gone(kvevents.TierHost, 100, 101, 777))
	require.Zero(t, s.x.Stats().Entries)
}

// Placeholders do not say the group that engines number freely.
func Test_trap06_placeholderFindsItsGroup(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	full := blocks(0, 2)
	full.Group = 1
	s.apply(engine, full, kvevents.Event{Kind: kvevents.KindStored, Tier: kvevents.TierDisk, Hashes: []kvevents.Hash{100, 101}})
	require.Equal(t, 32, s.tokens(text(64)), "no second group came to be, which would lack the blocks")
	s.apply(engine, gone(kvevents.TierDevice, 101, 100))
	require.Equal(t, [4]int{0, 0, 2, 2}, s.match(text(64))[engine].Within)
}

func Test_trap07_orderWithinABatchCounts(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	s.apply(engine, blocks(0, 2))
	// Evicted and computed again in one step; and a removal that is not leaf first.
	s.x.ApplyBatch(engine, &kvevents.Batch{Events: []kvevents.Event{
		gone(kvevents.TierDevice, 100), gone(kvevents.TierDevice, 101), blocks(0, 2),
	}})
	require.NoError(t, s.x.Sane())
	require.Equal(t, 32, s.tokens(text(64)))

	s.apply(engine, gone(kvevents.TierDevice, 100))
	require.Zero(t, s.tokens(text(64)), "the second block is of no use without the first")
	require.EqualValues(t, 2, s.x.Stats().Nodes)
	s.apply(engine, blocks(0, 1))
	require.Equal(t, 32, s.tokens(text(64)), "and is of use again with it")
}

func Test_trap10_saltAndLoRAAreNamespaces(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	salted := blocks(0, 2)
	salted.Salt = "tenant"
	more := blocks(2, 3) // follows without a word of the salt
	s.apply(engine, salted, more)
	require.Zero(t, s.tokens(text(64)))
	require.Equal(t, 48, s.tokens(kvindex.Prompt{Tokens: count(0, 64), Salt: "tenant"}))
	require.Zero(t, s.tokens(kvindex.Prompt{Tokens: count(0, 64), Salt: "other"}))

	lora := blocks(0, 2)
	lora.LoRA, lora.Hashes = "adapter", []kvevents.Hash{500, 501}
	s.apply(engine, lora)
	require.Equal(t, 32, s.tokens(kvindex.Prompt{Tokens: count(0, 64), LoRA: "adapter"}))
	require.Zero(t, s.tokens(kvindex.Prompt{Tokens: count(0, 64), LoRA: "tenant"}))
	require.Equal(t, 48, s.tokens(kvindex.Prompt{Tokens: count(0, 64), Salt: "tenant"}), "none was refused")
}

// SGLang's default format leaves some namespaces out of its hashes: two contents have
// one name, and one removal lists it twice (fixtures: salt-default-format).
func Test_trap10_oneNameForTwoContents(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	lora := blocks(0, 2)
	lora.LoRA = "adapter"
	s.apply(engine, blocks(0, 2), lora)
	adapter := kvindex.Prompt{Tokens: count(0, 64), LoRA: "adapter"}
	require.Equal(t, 32, s.tokens(text(64)))
	require.Equal(t, 32, s.tokens(adapter))

	s.apply(engine, blocks(2, 3))
	require.EqualValues(t, 1, s.x.Stats().AmbiguousParent, "whose child that is nobody can tell")
	s.apply(engine, gone(kvevents.TierDevice, 102, 101, 100, 101, 100))
	require.Zero(t, s.x.Stats().Held().Entries)
}

func Test_trap11_theAnswerIsCachedToo(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	s.apply(engine, blocks(0, 2), blocks(2, 3)) // prompt, then what the answer filled
	require.Equal(t, 48, s.tokens(text(60)), "the next turn has both")
	require.Zero(t, s.tokens(text(15)), "a prompt shorter than a block hits nothing")
	require.Equal(t, 32, s.tokens(text(48)), "the last token is always computed")
	require.Equal(t, 48, s.tokens(text(49)))
}

func Test_trap12_ranksAreOwners(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	other := kvindex.Owner{Worker: "engine", Rank: 1}
	s.apply(engine, blocks(0, 3))
	s.apply(other, blocks(0, 3))
	require.EqualValues(t, 3, s.x.Stats().Nodes)
	s.apply(other, gone(kvevents.TierDevice, 102))
	m := s.match(text(64))
	require.Equal(t, 48, m[engine].Tokens)
	require.Equal(t, 32, m[other].Tokens)

	s.x.Reset(engine)
	require.NoError(t, s.x.Sane())
	require.Len(t, s.match(text(64)), 1, "the other rank is untouched")
	s.x.RemoveWorker("engine")
	require.NoError(t, s.x.Sane())
	require.Equal(t, kvindex.Stats{}, s.x.Stats().Held())
}

func Test_trap13_blockSizesLiveSideBySide(t *testing.T) {
	s := newStage(t, kvindex.Config{})
	page1 := kvindex.Owner{Worker: "page of one"}
	bigram := kvindex.Owner{Worker: "bigram"}
	ones := kvevents.Event{Kind: kvevents.KindStored, BlockSize: 1, Tokens: count(0, 40)}
	for i := range 40 {
		ones.Hashes = append(ones.Hashes, kvevents.Hash(1000+i))
	}
	pairs := kvevents.Event{
		Kind: kvevents.KindStored, BlockSize: 2, Bigram: true, Hashes: []kvevents.Hash{1, 2},
		Tokens: []uint32{0, 1, 1, 2, 2, 3, 3, 4},
	}
	s.apply(engine, blocks(0, 3))
	s.apply(page1, ones)
	s.apply(bigram, pairs)
	m := s.match(text(64))
	require.Equal(t, 48, m[engine].Tokens)
	require.Equal(t, 40, m[page1].Tokens)
	require.Equal(t, 4, m[bigram].Tokens)
	require.Equal(t, 1, m[page1].BlockSize)
	require.Equal(t, 3, s.x.Stats().Shapes)
}
