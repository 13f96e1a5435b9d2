package kvfeed

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/go-zeromq/zmq4/security/null"
)

// handshake bounds how long a peer may take to say what it is.
const handshake = 10 * time.Second

// accept serves each connection of a listener until that is closed.
func (f *Feed) accept(l net.Listener, serve func(net.Conn)) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || !f.hold(c) {
			continue
		}
		f.work.Go(func() {
			defer f.let(c)
			defer spare()
			serve(c)
		})
	}
}

// spare keeps a peer's nonsense its own loss: the library panics on some metadata and on
// sizes that nobody can allocate.
func spare() { _ = recover() }

// hold notes a connection, unless the feed is closed.
func (f *Feed) hold(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over() {
		_ = c.Close()
		return false
	}
	f.conns[c] = struct{}{}
	return true
}

func (f *Feed) let(c net.Conn) {
	_ = c.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
}

// open shakes hands as a socket of a type.
func open(c net.Conn, kind zmq4.SocketType) (*zmq4.Conn, error) {
	if err := c.SetDeadline(time.Now().Add(handshake)); err != nil {
		return nil, err
	}
	z, err := zmq4.Open(c, null.Security(), kind, nil, true, nil)
	if err != nil {
		return nil, err
	}
	return z, c.SetDeadline(time.Time{})
}

// subscriber is a connection of the PUB socket.
type subscriber struct {
	queue chan [][]byte

	mu     sync.Mutex
	topics map[string]int
}

func (s *subscriber) subscribed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.topics) > 0
}

// offer queues frames if their topic is wanted and there is room.
func (s *subscriber) offer(frames [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic := range s.topics {
		if bytes.HasPrefix(frames[0], []byte(topic)) {
			select {
			case s.queue <- frames:
			default: // the high-water mark: PUB drops
			}
			return
		}
	}
}

// note takes a subscription, or its end.
func (s *subscriber) note(frame []byte) {
	if len(frame) == 0 || frame[0] > 1 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	topic := string(frame[1:])
	if frame[0] == 1 {
		s.topics[topic]++
	} else if s.topics[topic]--; s.topics[topic] <= 0 {
		delete(s.topics, topic)
	}
}

// serveSubscriber sends to one subscriber until it leaves.
func (f *Feed) serveSubscriber(c net.Conn) {
	z, err := open(c, zmq4.Pub)
	if err != nil {
		return
	}
	s := &subscriber{queue: make(chan [][]byte, f.cfg.Queue), topics: map[string]int{}}
	f.mu.Lock()
	f.subs[s] = struct{}{}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, s)
	}()
	left := make(chan struct{})
	f.work.Go(func() {
		defer close(left)
		defer spare()
		for {
			m, err := z.RecvMsg()
			if err != nil {
				return
			}
			if len(m.Frames) == 1 {
				s.note(m.Frames[0])
			}
		}
	})
	for {
		select {
		case frames := <-s.queue:
			if z.SendMsg(zmq4.NewMsgFrom(frames...)) != nil {
				return
			}
		case <-left:
			return
		case <-f.closed:
			return
		}
	}
}

// serveReplay answers one client until it leaves. Anything but an empty frame and a
// number is not answered.
func (f *Feed) serveReplay(c net.Conn) {
	z, err := open(c, zmq4.Router)
	if err != nil {
		return
	}
	for {
		m, err := z.RecvMsg()
		if err != nil {
			return
		}
		if len(m.Frames) != 2 || len(m.Frames[0]) != 0 {
			continue
		}
		if !f.replay(z, number(m.Frames[1])) {
			return
		}
	}
}

// number reads a big-endian number of any length, at most the greatest.
func number(b []byte) (n uint64) {
	for _, c := range b {
		if n>>56 != 0 {
			return 1<<64 - 1
		}
		n = n<<8 | uint64(c)
	}
	return n
}

func (f *Feed) replay(z *zmq4.Conn, start uint64) bool {
	list, wait := f.since(start)
	for _, m := range list {
		if wait > 0 && !f.pause(wait) {
			return false
		}
		if z.SendMsg(zmq4.NewMsgFrom(f.reply(m)...)) != nil {
			return false
		}
	}
	return z.SendMsg(zmq4.NewMsgFrom(f.end()...)) == nil
}

// pause waits, unless the feed is closed meanwhile.
func (f *Feed) pause(wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-f.closed:
		return false
	}
}
