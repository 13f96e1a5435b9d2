package bench

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// microbenchmarks are the Go benchmarks that belong to these tables.
func microbenchmarks() [][2]string {
	return [][2]string{
		{"./core/bucket", "^BenchmarkDecision$"},
		{"./core/wire", "."},
		{"./statesvc/server", "^BenchmarkServer_sync$"},
		{"./statesvc/affinity", "^Benchmark(Fill|Sweep)$"},
	}
}

var benchLine = regexp.MustCompile(`^(Benchmark\S+)\s+\d+\s+(\S+) ns/op(.*?)\s(\d+) B/op\s+(\d+) allocs/op`)

// core runs the Go benchmarks of decision, messages, and the state service's sync
// and store of bindings.
func (s *suite) core(ctx context.Context) error {
	t := s.table("core", "Decision, messages, the state service's side of a sync, and filling and sweeping a store of 1,000,000 bindings, native Go",
		"a cache-aware decision over 1,000 workers: 20 us and 0 allocations; falls short at 50 us or any allocation",
		"package", "benchmark", "ns", "bytes", "allocations", "further")
	for _, b := range microbenchmarks() {
		s.progress("core: %s", b[0])
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", b[1], "-benchmem", "-count", strconv.Itoa(min(s.Rounds, 3)), b[0])
		cmd.Dir = s.Parts.Root
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", b[0], err, out)
		}
		for line := range strings.Lines(string(out)) {
			if m := benchLine.FindStringSubmatch(line); m != nil {
				t.Row(strings.TrimPrefix(b[0], "./"), strings.TrimPrefix(m[1], "Benchmark"), m[2], m[4], m[5], strings.Join(strings.Fields(m[3]), " "))
			}
		}
	}
	return t.Write(s.out)
}
