package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// burstModels are policies under which a burst with one cold prefix stays together: by the
// index, the same as it is shipped, and by history where all of a prompt binds. With the
// private_match that history has unless told otherwise, a prefix that three prompts have
// gone on from is spread by load, computed or not (design section 5b).
func burstModels(t *testing.T) map[string]string {
	return map[string]string{
		"m":       fmt.Sprintf(`{"type": "cache_aware", "worker_queue_limit": %d}`, queueLimit),
		"shipped": recommended(t),
		"history": `{"type": "cache_aware", "source": "history", "private_match": false}`,
	}
}

// cacheBurst: a burst with one cold prefix is computed by one engine for each of the two
// workers of the proxy. All requests are there before any is computed, so no engine has
// told of it yet.
func cacheBurst(r *rig) {
	for _, model := range []string{"m", "shipped", "history"} {
		for round := range 3 {
			used := r.burst(8, model, prefixOf(model, round))
			require.LessOrEqual(r.t, len(used), 2, "%s: %v", model, used)
		}
	}
}

// burst sends chats with one system prompt that meet at their engines, and counts them
// by engine.
func (r *rig) burst(n int, model, system string) map[string]int {
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
		body := turnOf(r.t, model, system, fmt.Sprint("question ", i))
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
