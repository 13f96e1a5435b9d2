package e2e

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// cacheBurst: a burst with one cold prefix is computed by one engine for each of the two
// workers of the proxy. All requests are there before any is computed, so no engine has
// told of it yet.
func cacheBurst(r *rig) {
	for round := range 3 {
		used := r.burst(8, prefixOf("burst", round))
		require.LessOrEqual(r.t, len(used), 2, "%v", used)
	}
}

// burst sends chats with one system prompt that meet at their engines, and counts them
// by engine.
func (r *rig) burst(n int, system string) map[string]int {
	r.t.Helper()
	before := map[string]int64{}
	for _, e := range r.fleet.Engines() {
		e.Hang(fakes.HangInference)
		before[e.Name()] = e.Counters().Received
	}
	defer r.heal()
	var clients sync.WaitGroup
	statuses := make([]int, n)
	for i := range n {
		body := turnBody(r.t, system, fmt.Sprint("question ", i))
		clients.Go(func() { statuses[i] = r.fresh([]byte(body)).status })
	}
	used := map[string]int{}
	r.eventually(func() bool {
		clear(used)
		sum := 0
		for _, e := range r.fleet.Engines() {
			if n := int(e.Counters().Received - before[e.Name()]); n > 0 {
				used[e.Name()] = n
				sum += n
			}
		}
		return sum == n
	}, "the requests do not all come to engines")
	r.heal()
	clients.Wait()
	for _, status := range statuses {
		require.Equal(r.t, http.StatusOK, status)
	}
	return used
}

// heal lets all engines go on.
func (r *rig) heal() {
	for _, e := range r.fleet.Engines() {
		require.NoError(r.t, e.Heal())
	}
}
