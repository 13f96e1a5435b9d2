package convert

import (
	"testing"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/stretchr/testify/require"
)

// goldenCase is a command line. Its golden file holds what convert says before
// the filter's decoder is asked, so that it does not depend on which policies
// the filter offers.
type goldenCase struct {
	name    string
	args    []string
	pairs   []Pair
	decodes bool // no refusal, and the filter takes the result
}

func goldenCases() []goldenCase {
	short := Pair{"short", "short"}
	return []goldenCase{
		{"defaults", static(""), nil, true},
		{"reorg-defaults", static("--chat-routing reorg"), nil, true},
		{"random", static("--policy random"), nil, true},
		{"load-based-capped", static("--policy load_based --filter overloaded --max-in-flight 64"), nil, true},
		{"power-of-n", static("--chat-routing reorg --policy power_of_n --power-of-n-choices 4 --filter overloaded --max-in-flight 8 --cb-threshold 5 --cb-cool-down-secs 10"), nil, true},
		{"sampling", static(`--override-sampling-params {"temperature":0.6,"top_p":{"min":0.5,"max":1}}`), nil, true},
		{"sampling-allow", static(`--override-sampling-params {"n":1} --sampling-param-conflict allow`), nil, true},
		{"discovery", discovered("--policy=power_of_two --enable-retry --selector tier=gold"), nil, true},
		{"outside", discovered("--host 0.0.0.0 --port 30000 --tokenizer-path x --shutdown-drain-secs 5 --request-timeout-secs 60 --stream-idle-timeout-secs 20 --stale-request-timeout-secs 30 --log-level debug --log-format json --service-discovery-namespace prod"), nil, true},
		{"addresses", fields("--model-id m --worker-urls http://10.0.0.7 10.0.0.8:1 --worker-urls http://[fd00::1]:8000/"), nil, true},
		{"reorg-file", static("--reorg-config reorg.json"), nil, true},
		{"reorg-file-services", discovered("--reorg-config reorg-services.json"), nil, true},
		{"legacy-file-plain", static("--policy power_of_two --filter overloaded --max-in-flight 9 --bucket-config legacy-plain.json"), nil, true},

		{"session-aware", static("--policy session_aware --session-id-header x-chat --session-idle-secs 30 --session-eviction-interval-secs 5 --affinity-mode strict --session-affinity-mode bucket --filter overloaded --max-in-flight 3"), nil, false},
		{"sticky", discovered("--policy sticky --routing-key-header x-key --sticky-fallback-policy load_based --sticky-idle-secs 5 --sticky-eviction-interval-secs 7"), nil, false},
		{"cache-aware", discovered("--policy cache_aware --cache-affinity-min-matched-tokens 16 --cache-affinity-min-match-ratio 0.5 --cache-candidate-min-workers 2 --cache-candidate-ratio 0.1 --cache-candidate-max-workers 4 --cache-switch-margin-tokens 9 --worker-queue-limit 8 --saturation-queue-floor 4 --min-load-choices 3 --pressure-abs-threshold-tokens 7 --pressure-abs-threshold-ms 1.5 --pressure-rel-threshold 2 --cache-prefix-provider radix_tree"), nil, false},
		{"cache-aware-indexer", discovered("--policy cache_aware --cache-prefix-provider indexer --kv-indexer-endpoint http://10.0.0.5:50051 --kv-indexer-query-timeout-ms 50"), nil, false},
		{"cache-aware-indexer-unused", discovered("--policy cache_aware --cache-prefix-provider indexer --kv-indexer-query-max-inflight 0"), nil, false},
		{"cache-aware-indexer-twice", discovered("--policy cache_aware --cache-prefix-provider radix_tree --kv-indexer-endpoint http://10.0.0.5:50051"), nil, false},
		{"reorg-file-indexer", discovered("--reorg-config reorg-indexer.json"), nil, true},
		{"cache-aware-no-guard", discovered("--policy cache_aware --disable-pressure-guard"), nil, false},
		{"cache-aware-defaults", discovered("--policy cache_aware --cache-affinity-min-matched-tokens 1024 --cache-candidate-ratio 0.05 --pressure-rel-threshold 1.5 --min-load-choices 2"), nil, false},
		{"prefill-decode", paired("--policy cache_aware --decode-policy power_of_two --filter overloaded --max-in-flight 12"), nil, false},
		{"prefill-decode-reorg", paired("--chat-routing reorg --power-of-n-choices 3"), nil, false},
		{"legacy-file-pairs", discovered("--policy power_of_two --filter overloaded --max-in-flight 9 --bucket-config legacy-pd.json"), []Pair{short, {"long-p", "long-d"}}, false},
		{"reorg-file-pd", discovered("--reorg-config reorg-pd.json"), nil, false},

		{"dropped", static("--policy fused_score --fuse random=1 load_based=2 --stable-pair --filter prefix_cache --prefix-cache-min-share 0.5 --affinity-mode soft"), nil, false},
		{"no-effect", static("--max-in-flight 9 --cb-cool-down-secs 3 --session-idle-secs 9 --cache-candidate-ratio 0.1 --decode-policy power_of_n --sampling-param-conflict allow --selector a=b --power-of-n-choices 3"), nil, false},
		{"out-of-range", discovered("--policy cache_aware --cache-candidate-ratio 2 --cache-candidate-min-workers 40 --worker-queue-limit 4 --saturation-queue-floor 5 --pressure-rel-threshold 1 --cb-threshold 0"), nil, false},
		{"bad-addresses", fields("--model-id m --worker-urls http://engine-0:8000 https://10.0.0.1:8000 http://10.0.0.1:8000/v1 http://10.0.0.1:0 ://"), nil, false},
		{"legacy-file-unpaired", discovered("--bucket-config legacy-pd.json"), nil, false},
		{"legacy-file-bad-pairs", discovered("--bucket-config legacy-pd.json"), []Pair{short, {"long-p", "short"}, {"nobody", "long-d"}, {"long-p", "nobody"}}, false},
		{"legacy-file-bad", discovered("--bucket-config legacy-bad.json"), []Pair{{"a", "b"}}, false},
		{"reorg-file-bad", discovered("--reorg-config reorg-bad.json --policy random --worker-queue-limit 4"), nil, false},
		{"reorg-file-pd-static", static("--worker-urls http://10.0.0.9:8000 --reorg-config reorg-pd-static.json"), nil, false},
		{"legacy-file-no-roles", static("--policy power_of_two --bucket-config legacy-pd.json"), []Pair{short, {"long-p", "long-d"}}, false},
		{"reorg-file-missing", static("--reorg-config /none.json"), nil, false},
		{"reorg-refusals", paired("--chat-routing reorg --policy sticky --decode-policy power_of_two --bucket-config legacy-plain.json"), nil, false},
		{"contradictions", static("--service-discovery --prefill-selector a=b,c=d --decode-selector c==d a=b --filter overloaded --policy cache_aware --disable-pressure-guard --pressure-rel-threshold 2 --cache-switch-margin-tokens 5"), nil, false},
		{"half-a-pair", discovered("--prefill-selector a=b"), nil, false},
		{"reorg-file-legacy", static("--chat-routing legacy --reorg-config reorg.json"), nil, false},
		{"reorg-min-load-choices", static("--chat-routing reorg --policy cache_aware --min-load-choices 3 --cache-candidate-max-workers 4"), nil, false},
		{"bad-values", static("--override-sampling-params [1] --cb-threshold 4 --cb-cool-down-secs 18446744073709551615"), nil, false},
		{"reorg-file-no-json", static("--reorg-config broken.json"), nil, false},
		{"reorg-file-two", static("--reorg-config two.json"), nil, false},
		{"legacy-file-empty", static("--bucket-config empty.json"), nil, false},
		{"pair-without-file", static(""), []Pair{short}, false},
	}
}

