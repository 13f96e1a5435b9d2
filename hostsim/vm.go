package hostsim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// Exports that every guest has one of, or that the host calls at the start.
const (
	exportMalloc        = "malloc"
	exportAllocate      = "proxy_on_memory_allocate"
	exportInitialize    = "_initialize"
	exportMain          = "main"
	exportStart         = "_start"
	exportContextCreate = "proxy_on_context_create"
	exportVMStart       = "proxy_on_vm_start"
	exportConfigure     = "proxy_on_configure"
	exportTick          = "proxy_on_tick"
	exportQueueReady    = "proxy_on_queue_ready"
	exportCalloutReply  = "proxy_on_http_call_response"
	exportGRPCInitial   = "proxy_on_grpc_receive_initial_metadata"
	exportGRPCReceive   = "proxy_on_grpc_receive"
	exportGRPCTrailing  = "proxy_on_grpc_receive_trailing_metadata"
	exportGRPCClose     = "proxy_on_grpc_close"
	exportLog           = "proxy_on_log"
	exportDone          = "proxy_on_done"
	exportDelete        = "proxy_on_delete"
)

// VM is one instance of a module with one plugin: what an Envoy worker has. It is single-threaded: all methods, and
// those of its streams, must be called from one goroutine at a time. Events from elsewhere (timers, callout answers)
// wait in a queue: a VM made by NewVM handles them at the end of each method and in RunPending; a VM of a Worker
// handles them in the worker's loop.
type VM struct {
	module *Module
	opts   VMOptions
	ctx    context.Context
	inst   api.Module
	mem    api.Memory
	alloc  api.Function
	funcs  map[string]api.Function
	born   time.Time
	stage  stage
	stack  [8]uint64

	contexts  map[uint32]*guestContext
	nextID    uint32
	root      *guestContext
	current   *guestContext
	effective uint32

	queue *eventQueue
	// inline is true when nobody but the VM itself drains queue.
	inline  bool
	running bool
	actions []func()

	callouts  map[uint32]*openCallout
	nextToken uint32
	reply     *CalloutReply

	grpc          map[uint32]*openGRPC
	nextGRPCToken uint32
	received      grpcView

	tick    ticker
	partial map[LogLevel][]byte
	// complaints are the errors that the guest logged while it started; lastWords is how Go's runtime in the guest
	// announced its end.
	complaints []string
	lastWords  string
	counters   Counters
	failure    error
	started    bool
	failedAt   time.Time
	canary     bool
	closed     bool
}

// guestContext is a context id that the guest knows. stream is nil for the plugin context.
type guestContext struct {
	id     uint32
	stream *Stream
}

// ErrRefused reports a guest that answered false to its start or its configuration.
var ErrRefused = errors.New("the filter refused its configuration")

// NewVM makes an instance and starts the plugin: _initialize, then the context, VM start and configure callbacks.
func (m *Module) NewVM(ctx context.Context, opts VMOptions) (*VM, error) {
	return m.newVM(ctx, opts, false)
}

// Canary starts an instance as Envoy does on its main thread before it accepts a configuration, and drops it. Its
// callouts go nowhere and it never ticks (envoy.md 1.5, W28).
func (m *Module) Canary(ctx context.Context, opts VMOptions) error {
	opts.Callouts, opts.GRPC = swallowCallouts{}, swallowGRPC{}
	vm, err := m.newVM(ctx, opts, true)
	if err != nil {
		return err
	}
	return vm.Close()
}

func (m *Module) newVM(ctx context.Context, opts VMOptions, canary bool) (*VM, error) {
	vm := &VM{
		module: m, opts: opts.withDefaults(), canary: canary,
		funcs: map[string]api.Function{}, contexts: map[uint32]*guestContext{}, nextID: 1,
		callouts: map[uint32]*openCallout{}, nextToken: tokenStep + tokenCallout,
		grpc: map[uint32]*openGRPC{}, nextGRPCToken: tokenStream,
		queue: opts.queue, partial: map[LogLevel][]byte{},
	}
	if vm.queue == nil {
		vm.queue, vm.inline = newEventQueue(), true
	}
	vm.born = vm.opts.Clock.Now()
	vm.ctx = context.WithValue(context.WithoutCancel(ctx), vmKey{}, vm)
	vm.opts.Host.data.acquire(vm.opts.VMID)
	if err := vm.start(); err != nil {
		return nil, errors.Join(err, vm.Close())
	}
	return vm, nil
}

