package configs_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dashboard is what the test looks at.
type dashboard struct {
	Panels []struct {
		ID          int
		Title, Type string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr, LegendFormat string }
	}
}

// metricLabels gives the labels of every metric of the filter and the state service.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	known := map[string][]string{}
	text, err := os.ReadFile("../core/flow/METRICS.md")
	require.NoError(t, err)
	family := regexp.MustCompile("(?m)^\\| `(pointsman_[a-z_]+)` \\| counter \\| `?([a-z]*)`? \\|")
	for _, m := range family.FindAllStringSubmatch(string(text), -1) {
		known[m[1]] = []string{m[2]}
	}
	require.NotEmpty(t, known)
	text, err = os.ReadFile("../statesvc/telemetry/METRICS.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `(pointsman_state_[a-z_]+)` \\| ([a-z]+) \\| (.*?) \\| ")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		name, labels := m[1], []string{}
		for l := range strings.SplitSeq(m[3], ";") {
			l, _, _ = strings.Cut(l, ":")
			labels = append(labels, strings.Trim(l, " `"))
		}
		if m[2] == "histogram" {
			known[name+"_bucket"] = append(labels, "le")
			known[name+"_sum"], known[name+"_count"] = labels, labels
			continue
		}
		known[name] = labels
	}
	return known
}

// Every metric of the dashboard exists and has the labels that it is asked for.
func TestGrafana(t *testing.T) {
	text, err := os.ReadFile("grafana/pointsman.json")
	require.NoError(t, err)
	var board dashboard
	require.NoError(t, json.Unmarshal(text, &board))
	known := metricLabels(t)
	metric := regexp.MustCompile(`\bpointsman_[a-z_]+`)
	grouped := regexp.MustCompile(`\bby \(([a-z_, ]+)\)`)
	matched := regexp.MustCompile(`([a-z_]+)(?:=|!=|=~|!~)"`)
	shown := regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
	ids := map[int]bool{}
	for _, p := range board.Panels {
		require.False(t, ids[p.ID], "%s: its id is taken", p.Title)
		ids[p.ID] = true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		require.Equal(t, p.Type == "row", len(p.Targets) == 0, p.Title)
		for _, target := range p.Targets {
			names := metric.FindAllString(target.Expr, -1)
			require.NotEmpty(t, names, target.Expr)
			labels := []string{"instance"} // of every scrape
			for i, name := range names {
				require.Contains(t, known, name, p.Title)
				if i == 0 {
					labels = append(labels, known[name]...)
				}
			}
			var groups []string
			for _, m := range grouped.FindAllStringSubmatch(target.Expr, -1) {
				groups = append(groups, strings.Split(m[1], ", ")...)
			}
			for _, m := range matched.FindAllStringSubmatch(target.Expr, -1) {
				require.Contains(t, labels, m[1], target.Expr)
			}
			for _, g := range groups {
				require.Contains(t, labels, g, target.Expr)
			}
			for _, m := range shown.FindAllStringSubmatch(target.LegendFormat, -1) {
				require.True(t, slices.Contains(groups, m[1]), "%s: %s is not grouped by", target.Expr, m[1])
			}
		}
	}
}
