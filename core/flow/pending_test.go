package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// byIndex routes model "m" by the index of events, with further settings.
func byIndex(settings string) string {
	return `"models":{"m":{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"cache_aware"` + settings + `}}}}]}}`
}

// indexed is a context before four engines that goes by the index.
func indexed(t tester, settings string) *machine {
	return remembering(t, byIndex(settings), engines(4)...)
}

// miss is an answer of the index: nobody holds any of 2,000 tokens.
var miss = wire.Lookup{Outcome: wire.LookupMiss, Blocks: 2000}

// asks sends a request and gives the call that it waits for.
func (m *machine) asks(c *talk) (*Request, uint64) {
	m.t.Helper()
	r, effects := m.chat(c.body())
	require.Equal(m.t, []EffectKind{EffectObserve, EffectPause}, kinds(effects))
	return r, effects[0].Call
}

// told answers a request's call and gives its engine.
func (m *machine) told(r *Request, call uint64, l wire.Lookup) core.WorkerID {
	m.t.Helper()
	l.Source = "local"
	effects := r.Step(&Event{Kind: EventObserved, Now: m.now, Call: call, Observed: &wire.ObserveReply{Lookups: []wire.Lookup{l}}})
	require.Equal(m.t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects))
	return r.Receipt().Chosen
}

// goes sends a request that the index answers with l.
func (m *machine) goes(c *talk, l wire.Lookup) (*Request, core.WorkerID) {
	m.t.Helper()
	r, call := m.asks(c)
	return r, m.told(r, call, l)
}

// burst sends n requests with one prefix of 8 KB, all asking before any is answered,
// and counts the engines they go to.
func (m *machine) burst(n int, l wire.Lookup) map[core.WorkerID]int {
	m.t.Helper()
	used, waiting := map[core.WorkerID]int{}, []func(){}
	for i := range n {
		c := (&talk{}).add("system", say(8000, "rules")).add("user", say(100, fmt.Sprint("q", i)))
		r, call := m.asks(c)
		waiting = append(waiting, func() { used[m.told(r, call, l)]++ })
	}
	for _, answer := range waiting {
		answer()
	}
	return used
}

// short is a conversation with the prefix of a burst.
func short() *talk { return (&talk{}).add("system", say(8000, "rules")).add("user", "short") }

func TestPending_keeps_a_burst_together(t *testing.T) {
	m := indexed(t, "")
	require.Len(t, m.burst(8, miss), 1)
	require.Equal(t, uint64(7), m.Counters[PendingPrefixes])
	require.Equal(t, uint64(7), m.Counters[firstCache+Counter(core.CacheHit)])

	m = indexed(t, "")
	m.UseState(State{Views: m.state.Views, Wants: m.state.Wants})
	require.Greater(t, len(m.burst(8, miss)), 2, "by what engines say alone")
	require.Zero(t, m.Counters[PendingPrefixes])
}

func TestPending_depth(t *testing.T) {
	m := indexed(t, "")
	first, id := m.goes(short(), miss)
	require.Equal(t, core.Known(0), first.Receipt().Matched)
	r, again := m.goes(short(), miss)
	require.Equal(t, id, again)
	require.Equal(t, core.Known(r.Receipt().Input*1999/2000), r.Receipt().Matched, "all but the last block")
	r, _ = m.goes((&talk{}).add("system", say(8000, "rules")).add("user", say(8000, "other")), miss)
	require.InDelta(t, float64(r.Receipt().Input)/2, r.Receipt().Matched.N, 20, "half of the bytes are half of the tokens")
}

// Who is known to hold more is taken before who was sent less.
func TestPending_counts_beside_what_is_known(t *testing.T) {
	for known, want := range map[uint64]core.WorkerID{1999: "e3", 2000: "e3", 1500: "e2"} {
		m := indexed(t, "")
		_, id := m.goes(short(), wire.Lookup{Outcome: wire.LookupHit, Blocks: 2000, Depths: []wire.Depth{{Worker: "e2", Blocks: 1100}}})
		require.Equal(t, core.WorkerID("e2"), id)
		hit := wire.Lookup{Outcome: wire.LookupHit, Blocks: 2000, Depths: []wire.Depth{{Worker: "e3", Blocks: known}}}
		_, id = m.goes(short(), hit)
		require.Equal(t, want, id, "%d of 2000 blocks", known)
		require.Equal(t, known < 1999, m.Counters[PendingPrefixes] == 1)
	}
}

