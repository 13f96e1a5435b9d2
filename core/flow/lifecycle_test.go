package flow

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRouted_request(t *testing.T) {
	m := newMachine(t, oneBucket, engines(2)...)
	r, effects := m.chat(`{"model":"m","max_tokens":3}`)
	require.Equal(t, []Effect{{Kind: EffectRoute, Endpoint: "10.0.0.0:80"}, {Kind: EffectContinue}, {Kind: EffectReceipt}}, effects)
	require.Equal(t, uint64(1), m.Counters[RequestsRouted])
	require.Equal(t, uint64(1), m.Counters[firstPick+Counter(core.ReasonRoundRobin)])
	require.Equal(t, `model="m" input=7 (estimate) peak=10; all picked; chose e0 by round_robin of 2 [e0 in-flight 0 no report, e1 in-flight 0 no report]`, r.Receipt().Describe())
	require.Equal(t, uint64(1), m.inflight())
	require.Empty(t, r.Step(&Event{Kind: EventTick, Now: 1 << 40}), "an answer may take as long as it likes")
	require.Empty(t, r.Step(&Event{Kind: EventResponse, Status: 200}))
	require.Equal(t, uint64(1), m.inflight(), "A45: held while the answer streams")
	require.Empty(t, r.Step(&Event{Kind: EventDone}))
	require.Zero(t, m.inflight())
	require.Equal(t, uint64(1), m.Counters[ChargesReleased])
	require.Zero(t, m.Counters[EngineFailures])
}

func TestReceipt_of_a_brief_context_lists_the_chosen_alone(t *testing.T) {
	m := newMachine(t, oneBucket, engines(12)...)
	m.Brief()
	candidates, n := m.routed().Receipt().Candidates()
	require.Equal(t, 12, n)
	require.Len(t, candidates, 1)
	require.Equal(t, core.WorkerID("e0"), candidates[0].Worker)
}

func TestReceipt_lists_the_chosen_first_and_counts_the_rest(t *testing.T) {
	m := newMachine(t, oneBucket, engines(12)...)
	m.apply(wire.SyncReply{States: []wire.WorkerState{{ID: "e3", Generation: 1, OthersInflight: 4, HasReport: true, AgeMillis: 70}}})
	for range 3 {
		m.routed()
	}
	m.now = 30
	candidates, n := m.routed().Receipt().Candidates()
	require.Equal(t, 12, n)
	require.Len(t, candidates, receipt.MaxCandidates)
	var ids []core.WorkerID
	for _, c := range candidates {
		ids = append(ids, c.Worker)
	}
	require.Equal(t, []core.WorkerID{"e11", "e0", "e1", "e10", "e2", "e3", "e4", "e5"}, ids) // in byte order e11 is the fourth
	require.Equal(t, receipt.Candidate{Worker: "e0", Inflight: 1}, candidates[1])
	require.Equal(t, receipt.Candidate{Worker: "e3", Inflight: 4, ReportAge: core.Known(100)}, candidates[5])
	require.Equal(t, receipt.Candidate{Worker: "e11"}, candidates[0], "as it was before it took this request")
}

func TestResponse_drives_the_breaker(t *testing.T) {
	for name, tt := range map[string]struct {
		response Event
		end      fleet.End
		failures uint64
		opens    bool
	}{
		"good":                   {Event{Status: 200}, fleet.EndComplete, 0, false},
		"client's fault (B01)":   {Event{Status: 404}, fleet.EndComplete, 0, false},
		"back-pressure (B02)":    {Event{Status: 503}, fleet.EndComplete, 0, false},
		"failure":                {Event{Status: 500}, fleet.EndComplete, 3, true},
		"unreachable":            {Event{Status: 503, Failure: true}, fleet.EndCut, 3, true},
		"cut in the middle":      {Event{Status: 200}, fleet.EndCut, 0, true},
		"client leaves":          {Event{Status: 200}, fleet.EndGone, 0, false},
		"answer of the proxy":    {Event{Status: 504, Own: true}, fleet.EndGone, 0, false},
		"no status is a failure": {Event{}, fleet.EndComplete, 3, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, oneBucket, engines(1)...)
			for range breaker.DefaultThreshold {
				r := m.routed()
				ev := tt.response
				ev.Kind = EventResponse
				require.Empty(t, r.Step(&ev))
				r.Step(&Event{Kind: EventDone, End: tt.end})
			}
			require.Equal(t, tt.failures, m.Counters[EngineFailures])
			require.Equal(t, !tt.opens, m.Fleet.Available(m.Fleet.Serving("m")[0], 0))
			require.Zero(t, m.inflight())
		})
	}
}

// A07, A46, A47: whatever ends a request before its answer, the unit comes back.
func TestA47_release_without_an_answer(t *testing.T) {
	for _, end := range []fleet.End{fleet.EndComplete, fleet.EndCut, fleet.EndGone} {
		m := newMachine(t, oneBucket, engines(3)...)
		for range 100 {
			r := m.routed()
			r.Step(&Event{Kind: EventDone, End: end})
			m.now += breaker.DefaultCoolDown
		}
		require.Zero(t, m.inflight())
		require.Equal(t, uint64(100), m.Counters[ChargesReleased])
	}
}

