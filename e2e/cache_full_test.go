package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// queueLimit is how long a queue the policy of these engines does not shun.
const queueLimit = 2

// cacheFull: an engine that others fill past the proxy loses the requests whose prefix it
// alone holds while they queue there, and has such requests again when the queue is gone.
// What went elsewhere meanwhile has two holders from then on, and finds one of them.
func cacheFull(r *rig) {
	const (
		lap    = 6
		laps   = 5
		queued = "pointsman_cache_decisions_total_decision=cache_worker_queued"
	)
	full := r.engine(1)
	prefixes := r.stored(full, "full", lap*laps)
	next := func() (some []string) { // which no other engine holds
		require.GreaterOrEqual(r.t, len(prefixes), lap, "no lap goes as it should")
		some, prefixes = prefixes[:lap], prefixes[lap:]
		return some
	}
	home := map[string]int{full.Name(): lap}
	require.Equal(r.t, home, r.homes(next()))

	before, away := r.counter(queued), 0
	leave := r.crowd(full)
	r.awaitQueue(full, func(waiting uint64) bool { return waiting >= queueLimit })
	var moved []string
	r.inTheEnd(func() bool {
		moved = next()
		stayed := r.homes(moved)[full.Name()]
		away += lap - stayed
		return stayed == 0
	}, "requests are still sent to an engine with a queue")
	r.eventually(func() bool { return r.counter(queued) == before+int64(away) }, "the queue is not what is counted")

	leave()
	r.awaitQueue(full, func(waiting uint64) bool { return waiting == 0 })
	require.Equal(r.t, home, r.homes(next()))
	r.awaitIdle()
	r.awaitStored()
	for _, prefix := range moved {
		require.NotZero(r.t, usageOf(r.t, r.ask(prefix, "third")).PromptTokensDetails.CachedTokens)
	}
	r.awaitNothing(full)
}

// crowd has clients fill an engine past the proxy. There are three for each slot, and each
// asks again when it is answered, so that many wait even when all slots get free at once.
// Who calls leave waits for the last answers; none is given up.
func (r *rig) crowd(e *fakes.Engine) (leave func()) {
	var (
		clients sync.WaitGroup
		over    atomic.Bool
		lost    atomic.Int64
	)
	for i := range 3 * e.Config().Slots {
		body := fmt.Sprintf(`{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"crowd %d"}]}`, i)
		clients.Go(func() {
			for !over.Load() {
				if !r.direct(r.t.Context(), e, body) {
					lost.Add(1)
					return
				}
			}
		})
	}
	return func() {
		r.t.Helper()
		over.Store(true)
		clients.Wait()
		require.Zero(r.t, lost.Load(), "requests past the proxy are not answered")
	}
}

// awaitQueue waits until the state service has read a queue of an engine that is as it
// should be, and every context of the proxy has been told.
func (r *rig) awaitQueue(e *fakes.Engine, good func(waiting uint64) bool) {
	r.t.Helper()
	r.eventually(func() bool {
		waiting := r.state.workers()[e.Name()].Load.Waiting
		return waiting != nil && good(*waiting)
	}, "the queue of an engine is not what it should be")
	r.awaitSynced()
}

// awaitNothing waits until nobody counts a request any more, neither an engine nor the
// filter nor the state service.
func (r *rig) awaitNothing(e *fakes.Engine) {
	r.t.Helper()
	r.awaitIdle()
	load, ok := e.Load()
	require.True(r.t, ok)
	require.Zero(r.t, load.Running+load.Waiting)
	r.eventually(func() bool { return r.counter(countRouted) == r.counter(countReleased) }, "routed and released differ")
	r.awaitInflight(0)
}

// inTheEnd waits longer than eventually, for what takes many requests.
func (r *rig) inTheEnd(so func() bool, format string) {
	r.t.Helper()
	require.Eventually(r.t, so, time.Minute, 20*time.Millisecond, format)
}
