package bench

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/e2e/bench/table"
)

// indexFigure is one row of the index's table: a figure of one Go benchmark.
type indexFigure struct {
	what      string
	benchmark string // its name, without the number of processors
	unit      string // as the benchmark reports it
	scale     float64
	target    string // with where it falls short, design section 9
}

func indexFigures() []indexFigure {
	const match, ingest, room = "100 us; falls short at 300", "1; falls short at 0.3", "100; falls short at 200"
	return []indexFigure{
		{"match of 6,250 blocks, 100 owners that hold all, us", "Index_match/walk/equal", "ns/op", 1e-3, match},
		{"same, each ends a hundredth later, us", "Index_match/walk/steps", "ns/op", 1e-3, match},
		{"same, no two blocks have the same holders, us", "Index_match/walk/distinct", "ns/op", 1e-3, match},
		{"hashing of the 100,000 tokens and match, us", "Index_match/whole/equal", "ns/op", 1e-3, ""},
		{"ingest per core, 10,000 blocks resident, M blocks/s", "Index_ingest/resident=10000", "Mstored/s", 1, ingest},
		{"ingest per core, 1,000,000 resident, M blocks/s", "Index_ingest/resident=1000000", "Mstored/s", 1, ingest},
		{"removals, hash by hash, 1,000,000 resident, M/s", "Index_ingest/resident=1000000", "Mremoved/s", 1, ingest},
		{"bytes per block, one holder", "Index_bytes", "B/block", 1, room},
		{"bytes per further holder", "Index_bytesShared", "B/holding", 1, ""},
	}
}

// index measures the KV index.
func (s *suite) index(ctx context.Context) error {
	const pkg = "./statesvc/kvindex"
	s.progress("index: %s", pkg)
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkIndex_(match|ingest|bytes|bytesShared)$",
		"-benchtime", "300ms", "-count", strconv.Itoa(min(s.Rounds, 5)), pkg)
	cmd.Dir = s.Parts.Root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", pkg, err, out)
	}
	t := s.table("index", "KV index, native Go, one core", "in the last column", "what", "median (quartiles)", "target")
	figures := readBenchmarks(string(out))
	for _, f := range indexFigures() {
		t.Row(f.what, figures[f.benchmark+" "+f.unit].Times(f.scale).Text(2), f.target)
	}
	t.Notes = append(t.Notes, "statesvc/kvindex/README.md says what is missed and why; make soak-kv measures lookups beside writes.")
	return t.Write(s.out)
}

var benchName = regexp.MustCompile(`^Benchmark(\S+?)(-\d+)?$`)

// readBenchmarks collects every figure of go test -bench, by "name unit".
func readBenchmarks(out string) map[string]table.Series {
	figures := map[string]table.Series{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		m := benchName.FindStringSubmatch(fields[0])
		if m == nil {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				key := m[1] + " " + fields[i+1]
				figures[key] = append(figures[key], v)
			}
		}
	}
	return figures
}
