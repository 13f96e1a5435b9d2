package convert

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// flagCase is a flag of engine-selection.md 18, 9.1 or 2.7 with a command line
// that uses it and what must come of it: a value in the configuration, a
// refusal, or a note.
type flagCase struct {
	flag    string
	args    []string
	path    string // in the configuration
	want    string // JSON there, or part of the refusal or note
	refused bool
}

const (
	plainPolicy  = "models.m.buckets.0.groups.plain.policy."
	decodePolicy = "models.m.buckets.0.groups.pd.decode.policy."
)

func serverCases() []flagCase {
	return []flagCase{
		{flag: "--host", args: static("--host 0.0.0.0"), want: "listener"},
		{flag: "--port", args: static("--port 80"), want: "listener"},
		{flag: "--model-id", args: static(""), path: "models.m.buckets.0.id", want: `"plain"`},
		{flag: "--tokenizer-path", args: static("--tokenizer-path x"), want: "tokenize.models.<model>.dir"},
		{flag: "--disable-input-ids-forwarding", args: static("--disable-input-ids-forwarding"), want: "token ids"},
		{flag: "--override-sampling-params", args: static(`--override-sampling-params {"top_k":-1}`), path: "models.m.sampling.override.top_k", want: "-1"},
		{flag: "--sampling-param-conflict", args: static(`--override-sampling-params {"n":1} --sampling-param-conflict allow`), path: "models.m.sampling.conflict", want: `"allow"`},
		{flag: "--shutdown-drain-secs", args: static("--shutdown-drain-secs 3"), want: "drain"},
		{flag: "--termination-grace-secs", args: static("--termination-grace-secs 3"), want: "terminationGracePeriodSeconds"},
		{flag: "--request-timeout-secs", args: static("--request-timeout-secs 3"), want: "timeout of the route"},
		{flag: "--stream-idle-timeout-secs", args: static("--stream-idle-timeout-secs 3"), want: "stream_idle_timeout"},
		{flag: "--stale-request-timeout-secs", args: static("--stale-request-timeout-secs 3"), want: "until its stream ends"},
		{flag: "--log-level", args: static("--log-level warn"), want: "wasm:LEVEL"},
		{flag: "--log-format", args: static("--log-format json"), want: "access log"},
		{flag: "--worker-urls", args: static(""), path: "workers.1.address", want: `"10.0.0.8:8000"`},
		{flag: "--service-discovery", args: discovered(""), path: "state.cluster", want: `"pointsman_state"`},
		{flag: "--service-discovery-namespace", args: discovered("--service-discovery-namespace a"), want: "state service"},
		{flag: "--selector", args: discovered(""), want: "state service"},
		{flag: "--prefill-selector", args: paired(""), path: "models.m.buckets.0.groups.pd.prefill.policy.type", want: `"round_robin"`},
		{flag: "--decode-selector", args: paired(""), path: decodePolicy + "type", want: `"power_of_two"`},
	}
}

