package flow

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/stretchr/testify/require"
)

// A request that waits for its length keeps as much of its prompt as the policies look
// at, and goes where it would have gone at once, though the body's memory is used
// again.
func TestObserve_keeps_what_policies_read_of_the_prompt(t *testing.T) {
	const byPrefix = `"models":{"m":{"tokens":%q,"buckets":[{"id":"all","max_context_tokens":100000,"groups":{"plain":{"policy":{"type":"consistent_hash","key":"prefix","prefix_bytes":64}}}}]}}`
	atOnce, waiting := stateful(t, fmt.Sprintf(byPrefix, "estimate")), stateful(t, fmt.Sprintf(byPrefix, "exact"))
	require.Equal(t, 64, waiting.Router.ModelNeeds("m").PromptBytes)
	used := map[string]bool{}
	for i := range 16 {
		body := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"%d %s"}]}`, i, strings.Repeat("word ", 100))
		want, kept := atOnce.homeOf(body)
		require.Empty(t, kept, "it did not wait")
		got, kept := waiting.homeOf(body)
		require.Len(t, kept, 64)
		require.Equal(t, want, got)
		used[got] = true
	}
	require.Greater(t, len(used), 1)
}

// Nothing is kept for policies that do not read it.
func TestObserve_keeps_no_prompt_that_nobody_reads(t *testing.T) {
	m := stateful(t, `"models":{"m":{"tokens":"exact","buckets":[{"id":"all","max_context_tokens":100000,"groups":{"plain":{"policy":{"type":"power_of_two"}}}}]}}`)
	_, kept := m.homeOf(chatBody(4 << 10))
	require.Empty(t, kept)
}

// stateful is a context with a state service behind its callouts and engines.
func stateful(t *testing.T, models string) *machine {
	m := newMachine(t, models, engines(8)...)
	cfg, err := spec.Decode([]byte(`{"version":1,"state":{"cluster":"s"},` + models + `}`))
	require.NoError(t, err)
	m.UseState(StateOf(spec.Defaults(cfg), m.Router, &Views{}, 1))
	return m
}

// homeOf is where a request goes, and what it kept of its prompt while it waited.
func (m *machine) homeOf(body string) (address, kept string) {
	r := m.NewRequest()
	headers := m.headers()
	r.Step(&headers)
	memory := []byte(body)
	effects := r.Step(&Event{Kind: EventBody, Now: m.now, Body: unsafe.String(&memory[0], len(memory))})
	clear(memory)
	if effects[0].Kind == EffectObserve {
		kept = r.bucket.Prompt
		effects = r.Step(&Event{Kind: EventObserved, Now: m.now, Call: effects[0].Call, Observed: counted(9)})
	}
	at := slices.IndexFunc(effects, func(e Effect) bool { return e.Kind == EffectRoute })
	require.GreaterOrEqual(m.t, at, 0, "it is not routed")
	address = effects[at].Endpoint
	r.Step(&Event{Kind: EventDone, Now: m.now})
	return address, kept
}
