package flow

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/history"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// ranked are engines of several ranks.
func ranked(n int, ranks uint32) []wire.Worker {
	list := engines(n)
	for i := range list {
		list[i].Ranks = ranks
	}
	return list
}

// alwaysRanked routes model "m" with a rank for every request.
const alwaysRanked = `"models":{"m":{"dp_ranks":"always","buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"round_robin"}}}}]}}`

// rank sends a chat of a session, which must reach an engine, and gives its rank.
func (m *machine) rank(session, routing string) (*Request, core.Count) {
	m.t.Helper()
	r, ev := m.NewRequest(), m.headers()
	ev.SessionHeader, ev.RoutingHeader = session, routing
	r.Step(&ev)
	effects := r.Step(&Event{Kind: EventBody, Now: m.now, Body: `{"model":"m"}`})
	require.Equal(m.t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects))
	require.True(m.t, effects[0].OwnsRank)
	require.Equal(m.t, effects[0].Rank, r.Receipt().Rank)
	return r, effects[0].Rank
}

// A key keeps to one rank, in every proxy: session-42 over 8 ranks is 1
// (engine-selection.md 8.7). The routing key goes before the session.
func TestRank_by_key(t *testing.T) {
	m := remembering(t, alwaysRanked, ranked(1, 8)...)
	for range 3 {
		r, rank := m.rank("session-42", "")
		require.Equal(t, core.Known(1), rank)
		require.Equal(t, receipt.RankByKey, r.Receipt().RankBy)
		_, rank = m.rank("another", "session-42")
		require.Equal(t, core.Known(1), rank)
	}
	require.Equal(t, uint64(6), m.Fleet.RankInflight(m.Fleet.Member("e0"), 1))
}

// Without a key the rank with fewest requests in flight is taken, of equals the next.
func TestRank_by_load(t *testing.T) {
	m := remembering(t, alwaysRanked, ranked(1, 4)...)
	w := m.Fleet.Member("e0")
	held := map[uint64]*Request{}
	for range 4 {
		r, rank := m.rank("", "")
		require.Equal(t, receipt.RankByLoad, r.Receipt().RankBy)
		require.Nil(t, held[rank.N], "the ranks are taken one after the other")
		held[rank.N] = r
	}
	m.answer(held[2], 200)
	for range 2 {
		r, rank := m.rank("", "")
		require.Equal(t, core.Known(2), rank, "the only free one")
		m.answer(r, 200)
	}
	for _, r := range held {
		m.answer(r, 200)
		r.Step(&Event{Kind: EventDone})
	}
	for rank := range uint64(4) {
		require.Zero(t, m.Fleet.RankInflight(w, rank), "released once")
	}
	seen := map[uint64]bool{}
	for range 4 {
		r, rank := m.rank("", "")
		seen[rank.N] = true
		m.answer(r, 200)
	}
	require.Len(t, seen, 4, "one after the other uses all")
}

// An engine of one rank, or of nobody knows how many, chooses itself.
func TestRank_unknown_is_no_rank(t *testing.T) {
	for _, ranks := range []uint32{0, 1} {
		m := remembering(t, alwaysRanked, ranked(1, ranks)...)
		_, rank := m.rank("session-42", "")
		require.False(t, rank.Known)
		_, rank = m.rank("", "")
		require.False(t, rank.Known)
	}
	m := remembering(t, `"transport_retry":true,`+alwaysRanked, append(ranked(1, 8), wire.Worker{
		ID: "f", Address: "10.1.0.1:80", Models: []string{"m"}, Stage: core.StagePlain, Generation: 1, Healthy: true, Ranks: 1,
	})...)
	for range 4 {
		_, rank := m.rank("session-42", "")
		require.False(t, rank.Known, "the spare engine has no rank 1")
	}
}

// Of several ranks that hold as much, the one with least in flight is told, and charged.
func TestRank_of_several_holders(t *testing.T) {
	m := remembering(t, byIndex(""), ranked(4, 4)...)
	w := m.Fleet.Member("e2")
	l := hit(wire.Depth{Worker: "e2", Blocks: 1600, Rank: core.Known(1), Ranks: []uint32{1, 3}})
	count := map[uint64]int{}
	var open []*Request
	for i := range 6 {
		r, _ := m.goes((&talk{}).add("system", say(8000, "rules")).add("user", fmt.Sprint("q", i)), l)
		require.Equal(t, receipt.RankByPrefix, r.Receipt().RankBy)
		count[r.Receipt().Rank.N]++
		open = append(open, r)
	}
	require.Equal(t, map[uint64]int{1: 3, 3: 3}, count)
	require.Equal(t, uint64(3), m.Fleet.RankInflight(w, 1))
	require.Equal(t, uint64(3), m.Fleet.RankInflight(w, 3))
	for _, r := range open {
		r.Step(&Event{Kind: EventDone, End: fleet.EndGone})
	}
	require.Zero(t, m.Fleet.RankInflight(w, 1)+m.Fleet.RankInflight(w, 3))

	// A rank that the engine does not have was told of another life of it.
	r, _ := m.goes(short(), hit(wire.Depth{Worker: "e2", Blocks: 1600, Rank: core.Known(7)}))
	require.False(t, r.Receipt().Rank.Known)
}

