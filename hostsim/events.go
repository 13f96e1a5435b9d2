package hostsim

import "sync"

// eventQueue hands work from any goroutine to the one that drives a VM, in order. It has no bound: its producers are
// bounded themselves (one timer, open callouts, open streams that wait for their turn).
type eventQueue struct {
	mu     sync.Mutex
	events []func()
	closed bool
	// wake holds a token while there may be events.
	wake chan struct{}
}

func newEventQueue() *eventQueue { return &eventQueue{wake: make(chan struct{}, 1)} }

// post adds an event; false means that the queue is closed and the event will never run.
func (q *eventQueue) post(f func()) bool {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return false
	}
	q.events = append(q.events, f)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

func (q *eventQueue) take() []func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events = nil
	return events
}

// run executes events until there are none left.
func (q *eventQueue) run() {
	for {
		events := q.take()
		if len(events) == 0 {
			return
		}
		for _, f := range events {
			f()
		}
	}
}

// close refuses further events and returns those that were waiting.
func (q *eventQueue) close() []func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	events := q.events
	q.events = nil
	return events
}
