package hostsim

// do runs an operation on the VM and everything that follows from it. An operation that is asked for while another
// runs waits until that has ended, so that guest and streams are never entered twice.
func (vm *VM) do(f func()) {
	if vm.running {
		vm.actions = append(vm.actions, f)
		return
	}
	vm.running = true
	f()
	vm.running = false
	vm.settle()
}

// settle runs what guest calls left behind (resumes, local replies) and, for an inline VM, queued events.
func (vm *VM) settle() {
	if vm.running {
		return
	}
	vm.running = true
	defer func() { vm.running = false }()
	for {
		for len(vm.actions) > 0 {
			next := vm.actions[0]
			vm.actions = vm.actions[1:]
			next()
		}
		if !vm.inline {
			return
		}
		events := vm.queue.take()
		if len(events) == 0 && len(vm.actions) == 0 {
			return
		}
		vm.actions = append(vm.actions, events...)
	}
}

// RunPending handles events that have arrived: ticks that are due, callout answers, queue notices.
func (vm *VM) RunPending() { vm.do(func() {}) }

// post hands an event over to the VM's goroutine.
func (vm *VM) post(f func()) {
	vm.queue.post(func() {
		if !vm.closed {
			vm.do(f)
		}
	})
}