func TestConvert_command_lines(t *testing.T) {
	for _, tc := range goldenCases() {
		t.Run(tc.name, func(t *testing.T) {
			c, err := undecoded(tc.args, options(tc.pairs...))
			require.NoError(t, err)
			golden(t, "testdata/golden/"+tc.name+".txt", report(&c.result))
			if !tc.decodes {
				return
			}
			result, err := Convert(tc.args, options(tc.pairs...))
			require.NoError(t, err)
			require.Empty(t, result.Refusals)
			_, err = spec.Decode(result.Config)
			require.NoError(t, err)
		})
	}
}

// What the filter refuses is refused here, under the flag that it comes from.
func TestConvert_reports_what_the_filter_refuses(t *testing.T) {
	result, err := Convert(static(`--override-sampling-params {"temperature":9,"topp":1} --worker-urls http://10.0.0.7:8000`), options())
	require.NoError(t, err)
	require.Equal(t, []Refusal{
		{"--override-sampling-params", "sampling.override.topp: unknown key", `did you mean "top_p"?`},
		{"--worker-urls", "workers[2].address: 10.0.0.7:8000 is the address of workers[0] too", "list each engine once"},
		{"--worker-urls", `workers[2].id: "10.0.0.7:8000" stands twice`, "give each worker its own id"},
		{"--override-sampling-params", "sampling.override.temperature: 9 is out of range", "a value that is from 0 to 2"},
	}, result.Refusals)
}

func TestConvert_stateful_policies_are_taken_when_the_filter_takes_them(t *testing.T) {
	for _, name := range []string{"session_aware", "sticky", "cache_aware"} {
		result, err := Convert(discovered("--policy "+name), options())
		require.NoError(t, err)
		_, problems := spec.Decode(result.Config)
		require.Equal(t, problems == nil, len(result.Refusals) == 0, result.Refusals)
		for _, r := range result.Refusals {
			require.Equal(t, "--policy", r.Flag)
		}
	}
}

func TestConvert_the_table_for_people(t *testing.T) {
	golden(t, "FLAGS.md", flagsHead+Table())
}

const flagsHead = `# Flags of sgl-router

What ` + "`hostsim convert`" + ` makes of each flag that concerns routing. Flags that would have no effect are refused, too.
What sgl-router does without a flag and the filter does when asked: abandoned requests are aborted at their engine with
` + "`\"abort\": {\"cluster\": ...}`" + `.
` + "`go test ./hostsim/convert -update`" + ` writes this file from the table that convert works by.

`
