package kvindex_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/kvindex/sglhash"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// asked are the hashes by which others ask about a prompt: those of the blocks that an
// engine can take from its cache.
func asked(p kvindex.Prompt, size int, bigram bool) []int64 {
	usable := p.Tokens[:max(len(p.Tokens)-1, 0)]
	if bigram { // the unit of the last token is not whole without it
		usable = p.Tokens
	}
	list, err := sglhash.Hashes(nil, usable, sglhash.Options{BlockSize: size, Bigram: bigram, Salt: p.Salt, FullOnly: true})
	if err != nil {
		panic(err)
	}
	return list
}

// found are the matches without what only a walk by tokens knows.
func found(r *kvindex.Result) []string {
	var list []string
	for _, m := range r.Matches {
		list = append(list, fmt.Sprintln(m.Owner, m.BlockSize, m.Blocks, m.Tokens, m.Within, m.AtMost, m.Certain))
	}
	slices.Sort(list)
	return list
}

// The vectors of engine-selection.md 10.7 find blocks that an engine with hashes of its
// own, in the manner of vLLM, announced by their tokens.
func TestMatchPublic_vectors(t *testing.T) {
	for name, c := range map[string]struct {
		event  kvevents.Event
		hashes []int64
		blocks int
	}{
		"plain": {
			event:  kvevents.Event{Tokens: []uint32{10, 20, 30, 40, 50, 60, 70, 80}, BlockSize: 2},
			hashes: []int64{978178666101069530, -895308556211281782, -8033692805846017938, 835415944263129316},
			blocks: 4,
		},
		"another end": {
			event:  kvevents.Event{Tokens: []uint32{10, 20, 30, 40, 50, 60, 70, 81}, BlockSize: 2},
			hashes: []int64{978178666101069530, -895308556211281782, -8033692805846017938, 835415944263129316},
			blocks: 3,
		},
		"pairs":          {kvevents.Event{Tokens: []uint32{10, 20, 20, 30, 30, 40, 40, 50}, BlockSize: 2, Bigram: true}, []int64{-8847804484166691499, 4989791362144317498}, 2},
		"salt":           {kvevents.Event{Tokens: []uint32{1, 2, 3, 4}, BlockSize: 4, Salt: "tenant-a"}, []int64{3718046898735569995, -3746251122054429113}, 1},
		"without a salt": {kvevents.Event{Tokens: []uint32{1, 2, 3, 4}, BlockSize: 4, Salt: "tenant-a"}, []int64{-3488128144981237669}, 0},
		"of an adapter":  {kvevents.Event{Tokens: []uint32{1, 2, 3, 4}, BlockSize: 4, LoRA: "poet"}, []int64{-3488128144981237669}, 0},
		"an image in it": {kvevents.Event{Tokens: []uint32{7, 8, 9}, BlockSize: 1, Extra: []uint64{0, 5, 0}}, []int64{-1702009526849766914, 903318264012984157, -8265893088400908305}, 1},
		"not the start":  {kvevents.Event{Tokens: []uint32{7, 8, 9}, BlockSize: 1}, []int64{903318264012984157}, 0},
		"nothing asked":  {kvevents.Event{Tokens: []uint32{7, 8, 9}, BlockSize: 1}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			x := kvindex.New(kvindex.Config{Seed: 5, Public: true})
			c.event.Kind = kvevents.KindStored
			for i := range c.event.Units() / int(c.event.BlockSize) {
				c.event.Hashes = append(c.event.Hashes, kvevents.Hash(1000+i))
			}
			x.Apply(kvindex.Owner{Worker: "w"}, &c.event)
			require.NoError(t, x.Sane())
			var r kvindex.Result
			x.MatchPublic(c.hashes, &r)
			if c.blocks == 0 {
				require.Empty(t, r.Matches)
				return
			}
			require.Len(t, r.Matches, 1)
			require.Equal(t, c.blocks, r.Matches[0].Blocks)
		})
	}
}

// An index that was not told to keep them has none, and takes no memory for them.
func TestMatchPublic_off(t *testing.T) {
	x, y := kvindex.New(kvindex.Config{Seed: 5}), kvindex.New(kvindex.Config{Seed: 5, Public: true})
	e := blocks(0, 4)
	x.Apply(kvindex.Owner{Worker: "w"}, &e)
	y.Apply(kvindex.Owner{Worker: "w"}, &e)
	var r kvindex.Result
	x.MatchPublic(asked(text(65), 16, false), &r)
	require.Empty(t, r.Matches)
	require.EqualValues(t, 4*56, y.Stats().Bytes-x.Stats().Bytes)
	y.RemoveWorker("w")
	require.Zero(t, y.Stats().Bytes)
}