func policyCases() []flagCase {
	return []flagCase{
		{flag: "--chat-routing", args: static("--chat-routing reorg"), path: plainPolicy + "type", want: `"power_of_two"`},
		{flag: "--policy", args: static("--policy load_based"), path: plainPolicy + "type", want: `"load_based"`},
		{flag: "--decode-policy", args: paired("--decode-policy power_of_n --power-of-n-choices 5"), path: decodePolicy + "choices", want: "5"},
		{flag: "--power-of-n-choices", args: static("--policy power_of_n --power-of-n-choices 5"), path: plainPolicy + "choices", want: "5"},
		{flag: "--bucket-config", args: static("--bucket-config legacy-plain.json"), path: plainPolicy + "admission.max_pending_prefill_tokens", want: "32768"},
		{flag: "--fuse", args: static("--fuse random=1"), refused: true, want: "power_of_n"},
		{flag: "--filter", args: static("--filter overloaded --max-in-flight 7"), path: plainPolicy + "admission.max_inflight_requests", want: "7"},
		{flag: "--max-in-flight", args: paired("--filter overloaded --max-in-flight 7"), path: decodePolicy + "admission.max_inflight_requests", want: "7"},
		{flag: "--prefix-cache-min-share", args: static("--prefix-cache-min-share 0.5"), refused: true, want: "cache_aware"},
		{flag: "--cb-threshold", args: static("--cb-threshold 9"), path: "breaker.threshold", want: "9"},
		{flag: "--cb-cool-down-secs", args: static("--cb-threshold 9 --cb-cool-down-secs 2"), path: "breaker.cool_down_ms", want: "2000"},
		{flag: "--session-id-header", args: static("--policy session_aware --session-id-header x-a"), path: "session.header", want: `"x-a"`},
		{flag: "--session-idle-secs", args: static("--policy session_aware --session-idle-secs 9"), path: "session.idle_secs", want: "9"},
		{flag: "--session-eviction-interval-secs", args: static("--policy session_aware --session-eviction-interval-secs 9"), want: "state service"},
		{flag: "--stable-pair", args: static("--policy session_aware --stable-pair"), refused: true, want: "no backup"},
		{flag: "--affinity-mode", args: static("--policy session_aware --affinity-mode soft"), refused: true, want: "--affinity-mode strict"},
		{flag: "--session-affinity-mode", args: static("--policy session_aware --session-affinity-mode global-rebind"), refused: true, want: "no global modes"},
		{flag: "--routing-key-header", args: static("--policy sticky --routing-key-header x-a"), path: "routing_key.header", want: `"x-a"`},
		{flag: "--sticky-fallback-policy", args: static("--policy sticky --sticky-fallback-policy random"), path: plainPolicy + "fallback", want: `"random"`},
		{flag: "--sticky-idle-secs", args: static("--policy sticky --sticky-idle-secs 9"), path: "routing_key.idle_secs", want: "9"},
		{flag: "--sticky-eviction-interval-secs", args: static("--policy sticky --sticky-eviction-interval-secs 9"), want: "state service"},
		{flag: "--dp-aware", args: discovered("--dp-aware"), path: "models.m.dp_ranks", want: `"always"`},
		{flag: "--no-tokenizer", args: static("--no-tokenizer"), want: "no tokenizer"},
		{flag: "--kv-peer-selector", args: static("--kv-peer-selector a=b"), want: "no router peers"},
		{flag: "--kv-bootstrap-timeout-ms", args: static("--kv-bootstrap-timeout-ms 5"), want: "no router peers"},
		{flag: "--reorg-config", args: static("--reorg-config reorg.json"), path: plainPolicy + "admission.max_kv_tokens", want: "1048576"},
		{flag: "--max-concurrent-requests-per-worker", args: static("--max-concurrent-requests-per-worker 5"), refused: true, want: "--max-in-flight"},
		{flag: "--max-queued-requests", args: static("--max-queued-requests 5"), refused: true, want: "no queue"},
		{flag: "--enable-retry", args: static("--enable-retry"), path: "transport_retry", want: "true"},
		{flag: "--tokenizer-shards", args: static("--tokenizer-shards 5"), want: "no shards"},
		{flag: "--api-profile", args: static("--api-profile x"), refused: true, want: "profile"},
		{flag: "--api-profile-file", args: static("--api-profile-file x"), refused: true, want: "profile"},
		{flag: "--max-output-tokens", args: static("--max-output-tokens 5"), refused: true, want: "max_context_tokens"},
	}
}

