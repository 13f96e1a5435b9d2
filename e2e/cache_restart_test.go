package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// cacheRestart: a restarted engine holds nothing. Neither what the index knew of it nor
// what the filter has just sent it attracts requests any more.
func cacheRestart(r *rig) {
	t, lost := r.t, r.engine(2)
	prefixes := r.stored(lost, "lost", 12)
	require.Equal(t, map[string]int{lost.Name(): len(prefixes)}, r.homes(prefixes))
	require.NotZero(t, r.held(lost, turnBody(t, prefixes[0], "third")))
	generation := r.generation(lost)
	lost.Stop()
	require.NoError(t, lost.Start(""))
	r.eventually(func() bool {
		return r.generation(lost) > generation && r.held(lost, turnBody(t, prefixes[0], "third")) == 0
	}, "the restart is not seen")
	for i, prefix := range prefixes { // all go with the first
		require.Zero(t, r.held(lost, turnBody(t, prefix, "third")), "prefix %d", i)
	}
	r.awaitSynced()
	used := map[string]int{}
	for _, prefix := range prefixes {
		a := r.ask(prefix, "third")
		require.Zero(t, usageOf(t, a).PromptTokensDetails.CachedTokens)
		used[a.worker()]++
	}
	require.Greater(t, len(used), 1, "all still go to one engine: %v", used)
}

// held is how many tokens of a chat the index finds at an engine.
func (r *rig) held(e *fakes.Engine, body string) uint64 {
	r.t.Helper()
	for _, d := range r.lookup("local", body).Depths {
		if string(d.Worker) == e.Name() {
			return d.Blocks
		}
	}
	return 0
}

// generation is which life of an engine the state service knows of, once it is up.
func (r *rig) generation(e *fakes.Engine) uint64 {
	r.t.Helper()
	var doc struct {
		Workers []struct {
			ID         string
			Healthy    bool
			Generation uint64
		}
	}
	require.NoError(r.t, json.Unmarshal([]byte(r.ofState("/v1/workers")), &doc))
	for _, w := range doc.Workers {
		if w.ID == e.Name() && w.Healthy {
			return w.Generation
		}
	}
	return 0
}

// awaitSynced waits until every context of the proxy has taken over what the state
// service knows at the time of the call: several more reports than there are contexts.
func (r *rig) awaitSynced() {
	r.t.Helper()
	const applied = `pointsman_state_syncs_total{result="applied"} `
	count := func() (n int) {
		_, rest, _ := strings.Cut(r.ofState("/metrics"), applied)
		_, _ = fmt.Sscan(rest, &n)
		return n
	}
	before := count()
	r.eventually(func() bool { return count() >= before+8 }, "contexts do not sync")
}

// ofState gets a page of the state service.
func (r *rig) ofState(path string) string {
	r.t.Helper()
	resp, err := http.Get("http://" + r.state.addr + path)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	return string(page)
}
