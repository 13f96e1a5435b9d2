package e2e

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// tieredModels has a small bucket on one engine and a large one on another,
// each of which takes one request at a time.
const tieredModels = `{"m": {"buckets": [
	{"id": "long",  "groups": {"plain": {"worker_ids": ["engine-1"], "policy": {"type": "power_of_two", "admission": {"max_inflight_requests": 1}}}}},
	{"id": "short", "rank": 9, "limits": {"max": 200}, "max_context_tokens": 300,
	                "groups": {"plain": {"worker_ids": ["engine-0"], "policy": {"type": "round_robin", "admission": {"max_inflight_requests": 1}}}}}
]}}`

func TestBuckets(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fakes.Replicate(fakes.Config{Models: []string{"m"}, MaxModelLen: 1 << 20}, 2), filter: tieredModels})

			// Small prompts take the small bucket although the large one has the lower rank; large ones cannot.
			require.Equal(t, "engine-0", r.chat("m", 100).engine())
			require.Equal(t, "engine-1", r.chat("m", 4000).engine())
			// A small prompt with a large output budget does not fit the small bucket's context.
			require.Equal(t, "engine-1", r.post(strings.Replace(chatBody("m", 100), `"max_tokens":2`, `"max_tokens":400`, 1)).engine())

			// While the small bucket is full, small prompts overflow into the large one; when both are, they are refused.
			first := r.hold("m", 0)
			second := r.hold("m", 1)
			r.requireRefused(r.chat("m", 100), 503, "policy_selection_failed")
			r.requireRefused(r.chat("m", 4000), 503, "policy_selection_failed")
			first()
			require.Equal(t, "engine-0", r.chat("m", 100).engine())
			second()
			require.Equal(t, "engine-1", r.chat("m", 4000).engine())
		})
	}
}

// hold sends a small request that engine i, the expected one, does not finish
// until the returned function is called.
func (r *rig) hold(model string, i int) (release func()) {
	r.t.Helper()
	engine := r.engine(i)
	before := engine.Counters().Received
	engine.Hang(fakes.HangInference)
	served := make(chan string, 1)
	go func() { served <- r.chat(model, 100).engine() }()
	r.eventually(func() bool { return engine.Counters().Received == before+1 }, "the request did not reach %s", engine.Name())
	return func() {
		r.t.Helper()
		require.NoError(r.t, engine.Heal())
		require.Equal(r.t, engine.Name(), <-served)
	}
}
