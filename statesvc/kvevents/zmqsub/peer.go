package zmqsub

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/go-zeromq/zmq4"
)

const (
	// handshakeTimeout bounds dialling and the greeting.
	handshakeTimeout = 5 * time.Second
	// keepAlive finds a machine that is gone within a minute or so.
	keepAlive = 15 * time.Second
	// maxFrames is more than any message of an engine has.
	maxFrames = 16
	// maxCommand bounds what a peer says of itself.
	maxCommand = 64 << 10
)

// Flags of a frame (ZMTP 3.0).
const (
	flagMore    = 1
	flagLong    = 2
	flagCommand = 4
)

var (
	errFrames  = fmt.Errorf("a message has more than %d parts", maxFrames)
	errCommand = errors.New("the peer sent a malformed command")
	// errEndpoint is an address that cannot be dialled.
	errEndpoint = errors.New("not tcp://host:port")
)

// peer is one connection to a socket of an engine.
type peer struct {
	conn net.Conn
	out  *zmq4.Conn
	in   *bufio.Reader
	max  int         // bytes of a message
	free func() bool // lets go of the context that cuts the connection
}

// message is one message as it came. Parts that would take it beyond the peer's bound
// are empty, and oversized is set.
type message struct {
	frames    [][]byte
	oversized bool
	command   bool
}

// dial connects a socket of a type to an endpoint, tcp://host:port. The caller closes
// the peer; the end of ctx cuts its connection.
func dial(ctx context.Context, endpoint string, kind zmq4.SocketType, maxBytes int) (*peer, error) {
	address, ok := strings.CutPrefix(endpoint, "tcp://")
	if !ok {
		return nil, fmt.Errorf("endpoint %q: %w", endpoint, errEndpoint)
	}
	dialer := net.Dialer{Timeout: handshakeTimeout, KeepAlive: keepAlive}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	p := &peer{conn: conn, max: maxBytes}
	p.free = context.AfterFunc(ctx, func() { _ = conn.Close() })
	if err := p.greet(kind); err != nil {
		p.close()
		return nil, fmt.Errorf("%s: %w", endpoint, err)
	}
	return p, nil
}

func (p *peer) close() {
	p.free()
	_ = p.conn.Close()
}

func (p *peer) greet(kind zmq4.SocketType) error {
	if err := p.conn.SetDeadline(time.Now().Add(handshakeTimeout)); err != nil {
		return err
	}
	out, err := zmq4.Open(p.conn, &handshake{peer: p, kind: kind}, kind, nil, false, nil)
	if err != nil {
		return err
	}
	p.out = out
	return p.conn.SetDeadline(time.Time{})
}

// handshake is ZMQ's NULL mechanism with bounded reading.
type handshake struct {
	peer *peer
	kind zmq4.SocketType
}

// Type implements zmq4.Security.
func (*handshake) Type() zmq4.SecurityType { return zmq4.NullSecurity }

// Encrypt implements zmq4.Security.
func (*handshake) Encrypt(w io.Writer, data []byte) (int, error) { return w.Write(data) }

// Decrypt implements zmq4.Security.
func (*handshake) Decrypt(w io.Writer, data []byte) (int, error) { return w.Write(data) }

// Handshake exchanges metadata. It is called after the greetings, of which the library
// reads exactly the bytes.
func (h *handshake) Handshake(conn *zmq4.Conn, _ bool) error {
	metadata, err := conn.Meta.MarshalZMTP()
	if err != nil {
		return err
	}
	if err := conn.SendCmd(zmq4.CmdReady, metadata); err != nil {
		return err
	}
	p := h.peer
	p.in = bufio.NewReaderSize(p.conn, 16<<10)
	most := p.max
	p.max = maxCommand
	m, err := p.read()
	p.max = most
	if err != nil {
		return err
	}
	name, body, ok := command(m)
	if !ok || name != zmq4.CmdReady {
		return errCommand
	}
	other, ok := property(body, "socket-type")
	if !ok || !fits(h.kind, zmq4.SocketType(other)) {
		return fmt.Errorf("the peer is a %.20q socket, which is none that a %s can talk to", other, h.kind)
	}
	conn.Peer.Meta["Socket-Type"] = other
	return nil
}

// fits tells which sockets engines have for ours.
func fits(kind, other zmq4.SocketType) bool {
	if kind == zmq4.Sub {
		return other == zmq4.Pub || other == zmq4.XPub
	}
	return other == zmq4.Router || other == zmq4.Rep || other == zmq4.Dealer
}

// property finds a value in metadata: a length byte and a name, four length bytes and
// the value.
func property(b []byte, want string) (string, bool) {
	for len(b) > 0 {
		n := 1 + int(b[0])
		if len(b) < n+4 {
			return "", false
		}
		name := string(b[1:n])
		size := uint64(binary.BigEndian.Uint32(b[n:]))
		if b = b[n+4:]; uint64(len(b)) < size {
			return "", false
		}
		if strings.EqualFold(name, want) {
			return string(b[:size]), true
		}
		b = b[size:]
	}
	return "", false
}

// command takes a command apart: a length byte and a name, the rest is its body.
func command(m message) (name string, body []byte, ok bool) {
	if !m.command || len(m.frames) != 1 || len(m.frames[0]) == 0 {
		return "", nil, false
	}
	b := m.frames[0]
	n := 1 + int(b[0])
	if len(b) < n {
		return "", nil, false
	}
	return string(b[1:n]), b[n:], true
}

// send sends one message.
func (p *peer) send(frames ...[]byte) error {
	return p.out.SendMsg(zmq4.NewMsgFrom(frames...))
}

// receive waits for the next message that is not a command.
func (p *peer) receive() (message, error) {
	for {
		m, err := p.read()
		if err != nil || !m.command {
			return m, err
		}
		if name, body, ok := command(m); ok && name == zmq4.CmdPing {
			// A PING has two bytes of time to live before what is to be sent back.
			if err := p.out.SendCmd(zmq4.CmdPong, body[min(2, len(body)):]); err != nil {
				return message{}, err
			}
		}
	}
}

// read reads one message or command.
func (p *peer) read() (message, error) {
	var m message
	left := p.max
	for more := true; more; {
		flags, size, err := p.header()
		if err != nil {
			return message{}, err
		}
		more = flags&flagMore != 0
		m.command = m.command || flags&flagCommand != 0
		if len(m.frames) == maxFrames {
			return message{}, errFrames
		}
		var body []byte
		if size > uint64(left) {
			m.oversized = true
			err = p.discard(size)
		} else {
			left -= int(size)
			body = make([]byte, size)
			_, err = io.ReadFull(p.in, body)
		}
		if err != nil {
			return message{}, err
		}
		m.frames = append(m.frames, body)
	}
	return m, nil
}

func (p *peer) header() (flags byte, size uint64, err error) {
	if flags, err = p.in.ReadByte(); err != nil {
		return 0, 0, err
	}
	if flags&flagLong == 0 {
		short, err := p.in.ReadByte()
		return flags, uint64(short), err
	}
	var long [8]byte
	if _, err := io.ReadFull(p.in, long[:]); err != nil {
		return 0, 0, err
	}
	return flags, binary.BigEndian.Uint64(long[:]), nil
}

func (p *peer) discard(size uint64) error {
	for size > 0 {
		n := int(min(size, 1<<20))
		if _, err := p.in.Discard(n); err != nil {
			return err
		}
		size -= uint64(n)
	}
	return nil
}
