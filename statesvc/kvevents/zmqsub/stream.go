package zmqsub

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Stream follows the KV events of one rank. Its methods are safe for concurrent use.
type Stream struct {
	o      Options
	queue  *queue
	cancel context.CancelFunc
	done   sync.WaitGroup

	journal  *journal
	follower follower // belongs to its goroutine

	reason atomic.Uint32 // of status, for Reason

	mu      sync.Mutex
	present doubts
	status  Status
}

// Open begins to follow a rank. Close ends it.
func Open(o Options) *Stream {
	o.Limits = o.Limits.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	s := &Stream{o: o, queue: newQueue(o.Limits.QueueMessages, o.Limits.QueueBytes), cancel: cancel}
	s.status = Status{Endpoint: o.Endpoint, Last: -1, Reason: ReasonConnecting, Since: time.Now()}
	s.present.add(ReasonConnecting)
	s.reason.Store(uint32(ReasonConnecting))
	s.follower = follower{s: s}
	s.journal = newJournal(o.Logger, "KV events", o.Endpoint)
	s.done.Go(func() { s.journal.run(ctx) })
	s.done.Go(func() { s.subscribe(ctx) })
	s.done.Go(func() { s.follower.run(ctx) })
	return s
}

// Close ends the stream and returns when nothing of it runs any more: nothing reaches the
// sink after that.
func (s *Stream) Close() {
	s.cancel()
	s.done.Wait()
}

// Reason is that of the status, and waits for nobody.
func (s *Stream) Reason() Reason { return Reason(s.reason.Load()) }

// Renewed tells that the engine's process is known to have ended. The stream begins anew,
// unless it noticed a process that ended before it was told.
func (s *Stream) Renewed() { s.queue.offer(item{kind: itemRenewed}) }

// Status tells how the stream stands.
func (s *Stream) Status() Status {
	items, dropped := s.queue.held()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.status
	out.Queued = items
	out.Counts.Overflows = dropped
	return out
}

// subscribe feeds the queue.
func (s *Stream) subscribe(ctx context.Context) {
	var link uint64
	sub := subscriber{
		endpoint: s.o.Endpoint, topic: s.o.Topic, maxBytes: s.o.Limits.MaxMessageBytes,
		up: func() {
			link++
			s.journal.note(func(n *standing) { n.trouble = troubleNone })
			s.queue.offer(item{kind: itemUp, link: link})
		},
		down:    func(err error) { s.queue.offer(item{kind: itemDown, link: link, err: err}) },
		failed:  s.dialFailed,
		message: func(m message) { s.receive(m, link) },
	}
	sub.run(ctx)
}

func (s *Stream) receive(m message, link uint64) {
	s.mu.Lock()
	msg, ok := cut(m, s.o.Topic, &s.status.Counts)
	s.mu.Unlock()
	if ok {
		s.queue.offer(item{msg: msg, oversized: m.oversized, link: link})
	}
}

func (s *Stream) dialFailed(err error) {
	s.journal.note(func(n *standing) { n.trouble, n.err = troubleOf(err), err.Error() })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Counts.DialErrors++
	s.status.Error = err.Error()
}

// change updates reasons and status together.
func (s *Stream) change(update func(d *doubts, st *Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	update(&s.present, &s.status)
	if r := s.present.reason(); r != s.status.Reason {
		s.status.Reason, s.status.Since = r, time.Now()
		s.reason.Store(uint32(r))
	}
	st := &s.status
	s.journal.note(func(n *standing) { n.trust, n.reason, n.last = st.Trust(), st.Reason, st.Last })
}

func (s *Stream) count(add func(c *Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.status.Counts)
}