// With a rank for every request, a prefix goes before load, and a key before both.
func TestRank_order(t *testing.T) {
	members := `"models":{"m":{"dp_ranks":"always","buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"cache_aware"}}}}]}}`
	m := remembering(t, members, ranked(4, 8)...)
	l := hit(wire.Depth{Worker: "e2", Blocks: 1600, Rank: core.Known(5)})
	r, _ := m.goes(short(), l)
	require.Equal(t, core.Known(5), r.Receipt().Rank)
	require.Contains(t, r.Receipt().Describe(), " by local, rank 5 [")
	r, _ = m.goes((&talk{}).add("system", say(8000, "others")), miss)
	require.Contains(t, r.Receipt().Describe(), " by load [")

	r, ev := m.NewRequest(), m.headers()
	ev.SessionHeader = "session-42"
	r.Step(&ev)
	effects := r.Step(&Event{Kind: EventBody, Now: m.now, Body: short().body()})
	m.told(r, effects[0].Call, l)
	require.Contains(t, r.Receipt().Describe(), ", rank 1 by key [")
}

// A transport retry sends the request on to another engine with the same rank, whose
// charge moves with it.
func TestRank_moves_with_the_charge(t *testing.T) {
	m := remembering(t, `"transport_retry":true,`+alwaysRanked, ranked(2, 8)...)
	r, rank := m.rank("session-42", "")
	from := r.named[0]
	to := r.named[1]
	r.Step(&Event{Kind: EventResponse, Now: m.now, Status: 200, Upstream: to.Address})
	require.Zero(t, m.Fleet.RankInflight(from, rank.N))
	require.Equal(t, uint64(1), m.Fleet.RankInflight(to, rank.N))
	r.Step(&Event{Kind: EventDone, Now: m.now, Upstream: to.Address})
	require.Zero(t, m.Fleet.RankInflight(to, rank.N))
}

// What was sent to a rank a moment ago counts as held there: a burst with one new prefix
// is computed by one rank of one engine. A longer common part goes before a later one, and
// what is over counts no more.
func TestRank_of_what_is_pending(t *testing.T) {
	members := `"models":{"m":{"dp_ranks":"always","buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"cache_aware"}}}}]}}`
	m := remembering(t, members, ranked(4, 4)...)
	first, id := m.goes(short(), miss)
	require.Equal(t, receipt.RankByLoad, first.Receipt().RankBy)
	want := first.Receipt().Rank
	for i := range 7 {
		r, to := m.goes((&talk{}).add("system", say(8000, "rules")).add("user", fmt.Sprint("q", i)), miss)
		require.Equal(t, id, to)
		require.Equal(t, want, r.Receipt().Rank)
		require.Equal(t, receipt.RankByPrefix, r.Receipt().RankBy)
	}
	require.Equal(t, uint64(8), m.Fleet.RankInflight(m.Fleet.Member(id), want.N))

	known := hit(wire.Depth{Worker: id, Blocks: 100, Rank: core.Known((want.N + 1) % 4)})
	r, _ := m.goes((&talk{}).add("system", say(8000, "rules")).add("user", "another"), known)
	require.Equal(t, want, r.Receipt().Rank, "far more was sent than is known")
	known = hit(wire.Depth{Worker: id, Blocks: 1600, Rank: core.Known((want.N + 1) % 4)})
	r, _ = m.goes(short(), known)
	require.Equal(t, (want.N+1)%4, r.Receipt().Rank.N, "about as much is")

	m.now += core.Instant(spec.DefaultPending)
	r, _ = m.goes(short(), miss)
	require.Equal(t, receipt.RankByLoad, r.Receipt().RankBy, "its time is over")
}

func TestSentRanks(t *testing.T) {
	path := func(texts ...string) *history.Path {
		p := &history.Path{}
		p.Reset(&history.Namespace{Model: "m"})
		for _, text := range texts {
			p.Message(text, false)
		}
		return p
	}
	var s sentRanks
	a, b := &core.Worker{ID: "a"}, &core.Worker{ID: "b"}
	require.False(t, s.find(a, path("one"), 0).Known)
	s.enter(a, 1, path("one", "two", "three"), 10)
	s.enter(a, 2, path("one", "other"), 10)
	s.enter(b, 3, path("one", "two"), 10)
	require.Equal(t, core.Known(1), s.find(a, path("one", "two", "four"), 9), "more in common")
	require.Equal(t, core.Known(2), s.find(a, path("one", "new"), 9), "the later one")
	require.Equal(t, core.Known(3), s.find(b, path("one", "two", "three"), 9))
	require.False(t, s.find(a, path("two"), 9).Known)
	require.False(t, s.find(a, path("one"), 10).Known, "its time is over")
	require.False(t, s.find(&core.Worker{ID: "a"}, path("one"), 9).Known, "another life of the engine")
	for i := range 10 * maxSentRanks {
		s.enter(b, uint64(i%4), path(fmt.Sprint("prompt ", i)), 10)
	}
	require.Len(t, s.ring, maxSentRanks)
	require.False(t, s.find(a, path("one"), 9).Known, "forgotten for newer ones")
	require.Equal(t, core.Known(uint64((10*maxSentRanks-1)%4)), s.find(b, path(fmt.Sprint("prompt ", 10*maxSentRanks-1)), 9))
	require.Equal(t, core.Known(0), s.find(b, path(fmt.Sprint("prompt ", 9*maxSentRanks)), 9), "the oldest that is kept")
}
