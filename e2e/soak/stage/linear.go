package stage

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// guardBytes is less than what V8 leaves unmapped behind a linear memory (about
// 8 GiB, so that a 32-bit address never needs a check) and more than any other
// gap of it (at most 1 GiB, measured on 1.36.4 and 1.40.0).
const guardBytes = 4 << 30

// linearMemory is the linear memory of all wasm VMs of a process that runs V8.
// Envoy has no figure for it. In the process's map a linear memory is a writable
// range with the guard directly behind it.
func linearMemory(pid int) (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	return sumLinear(f)
}

func sumLinear(maps io.Reader) (sum int64, err error) {
	var before span
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		s, err := parseSpan(lines.Text())
		if err != nil {
			return 0, err
		}
		if before.mode == "rw-p" && s.mode == "---p" && before.end == s.start && s.end-s.start >= guardBytes {
			sum += int64(before.end - before.start)
		}
		before = s
	}
	return sum, lines.Err()
}

// span is a range of a process's addresses.
type span struct {
	start, end uint64
	mode       string
}

func parseSpan(line string) (span, error) {
	where, rest, _ := strings.Cut(line, " ")
	mode, _, _ := strings.Cut(rest, " ")
	from, to, _ := strings.Cut(where, "-")
	start, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return span{}, fmt.Errorf("memory map: %w", err)
	}
	end, err := strconv.ParseUint(to, 16, 64)
	if err != nil {
		return span{}, fmt.Errorf("memory map: %w", err)
	}
	return span{start, end, mode}, nil
}
