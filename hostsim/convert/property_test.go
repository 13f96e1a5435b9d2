package convert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

// Good flags of stateless policies are always converted, the filter takes the
// result, and a cap stands in it.
func TestConvert_stateless_lines_are_always_taken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := []string{"--model-id", rapid.SampledFrom([]string{"m", "Qwen/Qwen2.5-7B", `a"b`, "ü"}).Draw(t, "model"), "--worker-urls"}
		for i := range rapid.IntRange(1, 5).Draw(t, "workers") {
			args = append(args, fmt.Sprintf("http://10.0.%d.%d:8000", rapid.IntRange(0, 255).Draw(t, "net"), i))
		}
		kind := rapid.SampledFrom([]string{"round_robin", "random", "power_of_two", "power_of_n", "load_based"}).Draw(t, "policy")
		args = append(args, "--policy="+kind)
		maybe := func(flags ...string) {
			if rapid.Bool().Draw(t, flags[0]) {
				args = append(args, flags...)
			}
		}
		number := func(name string) string {
			return name + "=" + formatCount(rapid.Uint64Range(1, 65535).Draw(t, name))
		}
		if kind == powerOfN {
			maybe(number("--power-of-n-choices"))
		}
		limit := rapid.Uint64Min(1).Draw(t, "cap")
		maybe("--filter", "overloaded", "--max-in-flight", formatCount(limit))
		maybe(number("--cb-threshold"), number("--cb-cool-down-secs"))
		maybe("--override-sampling-params", `{"temperature": 0.5}`, "--sampling-param-conflict", "allow")
		maybe("--enable-retry")
		maybe(number("--port"), number("--request-timeout-secs"))

		result, err := Convert(args, Options{})
		require.NoError(t, err)
		require.Empty(t, result.Refusals)
		cfg, err := spec.Decode(result.Config)
		require.NoError(t, err)
		for _, m := range cfg.Models {
			caps := m.Buckets[0].Groups.Plain.Policy.Admission
			capped := strings.Contains(strings.Join(args, " "), "--max-in-flight")
			require.Equal(t, capped, caps != nil)
			if capped {
				require.Equal(t, limit, *caps.MaxInflightRequests)
			}
		}
	})
}

// A budget that is asked for stands in every group or is refused.
func TestConvert_no_budget_is_dropped(t *testing.T) {
	require.True(t, budgetStands(t, discovered, "--bucket-config legacy-pd.json"), "some lines are taken")
	rapid.Check(t, func(t *rapid.T) {
		flags := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"--policy power_of_two", "--policy cache_aware", "--policy sticky", "--chat-routing reorg", "--decode-policy power_of_n",
			"--bucket-config legacy-plain.json", "--bucket-config legacy-pd.json", "--reorg-config reorg.json", "--reorg-config reorg-pd.json",
		}), 0, 3, func(s string) string { return strings.Fields(s)[0] }).Draw(t, "flags")
		base := rapid.SampledFrom([]func(string) []string{static, discovered, paired}).Draw(t, "fleet")
		budgetStands(t, base, strings.Join(flags, " "))
	})
}

// budgetStands checks a line with a budget and reports whether it was taken.
func budgetStands(t require.TestingT, base func(string) []string, flags string) bool {
	c, err := undecoded(base("--filter overloaded --max-in-flight 77 "+flags), options(Pair{"short", "short"}, Pair{"long-p", "long-d"}))
	require.NoError(t, err)
	if len(c.result.Refusals) > 0 {
		return false
	}
	for _, p := range c.policies() {
		require.NotNil(t, p.Admission)
		require.EqualValues(t, 77, *p.Admission.MaxInflightRequests)
	}
	return true
}

func FuzzConvert(f *testing.F) {
	f.Add(strings.Join(static("--policy random --filter overloaded --max-in-flight 3"), "\n"), `{"buckets":[{"id":"a","groups":{"mode":"plain","plain":{"policy":"power_of_two"}}}]}`)
	f.Add(strings.Join(static("--reorg-config f"), "\n"), `{"buckets":[{"id":"a","groups":{"mode":"pd","prefill":{"policy":"cache_aware"},"decode":{"policy":"power_of_two"}}}]}`)
	f.Add(strings.Join(discovered("--bucket-config f"), "\n"), `{"buckets":[{"id":"p","stage":"prefill","rank":1},{"id":"d","stage":"decode"}]}`)
	f.Fuzz(func(t *testing.T, args, file string) {
		o := Options{Pairs: []Pair{{"p", "d"}}, ReadFile: func(string) ([]byte, error) { return []byte(file), nil }}
		result, err := Convert(strings.Split(args, "\n"), o)
		if err != nil {
			return
		}
		if !gjson.ValidBytes(result.Config) {
			t.Fatalf("not JSON: %s", result.Config)
		}
		if _, err := spec.Decode(result.Config); err != nil && len(result.Refusals) == 0 {
			t.Fatalf("refused by the filter only: %v", err)
		}
	})
}
