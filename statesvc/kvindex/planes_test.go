package kvindex_test

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Many owners with holes at random places and on several tiers: what a walk over large
// sets says of each is what a look at each owner alone says.
func TestMatch_largeSetsWithHoles(t *testing.T) {
	const chain = 24
	rapid.Check(t, func(t *rapid.T) {
		x := kvindex.New(kvindex.Config{Seed: 5})
		whole := blocks(0, chain)
		held := map[kvindex.Owner][chain]uint8{} // bits: device, host
		step := func(i int) {
			o := kvindex.Owner{Worker: fmt.Sprint(i)}
			if _, there := held[o]; there && rapid.IntRange(0, 2).Draw(t, "leave") == 0 {
				x.RemoveWorker(o.Worker)
				delete(held, o)
				return
			}
			var mine [chain]uint8
			x.Reset(o)
			x.Apply(o, &whole)
			gone := kvevents.Event{Kind: kvevents.KindRemoved, Tier: kvevents.TierDevice}
			host := kvevents.Event{Kind: kvevents.KindStored, Tier: kvevents.TierHost}
			style := rapid.IntRange(0, 3).Draw(t, "style")
			from := rapid.IntRange(0, chain).Draw(t, "from")
			for b := range chain {
				mine[b] = 1
				random := style > 0 && rapid.IntRange(0, 9).Draw(t, "random") == 0
				if b >= from && style == 3 || random {
					host.Hashes = append(host.Hashes, whole.Hashes[b])
					mine[b] |= 2
				}
				if random || b >= from && style == 2 {
					gone.Hashes = append(gone.Hashes, whole.Hashes[b])
					mine[b] &^= 1
				}
			}
			x.Apply(o, &host)
			x.Apply(o, &gone)
			held[o] = mine
		}
		owners := rapid.IntRange(10, 70).Draw(t, "owners")
		for i := range owners {
			step(i)
		}
		for range rapid.IntRange(0, 30).Draw(t, "changes") {
			step(rapid.IntRange(0, owners-1).Draw(t, "owner"))
		}
		require.NoError(t, x.Sane())
		var r kvindex.Result
		x.Match(text(chain*16+1), &r)
		got := map[kvindex.Owner][4]int{}
		for _, m := range r.Matches {
			got[m.Owner] = m.Within
		}
		want := map[kvindex.Owner][4]int{}
		for o, mine := range held {
			device, any := run(mine[:], 1), run(mine[:], 3)
			if any > 0 {
				want[o] = [4]int{device, any, any, any}
			}
		}
		require.Equal(t, want, got)
	})
}

// run counts the leading blocks with one of the bits.
func run(list []uint8, bits uint8) (n int) {
	for n < len(list) && list[n]&bits != 0 {
		n++
	}
	return n
}
