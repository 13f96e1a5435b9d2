package flow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// fleetOf is n engines, all with native reports.
func fleetOf(t testing.TB, policy string, n int) *machine {
	t.Helper()
	m := newMachine(t, strings.Replace(oneBucket, "round_robin", policy, 1), engines(n)...)
	var states []wire.WorkerState
	for i := range n {
		states = append(states, wire.WorkerState{ID: engine(i).ID, Generation: 1, OthersInflight: uint32(i % 7), HasReport: true, Report: core.LoadReport{
			Running: core.Known(uint64(i % 5)), Waiting: core.Known(0), WaitingUncached: core.Known(uint64(i % 900)),
			KVUsed: core.Known(5), KVTotal: core.Known(5), KVCapacity: core.Known(1000), RunningCapacity: core.Known(64), PrefillRate: 900,
		}})
	}
	m.apply(wire.SyncReply{States: states})
	return m
}

// events are those of one routed request.
type events struct{ headers, body, response, done Event }

func requestOf(body string) events {
	return events{
		headers:  Event{Kind: EventHeaders, Method: "POST", Path: chatPath, SessionHeader: "session-42", ContentLength: core.Known(uint64(len(body)))},
		body:     Event{Kind: EventBody, Body: body},
		response: Event{Kind: EventResponse, Status: 200},
		done:     Event{Kind: EventDone},
	}
}

func (m *machine) play(e *events) {
	r := m.NewRequest()
	r.Step(&e.headers)
	r.Step(&e.body)
	r.Step(&e.response)
	r.Step(&e.done)
}

func chatBody(size int) string {
	return `{"messages":[{"role":"user","content":"` + strings.Repeat("lorem ipsum ", size/12) + `"}],"model":"m","max_tokens":16}`
}

// In steady state a request allocates nothing, receipt and charge included.
func TestAllocations_of_a_routed_request(t *testing.T) {
	for _, policy := range []string{"round_robin", "random", "power_of_two", "load_based", `consistent_hash","key":"session`, `consistent_hash","key":"prefix`} {
		m := fleetOf(t, policy, 100)
		request := requestOf(chatBody(4 << 10))
		m.play(&request)
		require.Zero(t, testing.AllocsPerRun(200, func() { m.play(&request) }), "by body, %s", policy)
		m.headerOnly = true
		require.Zero(t, testing.AllocsPerRun(200, func() { m.play(&request) }), "by headers, %s", policy)
	}
}

func BenchmarkRequest(b *testing.B) {
	for _, policy := range []string{"round_robin", "power_of_two", "load_based", `consistent_hash","key":"session`} {
		name, _, _ := strings.Cut(policy, `"`)
		for _, n := range []int{4, 100, 1000} {
			b.Run(fmt.Sprintf("policy=%s/workers=%d/size=4k", name, n), func(b *testing.B) {
				m := fleetOf(b, policy, n)
				request := requestOf(chatBody(4 << 10))
				b.ReportAllocs()
				for b.Loop() {
					m.play(&request)
				}
			})
			b.Run(fmt.Sprintf("policy=%s/workers=%d/headers", name, n), func(b *testing.B) {
				m := fleetOf(b, policy, n)
				m.headerOnly = true
				request := requestOf("")
				b.ReportAllocs()
				for b.Loop() {
					m.play(&request)
				}
			})
		}
	}
}

// A request of a known session costs the copy of its prompt beside that of the
// model name; the memo, its calls and the digest are reused.
func TestAllocations_of_a_bound_request(t *testing.T) {
	s := newScene(t, engines(100)...)
	s.plain("all", 1<<20, "e0", "e1", "e2")
	r, effects := s.ask("session-42")
	effects = s.bound(r, s.observed(r, effects))
	require.Equal(t, EffectRoute, effects[0].Kind)
	request := requestOf(chatBody(4 << 10))
	bound := &wire.ObserveReply{}
	for d := range s.store {
		bound.Bindings = append(bound.Bindings, s.store.read(d))
	}
	play := func() {
		r := s.NewRequest()
		r.Step(&request.headers)
		observe := r.Step(&request.body)[0]
		r.Step(&Event{Kind: EventObserved, Call: observe.Call, Observed: bound})
		r.Step(&request.response)
		r.Step(&request.done)
	}
	play()
	require.Zero(t, testing.AllocsPerRun(200, play))
	require.Zero(t, s.Counters[BindsWon]-1, "every request followed the binding")
}