func TestPool_leaks_nothing_between_requests(t *testing.T) {
	m := newMachine(t, oneBucket, engines(2)...)
	r, effects := m.chat(`{"model":"m","max_tokens":-9}`)
	require.NotEmpty(t, effects[0].Response.Body)
	r.Step(&Event{Kind: EventDone})
	require.Empty(t, effects[0], "what effects carried is let go of")
	again := m.NewRequest()
	require.Same(t, r, again, "the object is used again")
	fresh := &Request{ctx: m.Context, rand: again.rand, effects: again.effects, pcg: again.pcg}
	require.Equal(t, fresh, again)
	require.Equal(t, &receipt.Summary{}, again.Receipt())
	require.False(t, again.Waiting())

	ev := Event{Kind: EventHeaders, Method: "GET", Path: "/"}
	again.Step(&ev)
	again.Step(&Event{Kind: EventDone})
	again.Step(&Event{Kind: EventDone})
	require.Len(t, m.pool, 1, "taken back once")
}

func TestPool_is_bounded(t *testing.T) {
	m := newMachine(t, oneBucket, engines(1)...)
	var burst []*Request
	for range maxPooled + 50 {
		burst = append(burst, m.routed())
	}
	for _, r := range burst {
		m.answer(r, 200)
	}
	require.Len(t, m.pool, maxPooled)
	require.Zero(t, m.inflight())
}

func TestEvents_that_nothing_asks_for(t *testing.T) {
	m := newMachine(t, oneBucket, engines(1)...)
	for _, kind := range []EventKind{EventNone, EventObserved, EventBound, EventBodyPart, EventBody, EventTick, EventResponse, 200} {
		r := m.NewRequest()
		require.Empty(t, r.Step(&Event{Kind: kind}))
		require.Empty(t, r.Step(&Event{Kind: EventDone}))
	}
	require.True(t, m.NeedsReceived())
}

// Names are distinct and of a closed alphabet; no count is lost to a name of
// nothing.
func TestCounter_names(t *testing.T) {
	seen := map[string]bool{}
	for c := range CounterCount {
		name := c.Name()
		require.Regexp(t, `^pointsman_[a-z_]+(=[a-z_]*)?$`, name)
		require.False(t, seen[name], name)
		seen[name] = true
	}
	require.Equal(t, "pointsman_unknown_total", CounterCount.Name())
	require.Equal(t, "none", core.Reason(core.ReasonCount).String(), "counters end with the last reason")
	var counters Counters
	counters.picked(core.Reason(core.ReasonCount))
	require.Zero(t, counters)
}

// D19: a hundred thousand model names leave nothing behind.
func TestD19_unknown_models_are_bounded(t *testing.T) {
	m := newMachine(t, oneBucket, engines(1)...)
	for i := range 100_000 {
		r, _ := m.chat(fmt.Sprintf(`{"model":"random-%d"}`, i))
		r.Step(&Event{Kind: EventDone})
	}
	require.Len(t, m.pool, 1)
	require.Equal(t, uint64(100_000), m.Counters[firstAnswer+Counter(CodeModelNotFound)])
	require.Equal(t, []string{"m"}, m.Fleet.Models())
}

// drive is a stream under random events, with what it has been told so far.
type drive struct {
	r                          *Request
	paused, decided, continued bool
}

func drawEvent(t *rapid.T, m *machine) Event {
	ev := Event{
		Kind:        EventKind(rapid.IntRange(0, int(EventBound)).Draw(t, "kind")),
		Now:         m.now,
		Method:      rapid.SampledFrom([]string{"POST", "POST", "POST", "GET"}).Draw(t, "method"),
		Path:        rapid.SampledFrom([]string{chatPath, chatPath, "/v1/completions", "/v1/models", "/x"}).Draw(t, "path"),
		EndOfStream: rapid.IntRange(0, 9).Draw(t, "end of stream") == 0,
		Size:        rapid.SampledFrom([]uint64{0, 10, 1 << 40}).Draw(t, "size"),
		Body:        rapid.SampledFrom([]string{`{"model":"m"}`, `{"model":"m"}`, `{"model":"x"}`, `{`, ``}).Draw(t, "body"),
		Status:      rapid.SampledFrom([]int{0, 200, 404, 429, 500, 503}).Draw(t, "status"),
		Failure:     rapid.IntRange(0, 4).Draw(t, "failure") == 0,
		Own:         rapid.IntRange(0, 4).Draw(t, "own") == 0,
		End:         rapid.SampledFrom([]fleet.End{fleet.EndComplete, fleet.EndCut, fleet.EndGone}).Draw(t, "end"),
	}
	if rapid.Bool().Draw(t, "received") {
		ev.Received = core.Known(rapid.Uint64Range(0, 200).Draw(t, "bytes"))
	}
	return ev
}

