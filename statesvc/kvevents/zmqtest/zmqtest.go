// Package zmqtest is an engine's event sockets for tests: a PUB socket and a ROUTER
// socket that replays what was published, on loopback, in plain Go. It can be killed and
// started anew at its addresses, drop batches, replay slowly or in part, and send what
// no engine would.
package zmqtest

import (
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
	"github.com/stretchr/testify/require"
)

// Batch is one published batch.
type Batch struct {
	Seq     int64
	Payload []byte
}

// Replays say how the ROUTER socket behaves.
type Replays struct {
	NoTopic bool          // the form before vLLM 0.26.0
	Delay   time.Duration // before each reply
	// Limit ends a replay without its marker after so many replies; 0 for none.
	Limit int
	// Mute makes the socket answer nothing.
	Mute bool
	// Skip leaves batches out of so many replays, one of three, as a socket at its
	// high-water mark does; negative is of all.
	Skip int
}

// Publisher is one rank's sockets. Methods are safe for concurrent use.
type Publisher struct {
	t     testing.TB
	topic string

	pub, router string // addresses

	mu       sync.Mutex
	running  *run
	buffer   []Batch
	next     int64
	replays  Replays
	asked    []int64
	handlers sync.WaitGroup
}

// run is one process.
type run struct {
	dead      bool
	listeners []net.Listener
	conns     map[net.Conn]bool
	subs      map[*zmq4.Conn]bool
}

// Start runs a publisher until the test ends.
func Start(t testing.TB, topic string) *Publisher {
	t.Helper()
	p := &Publisher{t: t, topic: topic, pub: "127.0.0.1:0", router: "127.0.0.1:0"}
	p.Restart()
	t.Cleanup(p.Kill)
	return p
}

// Endpoint is the PUB socket's; it stays over Kill and Restart.
func (p *Publisher) Endpoint() string { return "tcp://" + p.pub }

// Replay is the ROUTER socket's endpoint.
func (p *Publisher) Replay() string { return "tcp://" + p.router }

// SetReplays changes how replays are answered.
func (p *Publisher) SetReplays(r Replays) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replays = r
}

// Asked lists the numbers that replays were asked from.
func (p *Publisher) Asked() []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]int64(nil), p.asked...)
}

// Kill closes sockets and connections. The buffer goes with the process.
func (p *Publisher) Kill() {
	p.mu.Lock()
	r := p.running
	p.running, p.buffer, p.next = nil, nil, 0
	if r != nil {
		r.dead = true
		for _, l := range r.listeners {
			_ = l.Close()
		}
		for c := range r.conns {
			_ = c.Close()
		}
	}
	p.mu.Unlock()
	p.handlers.Wait()
}

// Cut breaks the connections of the PUB socket; the process lives.
func (p *Publisher) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.running.conns {
		_ = c.Close()
	}
}

// Restart starts a process at the addresses of the one before, with nothing published.
func (p *Publisher) Restart() {
	p.t.Helper()
	r := &run{conns: map[net.Conn]bool{}, subs: map[*zmq4.Conn]bool{}}
	for _, s := range []struct {
		address *string
		kind    zmq4.SocketType
		serve   func(*run, *zmq4.Conn)
	}{{&p.pub, zmq4.Pub, p.serveSub}, {&p.router, zmq4.Router, p.serveReplay}} {
		l, err := net.Listen("tcp", *s.address)
		require.NoError(p.t, err)
		*s.address = l.Addr().String()
		r.listeners = append(r.listeners, l)
		p.handlers.Go(func() { p.accept(r, l, s.kind, s.serve) })
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.buffer, p.next = r, nil, 0
}

func (p *Publisher) accept(r *run, l net.Listener, kind zmq4.SocketType, serve func(*run, *zmq4.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		if r.dead {
			p.mu.Unlock()
			_ = c.Close()
			return
		}
		r.conns[c] = true
		p.mu.Unlock()
		p.handlers.Go(func() {
			defer func() {
				_ = c.Close()
				p.mu.Lock()
				delete(r.conns, c)
				p.mu.Unlock()
			}()
			if z, err := zmq4.Open(c, null.Security(), kind, nil, true, nil); err == nil {
				serve(r, z)
			}
		})
	}
}

// serveSub keeps a subscriber until its connection breaks.
func (p *Publisher) serveSub(r *run, z *zmq4.Conn) {
	for {
		m, err := z.RecvMsg()
		p.mu.Lock()
		if err != nil {
			delete(r.subs, z)
			p.mu.Unlock()
			return
		}
		if len(m.Frames) == 1 && len(m.Frames[0]) > 0 && m.Frames[0][0] == 1 {
			r.subs[z] = true
		}
		p.mu.Unlock()
	}
}

// Subscribers counts those whose subscription has arrived.
func (p *Publisher) Subscribers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return 0
	}
	return len(p.running.subs)
}

