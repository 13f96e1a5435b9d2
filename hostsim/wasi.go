package hostsim

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Errno values of WASI that Envoy's functions answer (envoy.md 1.3).
const (
	errnoSuccess = 0
	errnoBadf    = 8
	errnoFault   = 21
	errnoInval   = 28
	errnoIO      = 29
	errnoNoent   = 44
	errnoNosys   = 52
	errnoNotsup  = 58
)

// maxRandom is the most that one random_get may ask for (envoy.md 1.1).
const maxRandom = 64 << 10

// wasiImpl are the functions that do something; the others of a profile answer errnoNosys.
func wasiImpl(p Profile) map[string]func(c *hostCall) uint32 {
	ok := func(*hostCall) uint32 { return errnoSuccess }
	poll := func(*hostCall) uint32 { return errnoNosys }
	if p == Envoy139 {
		poll = wasiPollNothing
	}
	return map[string]func(c *hostCall) uint32{
		"args_get":          ok,
		"args_sizes_get":    func(c *hostCall) uint32 { return c.wasiPair(0, 0) },
		"environ_get":       wasiEnvironGet,
		"environ_sizes_get": wasiEnvironSizes,
		"clock_time_get":    wasiClock,
		"random_get":        wasiRandom,
		"fd_write":          wasiWrite,
		"fd_fdstat_get":     wasiFdstat,
		"fd_prestat_get":    func(*hostCall) uint32 { return errnoBadf },
		"path_open":         func(*hostCall) uint32 { return errnoNoent },
		"sched_yield":       ok,
		"poll_oneoff":       poll,
		"proc_exit":         wasiExit,
	}
}

func wasiHostFuncs(p Profile) []hostFunc {
	impl := wasiImpl(p)
	params := p.wasiFuncs()
	var funcs []hostFunc
	for _, name := range slices.Sorted(maps.Keys(params)) {
		run := impl[name]
		if run == nil {
			run = func(*hostCall) uint32 { return errnoNosys }
		}
		funcs = append(funcs, hostFunc{name: name, params: params[name], run: run})
	}
	return funcs
}

// wasiPair writes two words to the addresses in the first two arguments.
func (c *hostCall) wasiPair(a, b uint32) uint32 {
	if c.out32(0, a)|c.out32(1, b) != 0 {
		return errnoFault
	}
	return errnoSuccess
}

// wasiPollNothing tells the guest that no event is ready (Envoy 1.39 and later).
func wasiPollNothing(c *hostCall) uint32 {
	if c.out32(3, 0) != 0 {
		return errnoFault
	}
	return errnoSuccess
}

func wasiExit(c *hostCall) uint32 {
	trap("the guest called proc_exit(%d)", c.u32(0))
	return 0
}

// environ returns the environment as NUL-ended "key=value" strings, sorted by key.
func (vm *VM) environ() []string {
	var env []string
	for _, k := range slices.Sorted(maps.Keys(vm.opts.Env)) {
		env = append(env, k+"="+vm.opts.Env[k]+"\x00")
	}
	return env
}

func wasiEnvironSizes(c *hostCall) uint32 {
	env := c.vm.environ()
	return c.wasiPair(uint32(len(env)), uint32(len(strings.Join(env, ""))))
}

func wasiEnvironGet(c *hostCall) uint32 {
	table, text := c.u32(0), c.u32(1)
	for _, kv := range c.vm.environ() {
		if !c.vm.mem.WriteUint32Le(table, text) || !c.vm.mem.WriteString(text, kv) {
			return errnoFault
		}
		table += 4
		text += uint32(len(kv))
	}
	return errnoSuccess
}

// monotonicStart is what the monotonic clock shows when a VM is born: Go's runtime does not start at zero.
const monotonicStart = time.Second

// wasiClock reads the host's clock; the monotonic one starts with the VM.
func wasiClock(c *hostCall) uint32 {
	now := c.vm.opts.Clock.Now()
	var ns int64
	switch c.u32(0) {
	case 0:
		ns = now.UnixNano()
	case 1:
		ns = (now.Sub(c.vm.born) + monotonicStart).Nanoseconds()
	default:
		return errnoNotsup
	}
	if c.out64(2, uint64(ns)) != 0 {
		return errnoFault
	}
	return errnoSuccess
}

func wasiRandom(c *hostCall) uint32 {
	if c.u32(1) > maxRandom {
		return errnoInval
	}
	dst, ok := c.vm.mem.Read(c.u32(0), c.u32(1))
	if !ok {
		return errnoFault
	}
	if _, err := io.ReadFull(c.vm.opts.Random, dst); err != nil {
		return errnoIO
	}
	return errnoSuccess
}

// wasiWrite turns what the guest prints into log lines: stdout is info, stderr is error.
func wasiWrite(c *hostCall) uint32 {
	fd, iovs, count := c.u32(0), c.u32(1), c.u32(2)
	if fd != 1 && fd != 2 {
		return errnoBadf
	}
	var text []byte
	for range count {
		ptr, ok1 := c.vm.mem.ReadUint32Le(iovs)
		size, ok2 := c.vm.mem.ReadUint32Le(iovs + 4)
		part, ok3 := c.vm.mem.Read(ptr, size)
		if !ok1 || !ok2 || !ok3 {
			return errnoFault
		}
		text = append(text, part...)
		iovs += 8
	}
	level := LogInfo
	if fd == 2 {
		level = LogError
	}
	c.vm.printed(level, text)
	if c.out32(3, uint32(len(text))) != 0 {
		return errnoFault
	}
	return errnoSuccess
}

// printed logs whole lines and keeps the rest for the next write.
func (vm *VM) printed(level LogLevel, text []byte) {
	buf := slices.Concat(vm.partial[level], text)
	for {
		line, rest, found := bytes.Cut(buf, []byte("\n"))
		if !found {
			break
		}
		if len(line) > 0 {
			vm.opts.Log(level, string(line))
			vm.noteLastWords(string(line))
		}
		buf = rest
	}
	vm.partial[level] = bytes.Clone(buf)
}

// wasiFdstat describes stdout and stderr as writable; the guest has no other files.
func wasiFdstat(c *hostCall) uint32 {
	const rightWrite = 1 << 6
	if fd := c.u32(0); fd != 1 && fd != 2 {
		return errnoBadf
	}
	stat := make([]byte, 24)
	stat[8] = rightWrite
	if !c.vm.mem.Write(c.u32(1), stat) {
		return errnoFault
	}
	return errnoSuccess
}
