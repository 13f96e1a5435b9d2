package zmqsub

import (
	"context"
	"time"

	"github.com/go-zeromq/zmq4"
)

// Waits between attempts to connect (engine-selection.md 10.4).
const (
	firstRedial = 50 * time.Millisecond
	lastRedial  = 2 * time.Second
	// settled is how long a connection must last for the next wait to be short again.
	settled = 5 * time.Second
)

// subscriber keeps a SUB socket connected. Its functions are called from the goroutine
// of run.
type subscriber struct {
	endpoint string
	topic    string
	maxBytes int

	up      func()
	down    func(error) // after up
	failed  func(error) // instead of up
	message func(message)
}

// run connects and reads until ctx ends.
func (s *subscriber) run(ctx context.Context) {
	wait := firstRedial
	for ctx.Err() == nil {
		began := time.Now()
		s.connect(ctx)
		if time.Since(began) > settled {
			wait = firstRedial
		}
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, lastRedial)
	}
}

// connect holds one connection until it breaks.
func (s *subscriber) connect(ctx context.Context) {
	p, err := dial(ctx, s.endpoint, zmq4.Sub, s.maxBytes)
	if err == nil {
		defer p.close()
		err = p.send(append([]byte{1}, s.topic...))
	}
	if err != nil {
		if ctx.Err() == nil {
			s.failed(err)
		}
		return
	}
	s.up()
	for {
		m, err := p.receive()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.down(err)
			return
		}
		s.message(m)
	}
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, span time.Duration) bool {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
