package enginemetrics

import (
	"bytes"
	"fmt"
	"math"

	"github.com/pointsman/pointsman/core"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Dialect says whose metric names a page uses.
type Dialect uint8

// The dialects.
const (
	DialectNone Dialect = iota // no load metric of a known engine
	DialectVLLM
	DialectSGLang
)

// String gives the dialect's name for people.
func (d Dialect) String() string {
	switch d {
	case DialectVLLM:
		return "vllm"
	case DialectSGLang:
		return "sglang"
	case DialectNone:
		return "none"
	}
	return "none"
}

// Sample is what one page says.
type Sample struct {
	Dialect Dialect
	// Report holds the fields the dialect has; it is never a native report.
	Report core.LoadReport
	// Ranks is how many data-parallel ranks the page tells of, if they are numbered from
	// 0 on; else 0. An engine that is a part of a larger one tells of its own only.
	Ranks int
	// StartMillis is when the engine's process began, in milliseconds since the
	// epoch; unknown when the page does not say.
	StartMillis core.Count
	// Counters sums each known counter over its series. A later smaller value
	// means that the engine restarted.
	Counters map[string]float64
}

const startTime = "process_start_time_seconds"

// counters only grow within one life of an engine.
var counters = []string{
	"vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:request_success_total",
	"sglang:prompt_tokens_total", "sglang:generation_tokens_total", "sglang:num_requests_total",
}

// Parse reads a page. ranks is the number of data-parallel ranks that the page
// must cover, 0 when that is not known. Lines of other metrics are not looked
// at, so a page is as good as its own load lines.
func Parse(page []byte, ranks int) (*Sample, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(wantedLines(page)))
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	s := &Sample{Counters: map[string]float64{}}
	switch {
	case families[vllmRunning] != nil || families[vllmWaiting] != nil:
		s.Dialect, s.Report = DialectVLLM, vllmReport(families, ranks)
		s.Ranks = ranksOf(families, vllmNames, vllmRank).numbered()
	case families[sglangRunning] != nil || families[sglangQueue] != nil:
		s.Dialect, s.Report = DialectSGLang, sglangReport(families, ranks)
		s.Ranks = ranksOf(families, sglangNames, sglangRank).numbered()
	}
	for _, name := range counters {
		if f := families[name]; f != nil {
			s.Counters[name] = total(f)
		}
	}
	if f := families[startTime]; f != nil && len(f.Metric) == 1 {
		s.StartMillis = amount(1000 * value(f.Metric[0]))
	}
	return s, nil
}

// wantedLines keeps the sample lines of known names. Comments go too: without
// them every family is untyped, and a page whose comments are wrong still reads.
func wantedLines(page []byte) []byte {
	var kept bytes.Buffer
	for line := range bytes.Lines(page) {
		end := bytes.IndexAny(line, "{ \t")
		if end > 0 && wanted[string(line[:end])] {
			kept.Write(line)
		}
	}
	if n := kept.Len(); n > 0 && kept.Bytes()[n-1] != '\n' {
		kept.WriteByte('\n')
	}
	return kept.Bytes()
}

var wanted = func() map[string]bool {
	names := map[string]bool{startTime: true}
	for _, list := range [][]string{counters, vllmNames, sglangNames} {
		for _, name := range list {
			names[name] = true
		}
	}
	return names
}()

func value(m *dto.Metric) float64 { return m.GetUntyped().GetValue() }

func total(f *dto.MetricFamily) float64 {
	sum := 0.0
	for _, m := range f.Metric {
		sum += value(m)
	}
	return sum
}

func label(m *dto.Metric, name string) string {
	for _, pair := range m.Label {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// amount turns a reading into a count. What is not a finite number of at least
// zero is unknown.
func amount(v float64) core.Count {
	if math.IsNaN(v) || v < 0 || v >= math.MaxInt64 {
		return core.Count{}
	}
	return core.Known(uint64(math.Round(v)))
}