// Nobody knows: load decides, whatever was sent.
func TestPending_leaves_unavailable_unavailable(t *testing.T) {
	for name, l := range map[string]wire.Lookup{
		"unavailable": {Outcome: wire.LookupUnavailable, Blocks: 2000},
		"no blocks":   {Outcome: wire.LookupMiss},
	} {
		m := indexed(t, "")
		m.goes(short(), miss)
		r, _ := m.goes(short(), l)
		require.Equal(t, l.Blocks == 0, r.Receipt().Reason == core.ReasonNoCacheCandidate, name)
		require.Equal(t, l.Blocks > 0, r.Receipt().Reason == core.ReasonCacheUnavailable, name)
		require.Zero(t, m.Counters[PendingPrefixes], name)
	}
}

func TestPending_ends(t *testing.T) {
	for name, end := range map[string]func(m *machine, r *Request){
		"in time": func(m *machine, _ *Request) { m.now += spec.DefaultPending },
		"by a refusal": func(m *machine, r *Request) {
			r.Step(&Event{Kind: EventResponse, Now: m.now, Status: 429})
		},
		"with a connection that fails": func(m *machine, r *Request) {
			r.Step(&Event{Kind: EventResponse, Now: m.now, Status: 503, Failure: true})
		},
		"with the engine": func(m *machine, r *Request) {
			for i := range 4 {
				again := engine(i)
				again.Generation = 2
				m.apply(wire.SyncReply{Workers: []wire.Worker{again}})
			}
		},
	} {
		m := indexed(t, "")
		r, id := m.goes(short(), miss)
		end(m, r)
		r, _ = m.goes(short(), miss)
		require.Equal(t, core.ReasonNoCacheCandidate, r.Receipt().Reason, name)
		require.Equal(t, core.Known(0), r.Receipt().Matched, "%s, sent to %s before", name, id)
	}
	m := indexed(t, "")
	r, id := m.goes(short(), miss)
	m.answer(r, 200)
	m.now += spec.DefaultPending - 1
	_, again := m.goes(short(), miss)
	require.Equal(t, id, again, "an answer ends nothing")
}

// reports gives an engine a complete report with so many tokens waiting to be computed.
func (m *machine) reports(id core.WorkerID, uncached uint64) {
	m.t.Helper()
	m.apply(wire.SyncReply{States: []wire.WorkerState{{ID: id, Generation: 1, HasReport: true, Report: core.LoadReport{
		Running: core.Known(0), Waiting: core.Known(0), WaitingUncached: core.Known(uncached), KVUsed: core.Known(0), KVTotal: core.Known(0),
		KVCapacity: core.Known(1 << 20), RunningCapacity: core.Known(64),
	}}}})
}

// What is pending is held to the rules of what is known.
func TestPending_follows_the_policys_rules(t *testing.T) {
	t.Run("thresholds", func(t *testing.T) {
		m := indexed(t, `,"min_match_ratio":1`)
		m.goes(short(), miss)
		r, _ := m.goes(short(), miss)
		require.Equal(t, core.ReasonNoCacheCandidate, r.Receipt().Reason)
	})
	t.Run("queue gate", func(t *testing.T) {
		m := indexed(t, `,"worker_queue_limit":2`)
		_, id := m.goes(short(), miss)
		m.apply(wire.SyncReply{States: []wire.WorkerState{{ID: id, Generation: 1, HasReport: true, Report: core.LoadReport{Waiting: core.Known(2)}}}})
		_, other := m.goes(short(), miss)
		require.NotEqual(t, id, other)
		require.Equal(t, uint64(1), m.Counters[firstCache+Counter(core.CacheWorkerQueued)])
	})
	t.Run("pressure guard", func(t *testing.T) { // of two holders the one with a far shorter queue
		for name, tt := range map[string]struct {
			known    uint64
			settings string
			switched bool
		}{
			"one that holds a little less": {1990, "", true},
			"one within the margin":        {1500, "", true},
			"one beyond the margin":        {1500, `,"switch_margin_tokens":100`, false},
			"nobody else, and a long wait": {0, "", false},
			"the guard is off":             {1990, `,"pressure_guard":false`, false},
		} {
			m := indexed(t, tt.settings)
			_, id := m.goes(short(), miss)
			for i := range 4 {
				m.reports(core.WorkerID(fmt.Sprint("e", i)), 0)
			}
			m.reports(id, 50_000)
			other, l := core.WorkerID("e3"), miss
			if id == other {
				other = "e2"
			}
			if tt.known > 0 {
				l = hit(wire.Depth{Worker: other, Blocks: tt.known})
			}
			r, to := m.goes(short(), l)
			require.Equal(t, tt.switched, to == other, name)
			require.Equal(t, !tt.switched, to == id, "%s: what is pending is no reason to compute a third time", name)
			require.Equal(t, tt.switched, m.Counters[firstGuard+Counter(core.GuardSwitched)] == 1, name)
			require.Equal(t, !tt.switched, r.Receipt().Prefix.Certainty == receipt.CertaintyPending, name)
		}
	})
	t.Run("admission", func(t *testing.T) {
		m := indexed(t, `,"admission":{"max_inflight_requests":1}`)
		m.goes(short(), miss)
		r, call := m.asks(short())
		l := miss
		l.Source = "local"
		code, _ := refusal(t, r.Step(&Event{Kind: EventObserved, Call: call, Observed: &wire.ObserveReply{Lookups: []wire.Lookup{l}}}))
		require.Equal(t, CodePolicySelectionFailed, code, "a holder at its limit is no reason to compute elsewhere")
	})
}

