package proc

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// CPU is the processor time the processes have used so far, all threads, ended
// ones too. It is utime + stime of /proc/PID/stat, read from the processes' CPU
// clocks, which count nanoseconds where the file counts ticks of 10 ms.
func CPU(pids ...int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range pids {
		var spec syscall.Timespec
		// The clock of a process is its inverted id above the kind of clock (2: scheduled time), see
		// clock_getcpuclockid(3).
		clock := int32(^pid)<<3 | 2
		_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&spec)), 0)
		if errno != 0 {
			return 0, fmt.Errorf("CPU clock of process %d: %w", pid, errno)
		}
		sum += time.Duration(spec.Nano())
	}
	return sum, nil
}

// Resident is the resident memory of a process in bytes.
func Resident(pid int) (int64, error) {
	path := fmt.Sprintf("/proc/%d/status", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("%s has no VmRSS", path)
}

// Family are a process and all that descend from it.
func Family(pid int) []int {
	pids := []int{pid}
	lists, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return pids
	}
	for _, task := range lists {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, Family(child)...)
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}
