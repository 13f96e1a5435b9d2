package hostsim

import (
	"context"
	"encoding/binary"
	"sync"
	"time"
)

// maxBackoffFactor bounds the delay between reload attempts: Envoy's default maximum is ten times the base.
const maxBackoffFactor = 10

// Worker is a VM with an event loop of its own: what an Envoy worker thread has. Do and Call may be used from any
// goroutine; the functions given to them run on the loop, one after another.
type Worker struct {
	module *Module
	opts   VMOptions
	ctx    context.Context
	queue  *eventQueue
	stop   chan struct{}
	once   sync.Once
	done   chan struct{}

	vm       *VM
	backoff  time.Duration
	reloadAt time.Time
	reloads  int
	closeErr error
}

// NewWorker starts a VM and its loop. Stop must be called.
func (m *Module) NewWorker(ctx context.Context, opts VMOptions) (*Worker, error) {
	w := &Worker{
		module: m, opts: opts.withDefaults(), ctx: context.WithoutCancel(ctx), queue: newEventQueue(),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	w.opts.queue = w.queue
	w.backoff = w.opts.ReloadBackoff
	vm, err := m.NewVM(ctx, w.opts)
	if err != nil {
		return nil, err
	}
	w.vm = vm
	go w.loop()
	return w, nil
}

func (w *Worker) loop() {
	defer close(w.done)
	for {
		select {
		case <-w.queue.wake:
			w.queue.run()
		case <-w.stop:
			for _, f := range w.queue.close() {
				f()
			}
			w.closeErr = w.vm.Close()
			return
		}
	}
}

// Do runs f on the loop, later. It reports false when the worker has stopped; f never runs then.
func (w *Worker) Do(f func()) bool { return w.queue.post(f) }

// Call runs f on the loop and waits for it. It reports false when the worker has stopped.
func (w *Worker) Call(f func()) bool {
	finished := make(chan struct{})
	if !w.Do(func() { f(); close(finished) }) {
		return false
	}
	<-finished
	return true
}

// VM returns the present instance. Use it on the loop only; it changes when the worker reloads.
func (w *Worker) VM() *VM { return w.vm }

// Reloads returns how often a failed VM was replaced. Use it on the loop only.
func (w *Worker) Reloads() int { return w.reloads }

// OpenStream begins a stream on the present VM, on the loop. A failed VM is replaced first when the policy is
// FailReload and its delay is over.
func (w *Worker) OpenStream(out Outlet, opts StreamOptions) *Stream {
	if w.vm.failure != nil && w.opts.OnFailure == FailReload {
		w.reload()
	}
	return w.vm.NewStream(out, opts)
}

// reload tries to replace a failed VM, at growing intervals (envoy.md 1.7).
func (w *Worker) reload() {
	now := w.opts.Clock.Now()
	if w.reloadAt.IsZero() {
		w.reloadAt = w.vm.failedAt.Add(w.jitter(w.backoff))
	}
	if now.Before(w.reloadAt) {
		return
	}
	fresh, err := w.module.NewVM(w.ctx, w.opts)
	if err != nil {
		w.backoff = min(2*w.backoff, maxBackoffFactor*w.opts.ReloadBackoff)
		w.reloadAt = now.Add(w.jitter(w.backoff))
		w.opts.Log(LogError, "reload: "+err.Error())
		return
	}
	if err := w.vm.Close(); err != nil {
		w.opts.Log(LogWarn, "close the failed VM: "+err.Error())
	}
	w.vm, w.backoff, w.reloadAt = fresh, w.opts.ReloadBackoff, time.Time{}
	w.reloads++
}

// jitter returns a delay between half of d and d.
func (w *Worker) jitter(d time.Duration) time.Duration {
	var b [8]byte
	if _, err := w.opts.Random.Read(b[:]); err != nil || d < 2 {
		return d
	}
	return d/2 + time.Duration(binary.LittleEndian.Uint64(b[:])%uint64(d/2))
}

// Stop handles what is queued, closes the VM and ends the loop.
func (w *Worker) Stop() error {
	w.once.Do(func() { close(w.stop) })
	<-w.done
	return w.closeErr
}