// Whatever happened before, a prompt asked about by hashes is answered as by tokens.
func TestMatchPublic_is_match(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 2
		bigram := rapid.Bool().Draw(t, "bigram")
		x := kvindex.New(kvindex.Config{Seed: 5, Public: true, Budget: rapid.SampledFrom([]int64{0, 4000}).Draw(t, "budget")})
		prompts := make([]kvindex.Prompt, 4)
		for i := range prompts {
			prompts[i].Salt = rapid.SampledFrom([]string{"", "", "a"}).Draw(t, "salt")
			for range rapid.IntRange(3, 20).Draw(t, "length") {
				prompts[i].Tokens = append(prompts[i].Tokens, rapid.Uint32Range(1, 2).Draw(t, "token"))
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			o := kvindex.Owner{Worker: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "worker"))}
			e := storing(prompts[rapid.IntRange(0, 3).Draw(t, "prompt")], size, bigram)
			from := rapid.IntRange(0, len(e.Hashes)).Draw(t, "from")
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				x.RemoveWorker(o.Worker)
			case 1:
				x.Reset(o)
			case 2, 3:
				x.Apply(o, &kvevents.Event{Kind: kvevents.KindRemoved, Hashes: e.Hashes[from:]})
			case 4:
				x.Apply(o, after(e, from))
			default:
				x.Apply(o, e)
			}
		}
		require.NoError(t, x.Sane())
		var byTokens, byHash kvindex.Result
		for _, p := range prompts {
			x.Match(p, &byTokens)
			x.MatchPublic(asked(p, size, bigram), &byHash)
			require.Equal(t, found(&byTokens), found(&byHash))
		}
	})
}

// storing is the event of a whole prompt, with names that only content tells apart.
func storing(p kvindex.Prompt, size int, bigram bool) *kvevents.Event {
	e := &kvevents.Event{Kind: kvevents.KindStored, BlockSize: uint32(size), Bigram: bigram, Salt: p.Salt}
	units := len(p.Tokens)
	if bigram {
		units--
	}
	name := kvevents.Hash(len(p.Salt) + 1)
	for i := range units / size * size {
		e.Tokens = append(e.Tokens, p.Tokens[i])
		name = name*31 + kvevents.Hash(p.Tokens[i])
		if bigram {
			e.Tokens = append(e.Tokens, p.Tokens[i+1])
			name = name*31 + kvevents.Hash(p.Tokens[i+1])
		}
		if i%size == size-1 {
			e.Hashes = append(e.Hashes, name)
		}
	}
	return e
}

// after is the rest of a stored range, which names its parent.
func after(e *kvevents.Event, from int) *kvevents.Event {
	if from == 0 {
		return e
	}
	rest := *e
	perBlock := len(e.Tokens) / max(len(e.Hashes), 1)
	rest.Parent, rest.HasParent, rest.Salt = e.Hashes[from-1], true, ""
	rest.Hashes, rest.Tokens = e.Hashes[from:], e.Tokens[from*perBlock:]
	return &rest
}

// BenchmarkIndex_matchPublic walks 6,250 blocks over 100 owners that all hold them, told
// by their hashes; hashing apart.
func BenchmarkIndex_matchPublic(b *testing.B) {
	x := kvindex.New(kvindex.Config{Seed: 5, Public: true})
	tokens := someTokens(benchBlocks*16+1, 1)
	e := stored(tokens[:benchBlocks*16], 16, 1)
	for i := range 100 {
		x.Apply(benchOwner(i), e)
	}
	hashes := asked(kvindex.Prompt{Tokens: tokens}, 16, false)
	var r kvindex.Result
	b.ReportAllocs()
	for b.Loop() {
		x.MatchPublic(hashes, &r)
	}
	slices.SortFunc(r.Matches, func(a, b kvindex.Match) int { return cmp.Compare(a.Owner.Worker, b.Owner.Worker) })
	require.Len(b, r.Matches, 100)
	require.Equal(b, benchBlocks, r.Matches[0].Blocks)
}
