package telemetry_test

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write METRICS.md anew")

const heading = `# Metrics of the state service

Written by ` + "`go test ./statesvc/telemetry -run Metrics -update`" + `. ` + "`GET /metrics`" + ` shows them beside those of the Go runtime
and the process. Values of labels come from closed sets, from the sources of engines and from the configuration (` + "`worker`, `endpoint`" + `), never from
a client.

| Name | Kind | Labels | Meaning |
|--|--|--|--|
`

// METRICS.md lists every metric that the registry has.
func TestMetrics_document(t *testing.T) {
	w := httptest.NewRecorder()
	measured(t).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	require.NoError(t, err)
	var rows []string
	for name, f := range families {
		if strings.HasPrefix(name, "pointsman_state_") {
			require.NotEmpty(t, f.GetHelp(), name)
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | %s |\n", name, strings.ToLower(f.GetType().String()), labels(f), f.GetHelp()))
		}
	}
	slices.Sort(rows)
	text := heading + strings.Join(rows, "")
	if *update {
		require.NoError(t, os.WriteFile("METRICS.md", []byte(text), 0o644))
	}
	written, err := os.ReadFile("METRICS.md")
	require.NoError(t, err)
	require.Equal(t, text, string(written), "run go test ./statesvc/telemetry -run Metrics -update and read the difference")
}

// labels names the labels of a family, those of closed sets with their values.
func labels(f *dto.MetricFamily) string {
	var names []string
	values := map[string][]string{}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if !slices.Contains(names, l.GetName()) {
				names = append(names, l.GetName())
			}
			if v := "`" + l.GetValue() + "`"; !slices.Contains(values[l.GetName()], v) {
				values[l.GetName()] = append(values[l.GetName()], v)
			}
		}
	}
	for i, name := range names {
		names[i] = "`" + name + "`"
		switch name {
		case "worker", "rank", "version", "route", "status", "model", "endpoint": // the test's own values
		default:
			slices.Sort(values[name])
			names[i] += ": " + strings.Join(values[name], ", ")
		}
	}
	return strings.Join(names, "; ")
}
