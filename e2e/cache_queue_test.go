package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// cacheQueue: an engine with a queue loses the requests whose prefix it holds, and gets
// them back.
func cacheQueue(r *rig) {
	busy := r.engine(1)
	const lap = 6
	n := 0
	home := func() int { // how many requests of a lap come to the engine, which alone holds their prefixes
		n++
		return r.homes(busy, lap, fmt.Sprint("lap", n, "-"))[busy.Name()]
	}
	require.Equal(r.t, lap, home())
	r.jam(busy)
	r.inTheEnd(func() bool { return home() == 0 }, "requests are still sent to an engine with a queue")
	busy.StuckMetrics(false)
	r.inTheEnd(func() bool { return home() == lap }, "requests do not come back")
}

// homes counts the engines that n requests go to whose prefixes, named by a tag, one
// engine holds and no other.
func (r *rig) homes(holder *fakes.Engine, n int, tag string) map[string]int {
	r.t.Helper()
	for i := range n {
		require.True(r.t, r.direct(context.Background(), holder, turnBody(r.t, prefixOf(tag, i), "first")))
	}
	r.awaitIdle()
	r.awaitStored()
	used := map[string]int{}
	for i := range n {
		a := r.fresh([]byte(turnBody(r.t, prefixOf(tag, i), "second")))
		require.Equal(r.t, http.StatusOK, a.status, a.body)
		used[a.worker()]++
	}
	return used
}

func prefixOf(tag string, i int) string { return wordy(fmt.Sprint(tag, i), 1500) }

// direct sends a request past the proxy, and reports whether it was answered.
func (r *rig) direct(ctx context.Context, e *fakes.Engine, body string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL()+"/v1/chat/completions", strings.NewReader(body))
	require.NoError(r.t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// jam has an engine report a queue from here on, without having one: what it reports
// stays what it is while requests wait there, and these are given up.
func (r *rig) jam(e *fakes.Engine) {
	r.t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	e.SlowBy(1e9)
	for i := range e.Config().Slots + 4 {
		clients.Go(func() { r.direct(ctx, e, turnBody(r.t, "", fmt.Sprint("jam ", i))) })
	}
	r.eventually(func() bool {
		load, ok := e.Load()
		return ok && load.Waiting >= 4
	}, "no queue builds up")
	e.StuckMetrics(true)
	leave()
	clients.Wait()
	e.SlowBy(1)
	r.awaitIdle()
}

// inTheEnd waits longer than eventually, for what takes a reading of the engines' load
// and a sync of every worker.
func (r *rig) inTheEnd(so func() bool, format string) {
	r.t.Helper()
	require.Eventually(r.t, so, time.Minute, 20*time.Millisecond, format)
}
