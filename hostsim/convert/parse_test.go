package convert

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse_mistakes(t *testing.T) {
	for _, tc := range []struct{ name, args, want string }{
		{"misspelt flag", "--polcy random", "--polcy is not a flag of sgl-router that is known; did you mean --policy?"},
		{"misspelt flag with value", "--max-inflight=3", "--max-inflight is not a flag of sgl-router that is known; did you mean --max-in-flight?"},
		{"part of a flag", "--namespace x", "--namespace is not a flag of sgl-router that is known; did you mean --service-discovery-namespace?"},
		{"unknown flag", "--frobnicate 3 4", "--frobnicate is not a flag of sgl-router that is known; hostsim convert --flags lists them"},
		{"nothing after a flag", "--policy", "--policy needs a value: --policy NAME"},
		{"a flag after a flag", "--port --enable-retry", "--port needs a value: --port PORT"},
		{"empty value", "--policy=", "--policy needs a value: --policy NAME"},
		{"value of a switch", "--dp-aware=true", `--dp-aware takes no value, it has "true"`},
		{"twice", "--policy random --policy random", "--policy stands twice; keep one"},
		{"no flag", "--policy random stray", `"stray" stands without a flag`},
		{"misspelt choice", "--policy rondom", "--policy rondom is not a choice; did you mean random?"},
		{"unknown choice", "--log-format xml", "--log-format xml is not a choice; use text, json"},
		{"no number", "--cb-threshold x", "--cb-threshold x is not a whole number, zero or more"},
		{"negative", "--cb-threshold -1", "--cb-threshold -1 is not a whole number, zero or more"},
		{"too large", "--cb-threshold 18446744073709551616", "--cb-threshold 18446744073709551616 is not a whole number, zero or more"},
		{"no ratio", "--cache-candidate-ratio x", "--cache-candidate-ratio x is not a number"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Convert(static(tc.args), Options{})
			var usage *UsageError
			require.ErrorAs(t, err, &usage)
			require.Equal(t, []string{tc.want}, usage.Mistakes)
		})
	}
}

func TestParse_lists_all_mistakes(t *testing.T) {
	_, err := Convert(fields("--polcy random --port x"), Options{})
	require.EqualError(t, err, strings.Join([]string{
		"--polcy is not a flag of sgl-router that is known; did you mean --policy?",
		"--port x is not a whole number, zero or more",
		"--model-id is missing: name the model that the router serves",
		"--worker-urls or --service-discovery is missing: say where the engines are",
	}, "\n"))
}

func TestParse_forms_of_values(t *testing.T) {
	spaced, err := parse(static("--policy random --cb-threshold 3 --worker-urls http://10.0.0.9:1"))
	require.NoError(t, err)
	joined, err := parse(fields("--cb-threshold=3 --worker-urls=http://10.0.0.7:8000 --worker-urls=http://10.0.0.8:8000 --worker-urls=http://10.0.0.9:1 --policy=random --model-id=m"))
	require.NoError(t, err)
	for _, name := range []string{"--policy", "--cb-threshold", "--worker-urls", "--model-id"} {
		require.Equal(t, spaced.given[name].texts, joined.given[name].texts, name)
	}
	l, err := parse(static("--tokenizer-path=b=c"))
	require.NoError(t, err)
	require.Equal(t, "b=c", l.text("--tokenizer-path"))
}
