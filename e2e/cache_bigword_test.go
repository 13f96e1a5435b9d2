package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// A prompt of one long word, which no tokenizer cuts soon, and one that the state service
// does not take go to an engine without their lookup, and the next prompt has one.
func TestCache_one_long_word(t *testing.T) {
	const unavailable, missed = "pointsman_picks_total_reason=cache_unavailable", "pointsman_picks_total_reason=no_cache_candidate"
	service := fmt.Sprintf("tokenize: {models: {m: {dir: %q, engine: vllm, trust: true, ask_engine: false}}}\n",
		filepath.Join(envoytest.Root(t), ".tokenizers", "qwen3"))
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			fleet, err := fakes.StartFleet(caching(fakes.VLLM, 2)...)
			require.NoError(t, err)
			t.Cleanup(fleet.StopAll)
			b := &backend{fleet: fleet, state: newStateWith(t, fleet, service)}
			b.state.start()
			f := b.newFront(t, h, frontSetup{models: cachePolicy(""), sync: patient})
			f.awaitWorkers()
			f.eventually(func() bool {
				return f.lookup("local", chatBody("m", 20)).Outcome != wire.LookupUnavailable
			}, "the state service looks no prompt up")
			for i, size := range []int{4<<20 - 1000, 5 << 20} {
				before := f.counter(unavailable)
				a := f.post(turnBody(t, "", strings.Repeat("a", size)))
				require.Equal(t, http.StatusBadRequest, a.status)
				require.Contains(t, a.body, "shorten the prompt", "the engine says what is too long for it")
				f.eventually(func() bool { return f.counter(unavailable) == before+1 }, "a word of %d bytes was looked up", size)

				before = f.counter(missed)
				a = f.post(turnBody(t, "", fmt.Sprintf("Question %d?", i)))
				require.Equal(t, http.StatusOK, a.status, a.body)
				f.eventually(func() bool { return f.counter(missed) == before+1 }, "the next prompt has no lookup")
			}
		})
	}
}