// A selection that is not carried out leaves no trace.
func TestPending_needs_a_whole_selection(t *testing.T) {
	m := remembering(t, byIndex(""), engines(1)...)
	m.goes(short(), miss)
	entries := m.pending.table.Entries()
	other := newTalk(9)
	r, call := m.asks(other)
	gone := engine(0)
	gone.Healthy = false
	m.apply(wire.SyncReply{Workers: []wire.Worker{gone}})
	refusal(t, r.Step(&Event{Kind: EventObserved, Call: call, Observed: &wire.ObserveReply{}}))
	require.Equal(t, entries, m.pending.table.Entries())
}

// A spare engine is picked once the request itself is pending; that is no hit.
func TestPending_counts_each_lookup_once(t *testing.T) {
	m := remembering(t, `"transport_retry":true,`+byIndex(""), engines(4)...)
	r, _ := m.goes(short(), miss)
	require.Equal(t, 2, r.spares)
	require.Zero(t, m.Counters[PendingPrefixes])
	m.goes(short(), miss)
	require.Equal(t, uint64(1), m.Counters[PendingPrefixes])
}

func TestPending_only_where_the_index_is_asked(t *testing.T) {
	require.Nil(t, remembering(t, byHistory, engines(1)...).pending)
	require.Nil(t, remembering(t, oneBucket, engines(1)...).pending)
	both := strings.TrimSuffix(byIndex(""), "}}") + `},"h":{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"cache_aware","source":"history"}}}}]}}`
	fleet := engines(2)
	for i := range fleet {
		fleet[i].Models = append(fleet[i].Models, "h")
	}
	m := remembering(t, both, fleet...)
	m.goes(short(), miss)
	require.Zero(t, m.past.table.Entries())
	r, effects := m.chat(strings.Replace(short().body(), `"m"`, `"h"`, 1))
	require.Equal(t, EffectRoute, effects[0].Kind)
	require.NotZero(t, m.past.table.Entries())
	entries := m.pending.table.Entries()
	r.Step(&Event{Kind: EventResponse, Status: 500})
	require.Zero(t, m.past.table.Entries())
	require.Equal(t, entries, m.pending.table.Entries())
}

// Beside what the call costs, what is pending allocates nothing.
func TestPending_allocates_nothing(t *testing.T) {
	cost := func(m *machine) float64 {
		request := requestOf(chatBody(16 << 10))
		reply := &wire.ObserveReply{Lookups: []wire.Lookup{{Source: "local", Outcome: wire.LookupMiss, Blocks: 2000}}}
		play := func() {
			r := m.NewRequest()
			r.Step(&request.headers)
			call := r.Step(&request.body)[0].Call
			r.Step(&Event{Kind: EventObserved, Call: call, Observed: reply})
			r.Step(&request.response)
			r.Step(&request.done)
		}
		for range 5 {
			play()
		}
		return testing.AllocsPerRun(100, play)
	}
	with, without := indexed(t, ""), indexed(t, "")
	without.pending = nil
	require.Equal(t, cost(without), cost(with))
}
