package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stateInForce is the line of a state service that is configured no further.
const stateInForce = "state: timeout_ms=1000 observe_timeout_ms=150 bind_timeout_ms=150 call_stream=false pending_prefix_ms=5000"

func inForce(t *testing.T, doc string) []string {
	t.Helper()
	return Defaults(everything(t, doc)).InForce()
}

// A40: a setting is said with its value, written down or not.
func TestA40_settings_in_force(t *testing.T) {
	for members, want := range map[string]string{
		`"type": "random"`:       `random`,
		`"type": "round_robin"`:  `round_robin`,
		`"type": "power_of_two"`: `power_of_two choices=2`,
		`"type": "power_of_two", "choices": 5, "admission": {"max_running_requests": 1, "max_waiting_requests": 2, "max_kv_tokens": 3, "max_pending_prefill_tokens": 4, "max_inflight_requests": 5}`: `power_of_two choices=5 max_running_requests=1 max_waiting_requests=2 max_kv_tokens=3 max_pending_prefill_tokens=4 max_inflight_requests=5`,
		`"type": "consistent_hash", "key": "session"`:                  `consistent_hash key=session load_factor=1.25 load_floor=8`,
		`"type": "consistent_hash", "key": "prefix", "load_factor": 2`: `consistent_hash key=prefix load_factor=2 load_floor=8 prefix_bytes=1024`,
		`"type": "sticky"`:                       `sticky fallback=round_robin`,
		`"type": "sticky", "fallback": "random"`: `sticky fallback=random`,
		`"type": "session_aware"`:                `session_aware`,
		`"type": "cache_aware"`:                  `cache_aware source=local private_match=false min_matched_tokens=1024 min_match_ratio=0 candidate_min_workers=8 candidate_ratio=0.05 candidate_max_workers=32 worker_queue_limit=none saturation_queue_floor=none min_load_choices=2 switch_margin_tokens=1024 abs_threshold_tokens=1024 abs_threshold_ms=none rel_threshold=1.5`,
		`"type": "cache_aware", "source": "history", "private_match": false`:                                                       `cache_aware source=history private_match=false min_matched_tokens=1024 min_match_ratio=0 candidate_min_workers=8 candidate_ratio=0.05 candidate_max_workers=32 worker_queue_limit=none saturation_queue_floor=none min_load_choices=2 switch_margin_tokens=1024 abs_threshold_tokens=1024 abs_threshold_ms=none rel_threshold=1.5`,
		`"type": "cache_aware", "source": "history", "pressure_guard": false`:                                                      `cache_aware source=history private_match=true min_matched_tokens=1024 min_match_ratio=0 candidate_min_workers=8 candidate_ratio=0.05 candidate_max_workers=32 worker_queue_limit=none saturation_queue_floor=none min_load_choices=8 pressure_guard=false`,
		`"type": "cache_aware", "worker_queue_limit": 8, "saturation_queue_floor": 4, "pressure_guard": {"abs_threshold_ms": 2.5}`: `cache_aware source=local private_match=false min_matched_tokens=1024 min_match_ratio=0 candidate_min_workers=8 candidate_ratio=0.05 candidate_max_workers=32 worker_queue_limit=8 saturation_queue_floor=4 min_load_choices=2 switch_margin_tokens=1024 abs_threshold_tokens=1024 abs_threshold_ms=2.5 rel_threshold=1.5`,
	} {
		require.Equal(t, []string{"breaker: threshold=3 cool_down_ms=30000", stateInForce, `model "m": "b0" plain ` + want}, inForce(t, attached("", `"policy": {`+members+`}`)))
	}
	doc := strings.Replace(attached(`"policy": {"type": "random"}, `, ``, `"policy": {"type": "round_robin"}`), `"version": 1`, `"version": 1, "breaker": {"threshold": 5, "cool_down_ms": 70}`, 1)
	require.Equal(t, []string{"breaker: threshold=5 cool_down_ms=70", stateInForce, `model "m": "b0" plain random; "b1" plain round_robin`}, inForce(t, doc))
}

func TestInForce_names_the_stages_of_pairs(t *testing.T) {
	m := Model{
		Policy: &Policy{Type: PolicyRandom}, DecodePolicy: &Policy{Type: PolicyRoundRobin},
		Buckets: []Bucket{{ID: "b", Groups: Groups{PD: &PD{Prefill: &Group{}, Decode: &Group{}}}}},
	}
	require.Equal(t, `"b" prefill random; "b" decode round_robin`, m.inForce())
}

// However much is configured, a line and the number of lines stay bounded.
func TestInForce_is_bounded(t *testing.T) {
	cfg := &Config{Models: map[string]Model{}}
	for i := range 50 {
		var m Model
		for n := range 100 {
			id := fmt.Sprintf("%d-%s", n, strings.Repeat("é\n", 300))
			m.Buckets = append(m.Buckets, Bucket{ID: id, Groups: Groups{Plain: &Group{Policy: &Policy{Type: PolicyCacheAware}}}})
		}
		cfg.Models[fmt.Sprintf("%d-%s", i, strings.Repeat("m\n", 5000))] = m
	}
	lines := cfg.InForce()
	require.Len(t, lines, 1+maxInForceModels+1)
	for _, line := range lines {
		require.LessOrEqual(t, len(line), 1500)
		require.NotContains(t, line, "\n")
	}
	require.Contains(t, lines[1], "; and 98 more groups")
	require.Equal(t, "and 18 more models", lines[len(lines)-1])
}