// check holds one step's effects against the order hosts rely on.
func (d *drive) check(t *rapid.T, effects []Effect) {
	for _, e := range effects {
		switch e.Kind {
		case EffectPause:
			require.False(t, d.paused || d.decided)
			d.paused = true
		case EffectRoute:
			require.False(t, d.decided, "decided once")
			require.NotEmpty(t, e.Endpoint)
			d.decided = true
		case EffectRespond:
			require.False(t, d.decided || d.continued, "decided once")
			d.decided = true
		case EffectContinue:
			require.False(t, d.continued)
			d.decided, d.continued = true, true
		case EffectStrip, EffectReceipt:
		case EffectNone, EffectObserve, EffectBind, EffectFault:
			require.Fail(t, "unexpected effect", "%v", e)
		}
	}
}

// I6: any events in any order, of many streams at once, over a fleet that
// changes: each charge is released exactly once.
func TestRelease_is_exactly_once_whatever_happens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, oneBucket, engines(3)...)
		streams := map[int]*drive{}
		next := 0
		end := func(t *rapid.T, i int) {
			d := streams[i]
			delete(streams, i)
			ev := Event{Kind: EventDone, Now: m.now, End: rapid.SampledFrom([]fleet.End{fleet.EndComplete, fleet.EndCut, fleet.EndGone}).Draw(t, "end")}
			for range rapid.IntRange(1, 2).Draw(t, "times") {
				require.Empty(t, d.r.Step(&ev))
			}
		}
		some := func(t *rapid.T) (int, bool) {
			if len(streams) == 0 {
				return 0, false
			}
			i := rapid.IntRange(0, next-1).Draw(t, "stream")
			return i, streams[i] != nil
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) { streams[next], next = &drive{r: m.NewRequest()}, next+1 },
			"event": func(t *rapid.T) {
				if i, ok := some(t); ok {
					ev := drawEvent(t, m)
					if ev.Kind == EventDone {
						end(t, i)
						return
					}
					streams[i].check(t, streams[i].r.Step(&ev))
				}
			},
			"end": func(t *rapid.T) {
				if i, ok := some(t); ok {
					end(t, i)
				}
			},
			"wait": func(t *rapid.T) {
				m.now += core.Instant(rapid.SampledFrom([]int{200, 31_000, 61_000}).Draw(t, "pause"))
			},
			"fleet": func(t *rapid.T) {
				list := engines(rapid.IntRange(0, 3).Draw(t, "engines"))
				for i := range list {
					list[i].Generation = rapid.Uint64Range(1, 2).Draw(t, "generation")
				}
				m.apply(wire.SyncReply{Full: true, Workers: list})
			},
			"": func(t *rapid.T) {
				held := uint64(0)
				for _, d := range streams {
					if d.r.charge.Held() {
						held++
					}
				}
				require.Equal(t, m.Counters[RequestsRouted], m.Counters[ChargesReleased]+held)
				require.LessOrEqual(t, m.inflight(), held, "never below zero, never above what is held")
			},
		})
		for i := range next {
			if streams[i] != nil {
				end(t, i)
			}
		}
		require.Equal(t, m.Counters[RequestsRouted], m.Counters[ChargesReleased])
		m.apply(wire.SyncReply{Full: true, Workers: engines(3)})
		require.Zero(t, m.inflight())
	})
}

// story plays a seeded mixture of requests and writes down every effect.
func story(t *testing.T, policy string, seed uint64) string {
	t.Helper()
	m := newMachine(t, strings.Replace(oneBucket, "round_robin", policy, 1), engines(9)...)
	m.seed = seed
	source := rand.New(rand.NewPCG(1, 2)) // of the events, the same for every seed
	var out strings.Builder
	var open []*Request
	for i := range 400 {
		m.now += core.Instant(source.IntN(300))
		switch source.IntN(4) {
		case 0, 1:
			r, effects := m.chat(`{"model":"m"}`)
			open = append(open, r)
			fmt.Fprintf(&out, "%d %v %s\n", i, effects, r.Receipt().Describe())
		case 2:
			r, effects := m.chat(`{"model":"no"}`)
			fmt.Fprintf(&out, "%d %s\n", i, effects[0].Response.Body)
			r.Step(&Event{Kind: EventDone, Now: m.now})
		case 3:
			if len(open) > 0 {
				at := source.IntN(len(open))
				m.answer(open[at], []int{200, 200, 200, 500}[source.IntN(4)])
				open = append(open[:at], open[at+1:]...)
			}
		}
	}
	fmt.Fprintf(&out, "%v", m.Counters)
	return out.String()
}

func TestDeterminism_same_seed_and_events_give_the_same_bytes(t *testing.T) {
	for _, policy := range []string{"round_robin", "random", "power_of_two"} {
		first := story(t, policy, 1)
		require.Equal(t, first, story(t, policy, 1))
		if policy != "round_robin" {
			require.NotEqual(t, first, story(t, policy, 2), policy)
		}
	}
}