// Publish sends a payload as the next batch and keeps it for replays.
func (p *Publisher) Publish(payload []byte) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	seq := p.keep(payload)
	p.send([]byte(p.topic), sequence(seq), payload)
	return seq
}

// Lose keeps a payload as the next batch without sending it, as a socket at its
// high-water mark does.
func (p *Publisher) Lose(payload []byte) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keep(payload)
}

// Forget drops the batches before a number from the replay buffer.
func (p *Publisher) Forget(before int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buffer) > 0 && p.buffer[0].Seq < before {
		p.buffer = p.buffer[1:]
	}
}

// Send sends frames as they are to every subscriber.
func (p *Publisher) Send(frames ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(frames...)
}

// SendAs sends a payload under a number, and keeps nothing.
func (p *Publisher) SendAs(seq int64, payload []byte) {
	p.Send([]byte(p.topic), sequence(seq), payload)
}

func (p *Publisher) keep(payload []byte) int64 {
	seq := p.next
	p.next++
	p.buffer = append(p.buffer, Batch{Seq: seq, Payload: payload})
	return seq
}

func (p *Publisher) send(frames ...[]byte) {
	if p.running == nil {
		return
	}
	for z := range p.running.subs {
		_ = z.SendMsg(zmq4.NewMsgFrom(frames...))
	}
}

func sequence(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// serveReplay answers replay requests (fixtures/README.md section 2).
func (p *Publisher) serveReplay(_ *run, z *zmq4.Conn) {
	for {
		m, err := z.RecvMsg()
		if err != nil {
			return
		}
		if len(m.Frames) != 2 || len(m.Frames[0]) != 0 {
			continue
		}
		var from int64
		for _, b := range m.Frames[1] {
			from = from<<8 | int64(b)
		}
		p.mu.Lock()
		p.asked = append(p.asked, from)
		how := p.replays
		p.replays.Skip = max(how.Skip-1, min(how.Skip, 0))
		buffer := append([]Batch(nil), p.buffer...)
		p.mu.Unlock()
		if how.Mute {
			continue
		}
		if !p.answer(z, from, how, buffer) {
			return
		}
	}
}

func (p *Publisher) answer(z *zmq4.Conn, from int64, how Replays, buffer []Batch) bool {
	sent := 0
	for _, b := range buffer {
		if b.Seq < from || how.Skip != 0 && b.Seq%3 == 2 {
			continue
		}
		time.Sleep(how.Delay)
		if how.Limit > 0 && sent == how.Limit {
			return true
		}
		frames := [][]byte{{}, []byte(p.topic), sequence(b.Seq), b.Payload}
		if how.NoTopic {
			frames = [][]byte{{}, sequence(b.Seq), b.Payload}
		}
		if z.SendMsg(zmq4.NewMsgFrom(frames...)) != nil {
			return false
		}
		sent++
	}
	end := [][]byte{{}, {}, sequence(-1), {}}
	if how.NoTopic {
		end = [][]byte{{}, sequence(-1), {}}
	}
	return z.SendMsg(zmq4.NewMsgFrom(end...)) == nil
}
