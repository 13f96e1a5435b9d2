// Package coalesce does identical work once for all who wait for it at the same
// time. Nothing is kept once the work has ended.
package coalesce

import (
	"context"
	"errors"
	"sync"
)

// Errors of work that is not begun.
var (
	ErrClosed = errors.New("no more work is taken: the service stops")
	ErrBusy   = errors.New("too much work is under way")
)

// Group is a set of running work by key. Its zero value is ready; all methods are
// safe for concurrent use.
//
// It differs from singleflight in whose deadline counts: each caller waits until
// its own context ends, and the work is given up once nobody waits for it, so one
// caller's short deadline fails nobody else and work never outlives its callers.
type Group[K comparable, V any] struct {
	// Most bounds the work that runs at once, be it given up or not; 0 is no bound.
	// It is set before the first Do.
	Most int

	mu      sync.Mutex
	running map[K]*flight[V]
	live    int // work that has not ended
	closed  bool
	ending  sync.WaitGroup
}

// flight is one piece of work. The group's lock guards waiting; value and err are
// set before done is closed.
type flight[V any] struct {
	waiting int
	cancel  context.CancelFunc
	done    chan struct{}
	value   V
	err     error
}

// Do gives the value of the work that runs under key, and starts it if none does.
// The value is shared with other callers and must not be changed. joined reports
// that somebody else had started it. When ctx ends first, its error is returned.
//
// work runs in a goroutine of its own and must end soon after its context.
func (g *Group[K, V]) Do(ctx context.Context, key K, work func(context.Context) (V, error)) (value V, joined bool, err error) {
	f, joined, err := g.join(ctx, key, work)
	if err != nil {
		return value, false, err
	}
	defer g.leave(key, f)
	select {
	case <-f.done:
		return f.value, joined, f.err
	case <-ctx.Done():
		return value, joined, ctx.Err()
	}
}

func (g *Group[K, V]) join(ctx context.Context, key K, work func(context.Context) (V, error)) (f *flight[V], joined bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, false, ErrClosed
	}
	f, joined = g.running[key]
	if !joined && g.Most > 0 && g.live >= g.Most {
		return nil, false, ErrBusy
	}
	if !joined {
		f = g.start(ctx, key, work)
	}
	f.waiting++
	return f, joined, nil
}

func (g *Group[K, V]) start(ctx context.Context, key K, work func(context.Context) (V, error)) *flight[V] {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f := &flight[V]{cancel: cancel, done: make(chan struct{})}
	if g.running == nil {
		g.running = map[K]*flight[V]{}
	}
	g.running[key] = f
	g.live++
	g.ending.Go(func() {
		f.value, f.err = work(own)
		g.remove(key, f)
		g.ended()
		close(f.done)
	})
	return f
}

// leave gives the work up when nobody else waits for it.
func (g *Group[K, V]) leave(key K, f *flight[V]) {
	g.mu.Lock()
	f.waiting--
	last := f.waiting == 0
	g.mu.Unlock()
	if last {
		g.remove(key, f)
		f.cancel()
	}
}

// remove makes the next caller start anew.
func (g *Group[K, V]) remove(key K, f *flight[V]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running[key] == f {
		delete(g.running, key)
	}
}

func (g *Group[K, V]) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live--
}

// Waiting is how many callers wait for work at the moment.
func (g *Group[K, V]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, f := range g.running {
		n += f.waiting
	}
	return n
}

// Close takes no more work, gives up what runs and waits for its end.
func (g *Group[K, V]) Close() {
	g.mu.Lock()
	g.closed = true
	for _, f := range g.running {
		f.cancel()
	}
	g.mu.Unlock()
	g.ending.Wait()
}