func (vm *VM) start() error {
	vm.stage = stageStartUp
	inst, err := vm.module.runtime.InstantiateModule(vm.ctx, vm.module.compiled,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return fmt.Errorf("start the filter: %s", firstLine(err))
	}
	vm.inst, vm.mem = inst, inst.Memory()
	for name, isFunc := range vm.module.exports {
		if isFunc {
			vm.funcs[name] = inst.ExportedFunction(name)
		}
	}
	if vm.alloc = vm.funcs[exportMalloc]; vm.alloc == nil {
		vm.alloc = vm.funcs[exportAllocate]
	}
	if vm.mem == nil {
		return errors.New("start the filter: it has no memory")
	}
	if err := vm.initialize(); err != nil {
		return fmt.Errorf("start the filter: %w", err)
	}
	vm.stage = stageCallback
	return vm.startPlugin()
}

// initialize runs the reactor's (or the command's) start functions.
func (vm *VM) initialize() error {
	names := []string{exportStart}
	if vm.funcs[exportInitialize] != nil {
		names = []string{exportInitialize, exportMain}
	}
	for _, name := range names {
		f := vm.funcs[name]
		if f == nil {
			continue
		}
		args := make([]uint64, len(f.Definition().ParamTypes()))
		if _, err := f.Call(vm.ctx, args...); err != nil {
			return fmt.Errorf("%s: %s", name, vm.reason(err))
		}
	}
	return nil
}

func (vm *VM) startPlugin() error {
	vm.root = vm.newContext(nil)
	vm.call(vm.root, exportContextCreate, uint64(vm.root.id), 0)
	starts := []struct {
		export string
		config []byte
	}{{exportVMStart, vm.opts.VMConfig}, {exportConfigure, vm.opts.PluginConfig}}
	for _, s := range starts {
		accepted, called := vm.call(vm.root, s.export, uint64(vm.root.id), uint64(len(s.config)))
		if vm.failure != nil {
			return fmt.Errorf("start the filter: %w", vm.failure)
		}
		if called && accepted == 0 {
			return vm.refused(s.export)
		}
	}
	vm.complaints, vm.started = nil, true
	vm.settle()
	return nil
}

// refused is the error of a guest that answered false, in the guest's own words if it logged an error.
func (vm *VM) refused(export string) error {
	if len(vm.complaints) == 0 {
		return fmt.Errorf("%w (%s)", ErrRefused, export)
	}
	return fmt.Errorf("%w: %s", ErrRefused, strings.Join(vm.complaints, "\n"))
}

func (vm *VM) newContext(s *Stream) *guestContext {
	for vm.nextID == 0 || vm.contexts[vm.nextID] != nil {
		vm.nextID++ // The counter has gone around.
	}
	c := &guestContext{id: vm.nextID, stream: s}
	vm.nextID++
	vm.contexts[c.id] = c
	return c
}

// Failure returns why the VM has failed, or nil. A failed VM never calls its guest again.
func (vm *VM) Failure() error { return vm.failure }

// fail marks the VM as failed and hands its open streams to the failure policy.
func (vm *VM) fail(err error) {
	vm.failure, vm.failedAt = err, vm.opts.Clock.Now()
	vm.stage = stageCallback
	vm.opts.Log(LogCritical, "filter VM failed: "+err.Error())
	vm.tick.stop()
	vm.cancelCallouts()
	vm.cancelGRPC()
	for _, s := range vm.Streams() {
		vm.actions = append(vm.actions, s.onVMFailure)
	}
}

// Streams returns the open streams in the order of their creation.
func (vm *VM) Streams() []*Stream {
	var open []*Stream
	for _, id := range slices.Sorted(maps.Keys(vm.contexts)) {
		if s := vm.contexts[id].stream; s != nil {
			open = append(open, s)
		}
	}
	return open
}

// Host returns what the VM shares with others.
func (vm *VM) Host() *Host { return vm.opts.Host }

// MemoryBytes returns the size of the guest's linear memory.
func (vm *VM) MemoryBytes() int { return int(vm.mem.Size()) }

// Counters returns the sums over all calls of this VM.
func (vm *VM) Counters() Counters { return vm.counters }

// Close ends open streams as if their clients had left, tells the plugin that it is done, cancels its callouts and
// gRPC streams, and frees the instance.
func (vm *VM) Close() error {
	if vm.closed {
		return nil
	}
	for _, s := range vm.Streams() {
		s.Reset()
	}
	if vm.root != nil {
		vm.do(func() {
			vm.call(vm.root, exportDone, uint64(vm.root.id))
			vm.call(vm.root, exportDelete, uint64(vm.root.id))
		})
	}
	vm.closed = true
	vm.tick.stop()
	vm.cancelCallouts()
	vm.cancelGRPC()
	vm.opts.Host.data.release(vm.opts.VMID)
	if vm.inst == nil {
		return nil
	}
	return vm.inst.Close(vm.ctx)
}
