package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// parityModels use policies whose choice is fixed by the seed and the order of
// requests.
const parityModels = `{
	"rr":  {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]},
	"rnd": {"buckets": [{"id": "short", "limits": {"max": 200}, "groups": {"plain": {"worker_ids": ["engine-0", "engine-2"], "policy": {"type": "random"}}}},
	                    {"id": "long", "limits": {"max": 4000}, "groups": {"plain": {"policy": {"type": "power_of_two", "choices": 3}}}}]}
}`

// transcript sends the same requests one after the other and writes down what
// came back.
func transcript(r *rig) []string {
	var lines []string
	note := func(what string, a answer) {
		lines = append(lines, fmt.Sprintf("%s: %d engine=%s code=%s type=%s retry=%s length=%d", what, a.status, a.engine(), a.code(),
			a.header.Get("content-type"), a.header.Get("retry-after"), lengthOf(a)))
	}
	for i := range 12 {
		note("rr", r.chat("rr", 100*i))
		note("rnd", r.chat("rnd", 300*i))
	}
	note("over-long", r.chat("rnd", 40000))
	note("stream", r.post(strings.Replace(chatBody("rr", 50), `"model"`, `"stream":true,"model"`, 1)))
	note("completion", r.do(http.MethodPost, "/v1/completions", jsonHeader(), strings.NewReader(`{"model":"rr","prompt":"a b c","max_tokens":2}`)))
	note("unknown", r.chat("nobody", 10))
	note("broken", r.post(`{"model":`))
	note("twice", r.post(`{"model":"rr","model":"rr"}`))
	note("empty", r.do(http.MethodPost, "/v1/chat/completions", jsonHeader(), nil))
	note("models", r.get("/v1/models"))
	note("engine's own error", r.post(`{"model":"rr","messages":"none"}`))
	note("rr after all that", r.chat("rr", 10))
	return lines
}

// lengthOf is the length of answers made by the router; an engine's differ in
// their ids.
func lengthOf(a answer) int {
	if a.engine() != "" {
		return 0
	}
	return len(a.body)
}

// The same requests get the same statuses, headers and engines on every host.
func TestParity(t *testing.T) {
	var want []string
	for _, h := range hosts() {
		t.Run(h.name, func(t *testing.T) {
			r := newRig(t, h, setup{
				engines: fakes.Replicate(fakes.Config{Models: []string{"rr", "rnd"}, MaxModelLen: 1 << 20}, 4),
				filter:  parityModels, extra: `"seed":11,`, seed: 11,
			})
			got := transcript(r)
			if want == nil {
				want = got
				for _, engine := range []string{"engine-0", "engine-1", "engine-2", "engine-3"} {
					require.Contains(t, strings.Join(got, "\n"), engine)
				}
			}
			require.Equal(t, want, got)
		})
	}
}
