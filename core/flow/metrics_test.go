package flow_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core/flow"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write METRICS.md anew")

// labels bounds the values that a label can have: each is a time series for every
// proxy.
const labels = 40

func TestMetrics_eachIsExplainedAndBounded(t *testing.T) {
	for _, f := range flow.Metrics() {
		require.NotEmpty(t, f.Meaning, "%s needs a meaning", f.Name)
		require.Regexp(t, `^pointsman_[a-z_]+_total$`, f.Name)
		require.Equal(t, f.Label == "", len(f.Values) == 0, f.Name)
		require.LessOrEqual(t, len(f.Values), labels, f.Name)
		for _, v := range f.Values {
			require.Regexp(t, `^[a-z_]+$`, v, "the bootstrap's stats_tags take out such values only")
		}
	}
}

func TestMetrics_namesAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for c := range flow.CounterCount {
		require.False(t, seen[c.Name()], c.Name())
		seen[c.Name()] = true
	}
}

func TestMetrics_document(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Metrics of the filter\n\n")
	b.WriteString("Written by `go test ./core/flow -run Metrics -update`. The host shows them among its own: Envoy as\n")
	b.WriteString("`wasmcustom.<name>`, with the label as a tag where the bootstrap has the `stats_tags` of configs/envoy. All are\n")
	b.WriteString("counters, and a metric appears with its first count. Those of the state service are in\n")
	b.WriteString("[statesvc/telemetry/METRICS.md](../../statesvc/telemetry/METRICS.md).\n\n")
	b.WriteString("| Name | Type | Label | Values | Meaning |\n|--|--|--|--|--|\n")
	row := func(f flow.Family) {
		label := f.Label
		if label != "" {
			label = "`" + label + "`"
		}
		values := make([]string, 0, len(f.Values))
		for _, v := range f.Values {
			values = append(values, "`"+v+"`")
		}
		b.WriteString("| `" + f.Name + "` | counter | " + label + " | " + strings.Join(values, ", ") + " | " + f.Meaning + " |\n")
	}
	for _, f := range flow.Metrics() {
		row(f)
	}
	row(flow.Family{
		Name: "pointsman_sync_total", Label: "outcome", Values: []string{"ok", "failed"},
		Meaning: "Reports to the state service by what became of them.",
	})
	row(flow.Family{
		Name: "pointsman_call_streams_total", Label: "outcome", Values: []string{"opened", "lost"},
		Meaning: "Streams to the state service for the calls that requests wait for (`state.call_stream`): `opened`, those that it has answered on; `lost`, those of them that ended. Without one such a call is an HTTP request.",
	})
	if *update {
		require.NoError(t, os.WriteFile("METRICS.md", []byte(b.String()), 0o644))
	}
	written, err := os.ReadFile("METRICS.md")
	require.NoError(t, err)
	require.Equal(t, b.String(), string(written), "run go test ./core/flow -run Metrics -update and read the difference")
}
