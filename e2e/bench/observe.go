package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
)

// observe measures the state service's answer about one prompt.
func (s *suite) observe(ctx context.Context) error {
	const pkg = "./statesvc"
	s.progress("observe: %s", pkg)
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkObserve$",
		"-benchtime", strconv.Itoa(s.count(500))+"x", "-count", strconv.Itoa(min(s.Rounds, 5)), pkg)
	cmd.Dir = s.Parts.Root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", pkg, err, out)
	}
	t := s.table("observe", "Observe: tokens and index of one prompt, four callers at a time", "",
		"prompt", "texts", "CPU per call, us", "p50, us", "p99, us")
	t.Notes = []string{"A whole state service over loopback, with the tokenizer of qwen3 and an engine's KV events. Cold: no text was seen before. Known: all but a last, short message was. Growing: chats from the first turn to the last, messages of 1 KB. The callers are in the same process and their processor time in the figure."}
	figures := readBenchmarks(string(out))
	for _, size := range []string{"4KB", "128KB"} {
		for _, kind := range []string{"cold", "known", "growing"} {
			name := "Observe/" + size + "/" + kind + " "
			t.Row(size, kind, figures[name+"cpu-us/call"].Text(0), figures[name+"p50-us"].Text(0), figures[name+"p99-us"].Text(0))
		}
	}
	return t.Write(s.out)
}
