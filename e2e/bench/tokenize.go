package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
)

// tokenize measures tokenization, of rendered text and of whole requests.
func (s *suite) tokenize(ctx context.Context) error {
	const pkg = "./statesvc/tokenize"
	s.progress("tokenize: %s", pkg)
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^Benchmark(Cold|GrowingChat|Request)$",
		"-benchtime", strconv.Itoa(s.count(500))+"ms", "-cpu", "1", "-count", strconv.Itoa(min(s.Rounds, 5)), pkg)
	cmd.Dir = s.Parts.Root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", pkg, err, out)
	}
	t := s.table("tokenize", "Tokenization, native Go, one core", "in the last column", "what", "prompt", "MB/s", "us", "target, MB/s")
	t.Notes = []string{"The tokenizer of qwen3. Cold: rendered text that was never seen. Growing chat: rendered text of which all but the last turn was. Whole request: such a chat from its body on, read and rendered as well."}
	figures := readBenchmarks(string(out))
	for _, f := range []struct{ what, benchmark, target string }{
		{"cold", "Cold", "5; falls short at 2"},
		{"growing chat", "GrowingChat", "200; falls short at 50"},
		{"whole request", "Request", ""},
	} {
		for _, size := range []string{"4KB", "128KB"} {
			name := f.benchmark + "/" + size + " "
			t.Row(f.what, size, figures[name+"MB/s"].Text(1), figures[name+"ns/op"].Times(1e-3).Text(0), f.target)
		}
	}
	return t.Write(s.out)
}
