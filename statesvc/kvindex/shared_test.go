package kvindex_test

import (
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

// What prompts go on from in three ways, of whatever engines, is shared; two ways may be
// a conversation that was tried again.
func TestMatch_shared(t *testing.T) {
	x := kvindex.New(kvindex.Config{Seed: 5, Public: true})
	const size, system = 2, 8
	prompt := func(end uint32) kvindex.Prompt {
		tokens := make([]uint32, system, system+5)
		for i := range tokens {
			tokens[i] = uint32(i)
		}
		return kvindex.Prompt{Tokens: append(tokens, end, end, end+1, end+1, end)}
	}
	look := func(end uint32) (byTokens, byHash int) {
		var r kvindex.Result
		x.Match(prompt(end), &r)
		byTokens = r.Shared
		x.MatchPublic(asked(prompt(end), size, false), &r)
		return byTokens, r.Shared
	}
	for i, want := range []int{0, 0, system, system} {
		x.Apply(kvindex.Owner{Worker: string(rune('a' + i))}, storing(prompt(uint32(100+i)), size, false))
		for _, end := range []uint32{100, 999} { // a conversation that is held, and a new one
			byTokens, byHash := look(end)
			require.Equal(t, want, byTokens, "after %d prompts", i+1)
			require.Equal(t, want, byHash)
		}
	}
	x.Apply(kvindex.Owner{Worker: "a"}, &kvevents.Event{Kind: kvevents.KindCleared})
	x.RemoveWorker("b")
	byTokens, _ := look(102)
	require.Zero(t, byTokens, "what nobody holds any more shares nothing")
}
