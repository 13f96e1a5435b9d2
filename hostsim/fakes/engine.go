package fakes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Engine is one fake engine. It can be started and stopped many times; each start is a new process. All methods are
// safe for concurrent use.
type Engine struct {
	cfg    Config
	faults *faultSwitch
	rec    *recorder

	life      sync.Mutex // serialises Start, Stop, Shutdown, Refuse
	proc      atomic.Pointer[process]
	addr      atomic.Pointer[string]
	starts    int
	lastStart time.Time
	kvPorts   KVPorts // kept from one process to the next
}

// New returns a stopped engine, or one error that lists every problem of the configuration.
func New(cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("fake engine %q: %w", cfg.Name, err)
	}
	return &Engine{cfg: cfg, faults: newFaultSwitch(), rec: newRecorder(cfg.RecordedEntries)}, nil
}

// Name returns the engine's name, which its replies carry as x-fake-engine.
func (e *Engine) Name() string { return e.cfg.Name }

// Config returns the configuration with its defaults filled in.
func (e *Engine) Config() Config { return e.cfg.withDefaults() }

// Start listens on addr as a new process: new start time, empty queue, counters at zero. An empty addr is the address
// of the process before, or any loopback port. Failures stay switched on, except Refuse.
func (e *Engine) Start(addr string) error {
	e.life.Lock()
	defer e.life.Unlock()
	if e.proc.Load() != nil {
		return fmt.Errorf("fake engine %q: already started, stop it first", e.cfg.Name)
	}
	if addr == "" {
		addr = e.Addr()
	}
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := listen(addr)
	if err != nil {
		return fmt.Errorf("fake engine %q: %w", e.cfg.Name, err)
	}
	bound := ln.Addr().String()
	p := newProcess(e, bound, e.nextStart())
	if err := p.openKV(&e.kvPorts); err != nil {
		_ = ln.Close()
		return fmt.Errorf("fake engine %q: %w", e.cfg.Name, err)
	}
	p.serve(ln)
	e.addr.Store(&bound)
	e.proc.Store(p)
	e.starts++
	return nil
}

// nextStart returns the start time of a new process, which is later than that of every process before.
func (e *Engine) nextStart() time.Time {
	start := e.cfg.Clock.Now()
	if e.starts == 0 && !e.cfg.StartTime.IsZero() {
		start = e.cfg.StartTime
	}
	if e.starts > 0 && start.Sub(e.lastStart) < time.Second {
		start = e.lastStart.Add(time.Second)
	}
	e.lastStart = start
	return start
}

// Addr returns ip:port of the running process, or of the last one; "" before the first start.
func (e *Engine) Addr() string {
	if a := e.addr.Load(); a != nil {
		return *a
	}
	return ""
}

// URL returns the base URL without a trailing slash; "" before the first start.
func (e *Engine) URL() string {
	if a := e.Addr(); a != "" {
		return "http://" + a
	}
	return ""
}

// Stop ends the process as a kill does: the listener and all connections are closed at once, and requests in the engine
// are aborted. It returns when nothing of the process runs any more. Stopping a stopped engine does nothing.
func (e *Engine) Stop() {
	e.life.Lock()
	defer e.life.Unlock()
	if p := e.proc.Swap(nil); p != nil {
		p.kill()
	}
}

// Shutdown closes the listener and lets running requests end. When ctx ends first, it kills the rest and returns the
// context's error.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.life.Lock()
	defer e.life.Unlock()
	p := e.proc.Swap(nil)
	if p == nil {
		return nil
	}
	err := p.server.Shutdown(ctx)
	p.kill()
	if err != nil {
		return fmt.Errorf("fake engine %q: stopped before its requests ended: %w", e.cfg.Name, err)
	}
	return nil
}

// Refuse closes the listener, so that new connections are refused, or opens it again on the same address. Idle
// connections are closed too; requests in the engine go on. It does nothing on a stopped engine.
func (e *Engine) Refuse(on bool) error {
	e.life.Lock()
	defer e.life.Unlock()
	p := e.proc.Load()
	if p == nil || p.refusing == on {
		return nil
	}
	if on {
		p.closeDoor()
		return nil
	}
	if err := p.openDoor(); err != nil {
		return fmt.Errorf("fake engine %q: %w", e.cfg.Name, err)
	}
	return nil
}

// Load returns what the running process is doing, all ranks together. ok is false when none runs.
func (e *Engine) Load() (load Load, ok bool) {
	p := e.proc.Load()
	if p == nil {
		return Load{}, false
	}
	for _, r := range p.ranks {
		load = load.add(r.load())
	}
	return load, true
}

// StartTime returns the start time of the running process. ok is false when none runs.
func (e *Engine) StartTime() (start time.Time, ok bool) {
	p := e.proc.Load()
	if p == nil {
		return time.Time{}, false
	}
	return p.start, true
}

// listen needs no deadline: binding a TCP port does not block.
func listen(addr string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("give a free address, not %s", addr), err)
	}
	return ln, nil
}
