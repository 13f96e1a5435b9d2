package flow

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// hit is an answer of the index about 2,000 tokens.
func hit(depths ...wire.Depth) wire.Lookup {
	return wire.Lookup{Outcome: wire.LookupHit, Blocks: 2000, Depths: depths}
}

// A receipt has how deep the prefix is, by which source that is known, how old and how
// sure it is.
func TestKnown_depth_source_and_certainty(t *testing.T) {
	for text, l := range map[string]wire.Lookup{
		", holding 1617 tokens by local [":                      hit(wire.Depth{Worker: "e2", Blocks: 1600}),
		", holding 1617 tokens by local, uncertain [":           hit(wire.Depth{Worker: "e2", Blocks: 1600, Uncertain: true}),
		", holding 1617 tokens by local, rank 3 [":              hit(wire.Depth{Worker: "e2", Blocks: 1600, Rank: core.Known(3)}),
		", holding 1617 tokens by local, rank 1 [":              hit(wire.Depth{Worker: "e2", Blocks: 1600, DeviceBlocks: core.Known(1600), Rank: core.Known(1)}),
		", holding 1617 tokens (404 on the device) by local [":  hit(wire.Depth{Worker: "e2", Blocks: 1600, DeviceBlocks: core.Known(400)}),
		", holding 1617 tokens (0 on the device) by local [":    hit(wire.Depth{Worker: "e2", Blocks: 1600, DeviceBlocks: core.Known(0)}),
		", holding 0 tokens by local [":                         miss,
		`, local unavailable: "no tokenizer" [`:                 {Detail: "no tokenizer"},
		", local unavailable [":                                 {},
		", holding 1617 tokens by local, uncertain, rank 0 [":   hit(wire.Depth{Worker: "e2", Blocks: 1600, Uncertain: true, Rank: core.Known(0)}),
		"by no_cache_candidate of 4, holding 5 tokens by local": hit(every(5)...),
	} {
		m := indexed(t, "")
		r, _ := m.goes(short(), l)
		require.Contains(t, r.Receipt().Describe(), text)
	}
	aged := hit(wire.Depth{Worker: "e2", Blocks: 1600, Age: core.Known(40), Uncertain: true}, wire.Depth{Worker: "e1", Blocks: 1500})
	aged.Age = core.Known(3)
	r, _ := indexed(t, "").goes(short(), aged)
	require.Contains(t, r.Receipt().Describe(), " by local, 40 ms old, uncertain [", "the holder's own")
	aged = hit(wire.Depth{Worker: "e1", Blocks: 1500})
	aged.Age = core.Known(3)
	r, _ = indexed(t, "").goes(short(), aged)
	require.Contains(t, r.Receipt().Describe(), "holding 1516 tokens by local, 3 ms old [", "any engine's, where its own is not known")
	aged = miss
	aged.Age = core.Known(9)
	r, _ = indexed(t, "").goes(short(), aged)
	require.Contains(t, r.Receipt().Describe(), "holding 0 tokens by local, 9 ms old [")

	m := indexed(t, "")
	m.goes(short(), hit(wire.Depth{Worker: "e1", Blocks: 1600}))
	r, _ = m.goes(short(), hit(wire.Depth{Worker: "e1", Blocks: 1600, Uncertain: true}))
	require.Equal(t, receipt.CertaintyPending, r.Receipt().Prefix.Certainty)
	require.Contains(t, r.Receipt().Describe(), " tokens by local, pending [")
}

// every engine holds so many blocks.
func every(blocks uint64) (list []wire.Depth) {
	for _, e := range engines(4) {
		list = append(list, wire.Depth{Worker: e.ID, Blocks: blocks, Rank: core.Known(1)})
	}
	return list
}

// The rank that holds the prefix is named to an engine that was chosen for it.
func TestKnown_rank(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings string
		depths   []wire.Depth
		want     core.Count
	}{
		{"of several", "", []wire.Depth{{Worker: "e1", Blocks: 1200, Rank: core.Known(1)}, {Worker: "e2", Blocks: 1600, Rank: core.Known(2)}}, core.Known(2)},
		{"the first", "", []wire.Depth{{Worker: "e2", Blocks: 1600, Rank: core.Known(0)}}, core.Known(0)},
		{"one rank", "", []wire.Depth{{Worker: "e1", Blocks: 1200, Rank: core.Known(1)}, {Worker: "e2", Blocks: 1600}}, core.Count{}},
		{"too little to matter", "", every(100), core.Count{}},
		{"any hit", `,"min_matched_tokens":0`, every(100), core.Known(1)},
	} {
		m := indexed(t, tt.settings)
		r, call := m.asks(short())
		l := hit(tt.depths...)
		l.Source = "local"
		effects := r.Step(&Event{Kind: EventObserved, Call: call, Observed: &wire.ObserveReply{Lookups: []wire.Lookup{l}}})
		require.Equal(t, EffectRoute, effects[0].Kind)
		require.Equal(t, tt.want, effects[0].Rank, tt.name)
		require.True(t, effects[0].OwnsRank, tt.name)
	}
	m := remembering(t, `"transport_retry":true,`+byIndex(""), engines(4)...)
	r, _ := m.goes(short(), hit(wire.Depth{Worker: "e1", Blocks: 1600, Rank: core.Known(1)}))
	require.Equal(t, core.Known(1), r.Receipt().Rank, "spare engines change nothing")
	m = remembering(t, oneBucket, engines(1)...)
	require.Zero(t, m.routed().Receipt().Prefix)
	_, effects := m.chat(`{"model":"m"}`)
	require.False(t, effects[0].OwnsRank, "ranks are between client and engine")
}

// Unavailable is no miss: it is counted apart, and routed by load. Invalid is an error.
func TestKnown_unavailable_is_counted_apart(t *testing.T) {
	m := indexed(t, "")
	m.goes(newTalk(1), miss)
	m.goes(newTalk(2), wire.Lookup{Detail: "overloaded"})
	r, call := m.asks(newTalk(3))
	m.now += DefaultCallTimeout
	require.Equal(t, EffectRoute, r.Step(&Event{Kind: EventTick, Now: m.now})[0].Kind)
	require.Empty(t, r.Step(&Event{Kind: EventObserved, Call: call, Observed: &wire.ObserveReply{}}))
	require.Equal(t, uint64(1), m.Counters[firstPick+Counter(core.ReasonNoCacheCandidate)])
	require.Equal(t, uint64(2), m.Counters[firstPick+Counter(core.ReasonCacheUnavailable)])
	require.Equal(t, uint64(1), m.Counters[ObservesLate])

	r, call = m.asks(newTalk(4))
	code, _ := refusal(t, r.Step(&Event{Kind: EventObserved, Call: call, Observed: &wire.ObserveReply{Lookups: []wire.Lookup{{Source: "local", Outcome: wire.LookupInvalid}}}})[1:])
	require.Equal(t, CodeInternal, code)
}
