package hostsim

import "time"

// ticker is the tick timer of a plugin context. It is armed again after each tick, so ticks drift by their own length
// (envoy.md 1.5).
type ticker struct {
	period time.Duration
	cancel func()
	// round tells a tick that was queued before the period changed from a current one.
	round int
}

func (t *ticker) stop() {
	t.round++
	t.period = 0
	if t.cancel != nil {
		t.cancel()
		t.cancel = nil
	}
}

// setTickPeriod starts, changes or (with 0) stops the ticks. A canary never ticks.
func (vm *VM) setTickPeriod(period time.Duration) {
	vm.tick.stop()
	vm.tick.period = period
	vm.armTick()
}

func (vm *VM) armTick() {
	if vm.tick.period == 0 || vm.canary || vm.failure != nil {
		return
	}
	round := vm.tick.round
	vm.tick.cancel = vm.opts.Clock.AfterFunc(vm.tick.period, func() {
		vm.post(func() {
			if vm.tick.round == round {
				vm.onTick(round)
			}
		})
	})
}

func (vm *VM) onTick(round int) {
	vm.call(vm.root, exportTick, uint64(vm.root.id))
	if vm.tick.round == round {
		vm.armTick()
	}
}

// Tick makes the plugin tick at once, whatever its period.
func (vm *VM) Tick() {
	vm.do(func() { vm.call(vm.root, exportTick, uint64(vm.root.id)) })
}

// TickPeriod returns the period that the plugin asked for; 0 is none.
func (vm *VM) TickPeriod() time.Duration { return vm.tick.period }
