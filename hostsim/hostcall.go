package hostsim

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// hostFunc is one function that the host offers. run answers the result word: a Status for env, an errno for WASI.
type hostFunc struct {
	name   string
	params string // one letter per parameter, i for i32, I for i64
	run    func(c *hostCall) uint32
}

// hostCall is one running call of a host function.
type hostCall struct {
	vm   *VM
	args []uint64
	// to and from count the bytes copied into and out of guest memory.
	to, from int
}

func (c *hostCall) u32(i int) uint32 { return uint32(c.args[i]) }
func (c *hostCall) i64(i int) int64  { return int64(c.args[i]) }

// in returns the guest memory that the (pointer, size) pair at argument i describes. It is a view: copy what is kept,
// and what is needed after a call into the guest.
func (c *hostCall) in(i int) ([]byte, bool) {
	b, ok := c.vm.mem.Read(c.u32(i), c.u32(i+1))
	c.from += len(b)
	return b, ok
}

// in2 is in for two pairs.
func (c *hostCall) in2(i, j int) (a, b []byte, ok bool) {
	a, okA := c.in(i)
	b, okB := c.in(j)
	return a, b, okA && okB
}

// out32 writes a word to the address in argument i.
func (c *hostCall) out32(i int, v uint32) uint32 {
	if !c.vm.mem.WriteUint32Le(c.u32(i), v) {
		return uint32(StatusInvalidMemoryAccess)
	}
	return uint32(StatusOK)
}

// out64 writes a double word to the address in argument i.
func (c *hostCall) out64(i int, v uint64) uint32 {
	if !c.vm.mem.WriteUint64Le(c.u32(i), v) {
		return uint32(StatusInvalidMemoryAccess)
	}
	return uint32(StatusOK)
}

// give copies data into memory that the guest allocates and writes address and size to the arguments at ptr and size.
func (c *hostCall) give(data []byte, ptr, size int) uint32 {
	return c.giveFunc(len(data), ptr, size, func(dst []byte) { copy(dst, data) })
}

// giveFunc is give for n bytes that fill writes. Nothing is allocated for n = 0.
func (c *hostCall) giveFunc(n, ptr, size int, fill func(dst []byte)) uint32 {
	var addr uint32
	if n > 0 {
		addr = c.vm.allocate(uint32(n))
		dst, ok := c.vm.mem.Read(addr, uint32(n))
		if addr == 0 || !ok {
			return uint32(StatusInvalidMemoryAccess)
		}
		fill(dst)
		c.to += n
	}
	if st := c.out32(ptr, addr); st != 0 {
		return st
	}
	return c.out32(size, uint32(n))
}

// trapError is a guest failure that the host causes. It travels as a panic through wazero, which unwinds the guest and
// returns it from the call.
type trapError struct{ reason string }

func (e *trapError) Error() string { return e.reason }

func trap(format string, args ...any) {
	panic(&trapError{reason: fmt.Sprintf(format, args...)})
}

type vmKey struct{}

// link adds f to a wazero host module.
func (f hostFunc) link(b wazero.HostModuleBuilder, limits restrictions) {
	params := make([]api.ValueType, len(f.params))
	for i, p := range f.params {
		params[i] = api.ValueTypeI32
		if p == 'I' {
			params[i] = api.ValueTypeI64
		}
	}
	results := []api.ValueType{api.ValueTypeI32}
	if f.name == "proc_exit" {
		results = nil
	}
	allowed := [...]bool{stageCallback: true, stageStartUp: limits.startUp[f.name], stageAllocator: limits.allocator[f.name]}
	run := func(ctx context.Context, _ api.Module, stack []uint64) {
		vm, _ := ctx.Value(vmKey{}).(*VM)
		if !allowed[vm.stage] {
			trap("restricted_callback: %s may not be called here", f.name)
		}
		c := hostCall{vm: vm, args: stack}
		result := f.run(&c)
		vm.countHostCall(f.name, &c, result)
		if results != nil {
			stack[0] = uint64(result)
		}
	}
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(run), params, results).Export(f.name)
}
