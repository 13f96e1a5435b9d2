package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
)

// A40: the filter logs the settings it works by when it starts, those that nobody
// wrote down included.
func TestA40_log_of_the_settings_in_force(t *testing.T) {
	const doc = `{"version":1,"seed":1,"breaker":{"threshold":5},"state":{"cluster":"pointsman_state"},"models":{
		"m":{"policy":{"type":"power_of_two","admission":{"max_inflight_requests":8}},"buckets":[
			{"id":"short","max_context_tokens":4096,"groups":{"plain":{}}},{"id":"long","groups":{"plain":{"policy":{"type":"sticky"}}}}]},
		"n":{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"consistent_hash","key":"session"}}}}]}}}`
	w := newVM(t, "", func(o *hostsim.VMOptions) { o.PluginConfig = []byte(doc) })
	require.Len(t, w.logs, 5)
	require.Regexp(t, `^filter \S+ \(.*\): models 2, endpoint mode override_host, state cluster pointsman_state, sync every 200 ms, body limit 33554432 bytes, body time-out 60000 ms, on_no_state reject$`, w.logs[0])
	require.Equal(t, []string{
		`breaker: threshold=5 cool_down_ms=30000`,
		`state: timeout_ms=1000 observe_timeout_ms=150 bind_timeout_ms=150 call_stream=false pending_prefix_ms=5000`,
		`model "m": "short" plain power_of_two choices=2 max_inflight_requests=8; "long" plain sticky fallback=round_robin`,
		`model "n": "all" plain consistent_hash key=session load_factor=1.25 load_floor=8`,
	}, w.logs[1:])
}
