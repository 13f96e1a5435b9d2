package zmqsub

import (
	"context"
	"log/slog"
	"sync"

	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
)

// FeedOptions are a Feed's facts. Endpoint, Logger and Take are required.
type FeedOptions struct {
	Endpoint        string // tcp://host:port of the PUB socket
	Topic           string // prefix of the topics to take; empty for all
	MaxMessageBytes int
	Logger          *slog.Logger
	// Take is called with each payload from one goroutine, and never after Close has
	// returned. It should be quick: messages wait in the socket meanwhile.
	Take func(payload []byte)
}

// Feed follows a socket whose last message counts: numbers are not looked at, nothing is
// replayed (engine-selection.md 5.1).
type Feed struct {
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	status Status
}

// OpenFeed begins to follow a socket. Close ends it.
func OpenFeed(o FeedOptions) *Feed {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Feed{cancel: cancel, status: Status{Endpoint: o.Endpoint, Last: -1}}
	j := newJournal(o.Logger, "load reports", o.Endpoint)
	sub := subscriber{
		endpoint: o.Endpoint, topic: o.Topic, maxBytes: orElse(o.MaxMessageBytes, DefaultLimits().MaxMessageBytes),
		up: func() {
			j.note(func(n *standing) { n.trouble = troubleNone })
			f.change(func(st *Status) {
				st.Connected, st.Error = true, ""
				st.Counts.Connects++
			})
		},
		down: func(err error) { f.change(func(st *Status) { st.Connected, st.Error = false, err.Error() }) },
		failed: func(err error) {
			j.note(func(n *standing) { n.trouble, n.err = troubleOf(err), err.Error() })
			f.change(func(st *Status) {
				st.Counts.DialErrors++
				st.Error = err.Error()
			})
		},
		message: func(m message) {
			if msg, ok := f.cut(m, o.Topic); ok {
				o.Take(msg.Payload)
			}
		},
	}
	f.done.Go(func() { j.run(ctx) })
	f.done.Go(func() { sub.run(ctx) })
	return f
}

func (f *Feed) cut(m message, topic string) (engine.Message, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	msg, ok := cut(m, topic, &f.status.Counts)
	if !ok || m.oversized || msg.Seq == engine.EndOfReplay {
		return msg, false
	}
	f.status.Counts.Batches++
	return msg, true
}

// Close ends the feed and returns when nothing of it runs any more.
func (f *Feed) Close() {
	f.cancel()
	f.done.Wait()
}

// Status tells how the feed stands. It has no Reason: its readings age by themselves.
func (f *Feed) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *Feed) change(update func(*Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	update(&f.status)
}