func cacheCases() []flagCase {
	cached := func(flags string) []string { return static("--policy cache_aware " + flags) }
	return []flagCase{
		{flag: "--cache-affinity-min-matched-tokens", args: cached("--cache-affinity-min-matched-tokens 0"), path: plainPolicy + "min_matched_tokens", want: "0"},
		{flag: "--cache-affinity-min-match-ratio", args: cached("--cache-affinity-min-match-ratio 0"), path: plainPolicy + "min_match_ratio", want: "0"},
		{flag: "--cache-candidate-min-workers", args: cached("--cache-candidate-min-workers 9"), path: plainPolicy + "candidate_min_workers", want: "9"},
		{flag: "--cache-candidate-ratio", args: cached("--cache-candidate-ratio 1"), path: plainPolicy + "candidate_ratio", want: "1"},
		{flag: "--cache-candidate-max-workers", args: cached("--cache-candidate-max-workers 9"), path: plainPolicy + "candidate_max_workers", want: "9"},
		{flag: "--cache-switch-margin-tokens", args: cached("--cache-switch-margin-tokens 0"), path: plainPolicy + "switch_margin_tokens", want: "0"},
		{flag: "--worker-queue-limit", args: cached("--worker-queue-limit 9"), path: plainPolicy + "worker_queue_limit", want: "9"},
		{flag: "--saturation-queue-floor", args: cached("--worker-queue-limit 9 --saturation-queue-floor 9"), path: plainPolicy + "saturation_queue_floor", want: "9"},
		{flag: "--min-load-choices", args: cached("--min-load-choices 9"), path: plainPolicy + "min_load_choices", want: "9"},
		{flag: "--disable-pressure-guard", args: cached("--disable-pressure-guard"), path: plainPolicy + "pressure_guard", want: "false"},
		{flag: "--pressure-abs-threshold-tokens", args: cached("--pressure-abs-threshold-tokens 0"), path: plainPolicy + "pressure_guard.abs_threshold_tokens", want: "0"},
		{flag: "--pressure-abs-threshold-ms", args: cached("--pressure-abs-threshold-ms 0"), path: plainPolicy + "pressure_guard.abs_threshold_ms", want: "0"},
		{flag: "--pressure-rel-threshold", args: cached("--pressure-rel-threshold 3"), path: plainPolicy + "pressure_guard.rel_threshold", want: "3"},
		{flag: "--cache-prefix-provider", args: cached("--cache-prefix-provider indexer --kv-indexer-endpoint http://10.0.0.5:50051"), path: plainPolicy + "source", want: `"remote"`},
		{flag: "--kv-indexer-endpoint", args: cached("--kv-indexer-endpoint http://10.0.0.5:50051"), path: plainPolicy + "source", want: `"remote"`},
		{flag: "--kv-indexer-query-timeout-ms", args: cached("--kv-indexer-endpoint http://10.0.0.5:50051 --kv-indexer-query-timeout-ms 5"), want: "kv.remote.timeout_ms"},
		{flag: "--kv-indexer-query-max-inflight", args: cached("--kv-indexer-endpoint http://10.0.0.5:50051 --kv-indexer-query-max-inflight 5"), want: "kv.remote.max_inflight"},
	}
}

func TestFlags_each_one_does_what_the_table_says(t *testing.T) {
	var tested []string
	for _, tc := range slices.Concat(serverCases(), policyCases(), cacheCases()) {
		tested = append(tested, tc.flag)
		t.Run(tc.flag, func(t *testing.T) { tc.run(t) })
	}
	var known []string
	for _, f := range Flags() {
		known = append(known, f.Name)
		require.NotEmpty(t, f.To, f.Name)
		require.Equal(t, f.Fate == Refused, f.Reason != "", f.Name)
	}
	require.ElementsMatch(t, tested, known, "flags of the reference and of the table")
}

func (tc *flagCase) run(t *testing.T) {
	t.Helper()
	c, err := undecoded(tc.args, options())
	require.NoError(t, err)
	switch {
	case tc.refused:
		about := slices.IndexFunc(c.result.Refusals, func(r Refusal) bool {
			return strings.HasPrefix(r.Flag, tc.flag) && strings.Contains(r.String(), tc.want)
		})
		require.GreaterOrEqual(t, about, 0, c.result.Refusals)
		return
	case tc.path != "":
		require.Equal(t, tc.want, gjson.GetBytes(c.result.Config, tc.path).Raw, "%s", c.result.Config)
	default:
		about := slices.IndexFunc(c.result.Notes, func(n Note) bool { return n.Flag == tc.flag && strings.Contains(n.Text, tc.want) })
		require.GreaterOrEqual(t, about, 0, c.result.Notes)
	}
	require.Empty(t, c.result.Refusals)
}

// A flag that only some policies read is refused beside any other.
func TestFlags_of_another_policy_are_refused(t *testing.T) {
	for _, f := range Flags() {
		if f.policies == nil || f.Fate == Refused {
			continue
		}
		flags := "--policy random " + f.Name
		if f.Value != "" {
			flags += " " + goodValue(&f)
		}
		c, err := undecoded(static(flags), options())
		require.NoError(t, err, f.Name)
		require.True(t, slices.ContainsFunc(c.result.Refusals, func(r Refusal) bool { return r.Flag == f.Name }), f.Name)
	}
}

func goodValue(f *Flag) string {
	if f.choices != nil {
		return f.choices[0]
	}
	return "2"
}

func TestFlags_that_attach_policies_contradict_a_file(t *testing.T) {
	for _, f := range Flags() {
		if !f.attaches || f.Fate == Refused {
			continue
		}
		flags := "--reorg-config reorg.json " + f.Name
		if f.Value != "" {
			flags += " " + goodValue(&f)
		}
		c, err := undecoded(static(flags), options())
		require.NoError(t, err, f.Name)
		require.True(t, slices.ContainsFunc(c.result.Refusals, func(r Refusal) bool { return r.Flag == f.Name && strings.Contains(r.Reason, "--reorg-config") }), f.Name)
	}
}
