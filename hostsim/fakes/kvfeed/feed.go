package kvfeed

import (
	"encoding/binary"
	"math"
	"net"
	"sync"
	"time"
)

// Defaults of a Config whose field is zero.
const (
	DefaultBuffer = 10_000 // both engines' buffer_steps
	// DefaultQueue is less than the engines' high-water mark of 100,000, so that a test
	// can reach it.
	DefaultQueue = 4096
)

// Config of a Feed.
type Config struct {
	Topic string
	// ReplayTopic puts the topic into replies, as SGLang and vLLM from 0.26.0 on do.
	ReplayTopic bool
	Buffer      int // messages that can be replayed
	Queue       int // messages that wait for one subscriber; what comes then is lost to it
}

// message is one numbered payload.
type message struct {
	seq     uint64
	payload []byte
}

// Feed is a publisher. All methods are safe for concurrent use.
type Feed struct {
	cfg Config

	mu     sync.Mutex
	next   uint64
	kept   []message // the last Buffer ones, in order
	subs   map[*subscriber]struct{}
	lose   int
	wait   time.Duration // before each reply
	closed chan struct{}
	doors  []net.Listener
	conns  map[net.Conn]struct{}

	work sync.WaitGroup
}

// Open makes a feed without sockets: what is published is kept for replay.
func Open(cfg Config) *Feed {
	if cfg.Buffer == 0 {
		cfg.Buffer = DefaultBuffer
	}
	if cfg.Queue == 0 {
		cfg.Queue = DefaultQueue
	}
	return &Feed{cfg: cfg, subs: map[*subscriber]struct{}{}, conns: map[net.Conn]struct{}{}, closed: make(chan struct{})}
}

// Serve takes over listeners, which Close closes. Without a second one nothing is
// replayed. After Close it only closes them.
func (f *Feed) Serve(pub, replay net.Listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serve(pub, f.serveSubscriber)
	if replay != nil {
		f.serve(replay, f.serveReplay)
	}
}

func (f *Feed) serve(l net.Listener, serve func(net.Conn)) {
	if f.over() {
		_ = l.Close()
		return
	}
	f.doors = append(f.doors, l)
	f.work.Go(func() { f.accept(l, serve) })
}

// over reports whether the feed is closed, under the lock.
func (f *Feed) over() bool {
	select {
	case <-f.closed:
		return true
	default:
		return false
	}
}

// Close ends everything at once, as the end of the process would, and waits for it.
func (f *Feed) Close() {
	f.mu.Lock()
	if !f.over() {
		close(f.closed)
	}
	for _, l := range f.doors {
		_ = l.Close()
	}
	for c := range f.conns {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.work.Wait()
}

// Publish numbers a payload, keeps it for replay and sends it to whoever is subscribed.
func (f *Feed) Publish(payload []byte) (seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := message{f.next, payload}
	f.next++
	if len(f.kept) == f.cfg.Buffer {
		copy(f.kept, f.kept[1:])
		f.kept = f.kept[:len(f.kept)-1]
	}
	f.kept = append(f.kept, m)
	if f.lose > 0 {
		f.lose--
		return m.seq
	}
	f.send(f.live(m))
	return m.seq
}

// live is the frames of a message of the PUB socket.
func (f *Feed) live(m message) [][]byte {
	return [][]byte{[]byte(f.cfg.Topic), sequence(m.seq), m.payload}
}

func sequence(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// send queues frames for every subscriber that wants them.
func (f *Feed) send(frames [][]byte) {
	for s := range f.subs {
		s.offer(frames)
	}
}

// Send sends frames as they are, and neither numbers nor keeps them: what an engine
// never would.
func (f *Feed) Send(frames ...[]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.send(frames)
}

// Lose makes the next n messages a gap: they are numbered and can be replayed, and
// nobody is sent them.
func (f *Feed) Lose(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose = n
}

// Repeat sends the last messages again, up to n.
func (f *Feed) Repeat(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.kept[max(0, len(f.kept)-n):] {
		f.send(f.live(m))
	}
}

// SlowReplay makes every reply of the replay socket wait.
func (f *Feed) SlowReplay(wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wait = wait
}

// Subscribers counts connections with a subscription.
func (f *Feed) Subscribers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for s := range f.subs {
		if s.subscribed() {
			n++
		}
	}
	return n
}

// Next is the number of the next message.
func (f *Feed) Next() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

// since copies the kept messages from a number on, and tells how slowly to send them.
func (f *Feed) since(start uint64) ([]message, time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, m := range f.kept {
		if m.seq >= start {
			return append([]message(nil), f.kept[i:]...), f.wait
		}
	}
	return nil, f.wait
}

// reply is the frames of one message of a replay.
func (f *Feed) reply(m message) [][]byte {
	if !f.cfg.ReplayTopic {
		return [][]byte{{}, sequence(m.seq), m.payload}
	}
	return [][]byte{{}, []byte(f.cfg.Topic), sequence(m.seq), m.payload}
}

// end is the marker behind the last reply. It has no topic in either form.
func (f *Feed) end() [][]byte {
	if !f.cfg.ReplayTopic {
		return [][]byte{{}, sequence(math.MaxUint64), {}}
	}
	return [][]byte{{}, {}, sequence(math.MaxUint64), {}}
}
