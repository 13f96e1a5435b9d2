package hostsim

import "fmt"

// call runs a guest callback for a context. called is false when the guest does not export it or the VM has failed,
// before or in this call.
func (vm *VM) call(c *guestContext, export string, args ...uint64) (result uint64, called bool) {
	f := vm.funcs[export]
	if f == nil || vm.failure != nil {
		return 0, false
	}
	previous, effective := vm.current, vm.effective
	vm.current, vm.effective = c, 0
	stack := append(vm.stack[:0], args...)
	if len(stack) == 0 {
		stack = vm.stack[:1]
	}
	err := f.CallWithStack(vm.ctx, stack)
	vm.current, vm.effective = previous, effective
	vm.countGuestCall(c, export, stack[0], err)
	if err != nil {
		vm.fail(fmt.Errorf("%s: %s", export, vm.reason(err)))
		return 0, false
	}
	// Results are i32 (or absent): the upper half is not defined.
	return stack[0] & 0xffff_ffff, true
}

// allocate asks the guest for n bytes. It is called from host functions only, so a failure unwinds the guest.
func (vm *VM) allocate(n uint32) uint32 {
	outer := vm.stage
	vm.stage = stageAllocator
	stack := [1]uint64{uint64(n)}
	err := vm.alloc.CallWithStack(vm.ctx, stack[:])
	vm.stage = outer
	if err != nil {
		trap("%s: %s", exportAllocate, firstLine(err))
	}
	return uint32(stack[0])
}

func (vm *VM) countHostCall(name string, c *hostCall, result uint32) {
	vm.counters.host(c.to, c.from)
	call := Call{Name: name, ToGuest: c.to, FromGuest: c.from, Result: uint64(result)}
	if g := vm.effectiveContext(); g != nil {
		call.Context = g.id
		if g.stream != nil {
			g.stream.counters.host(c.to, c.from)
		}
	}
	vm.opts.Trace.add(call)
}

func (vm *VM) countGuestCall(c *guestContext, export string, result uint64, err error) {
	vm.counters.GuestCalls++
	if c.stream != nil {
		c.stream.counters.GuestCalls++
	}
	if err != nil {
		result = 0
	}
	vm.opts.Trace.add(Call{Guest: true, Name: export, Context: c.id, Result: result & 0xffff_ffff})
}

// effectiveContext is the context that host calls act on: the one the guest chose, else the callback's own.
func (vm *VM) effectiveContext() *guestContext {
	if c := vm.contexts[vm.effective]; c != nil {
		return c
	}
	return vm.current
}

// effectiveStream is the stream of the effective context, or nil.
func (vm *VM) effectiveStream() *Stream {
	if c := vm.effectiveContext(); c != nil {
		return c.stream
	}
	return nil
}
