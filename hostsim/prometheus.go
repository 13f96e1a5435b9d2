package hostsim

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WritePrometheus writes metrics in the Prometheus text format, named as an Envoy's /stats/prometheus names them: without
// MetricPrefix, and with a label where a name ends in "_LABEL=value", as the stats_tags of the shipped bootstraps have it.
// The metrics are sorted by name, as Snapshot gives them.
func WritePrometheus(w io.Writer, metrics []Metric) error {
	out := bufio.NewWriter(w)
	declared := map[string]bool{}
	for _, m := range metrics {
		name, label := prometheusName(m.Name)
		if !declared[name] {
			declared[name] = true
			fmt.Fprintf(out, "# TYPE %s %s\n", name, prometheusType(m.Type))
		}
		if m.Type == MetricHistogram {
			fmt.Fprintf(out, "%s_sum%s %d\n%s_count%s %d\n", name, label, m.Value, name, label, m.Records)
			continue
		}
		fmt.Fprintf(out, "%s%s %d\n", name, label, m.Value)
	}
	return out.Flush()
}

// prometheusType: the buckets of histograms are not kept, so that they are summaries without quantiles.
func prometheusType(t MetricType) string {
	if t == MetricHistogram {
		return "summary"
	}
	return t.String()
}

// prometheusName splits a guest's name into that of a family and a label in braces, empty where there is none.
func prometheusName(full string) (name, label string) {
	name = strings.TrimPrefix(full, MetricPrefix)
	if head, value, ok := strings.Cut(name, "="); ok {
		if at := strings.LastIndexByte(head, '_'); at > 0 && at < len(head)-1 {
			name, label = head[:at], fmt.Sprintf("{%s=%q}", legalName(head[at+1:]), value)
		}
	}
	return legalName(name), label
}

// legalName puts an underscore for every byte that a Prometheus name does not have.
func legalName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, s)
}
