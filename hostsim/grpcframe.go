package hostsim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// grpcHeaderSize is the size of what precedes each message: flags and length.
const grpcHeaderSize = 5

var (
	errGRPCFrame    = errors.New("a gRPC frame that is none, or compressed")
	errGRPCTooLarge = errors.New("a gRPC message above the limit")
)

// readGRPCMessage reads one frame. At the end of r it answers io.EOF, in the middle of a frame too: Envoy drops what
// came of that.
func readGRPCMessage(r io.Reader, limit int) ([]byte, error) {
	var header [grpcHeaderSize]byte
	if err := readWhole(r, header[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(header[1:]))
	switch {
	case header[0]&^1 != 0, header[0] != 0 && size > 0:
		return nil, errGRPCFrame
	case size > int64(limit):
		return nil, errGRPCTooLarge
	}
	message := make([]byte, size)
	return message, readWhole(r, message)
}

// readWhole fills p. Unlike io.ReadFull it keeps the end of r apart from a connection that broke.
func readWhole(r io.Reader, p []byte) error {
	for len(p) > 0 {
		n, err := r.Read(p)
		if p = p[n:]; err != nil && len(p) > 0 {
			return err
		}
	}
	return nil
}

// grpcOutbox holds what a guest sends until the connection takes it: the body of a request that goes on and on. Safe
// for concurrent use by one writer and one reader. As in Envoy nothing holds the guest back.
type grpcOutbox struct {
	mu     sync.Mutex
	more   sync.Cond
	buffer bytes.Buffer
	ended  bool // by the guest
	closed bool // by the connection
}

func newGRPCOutbox() *grpcOutbox {
	o := &grpcOutbox{}
	o.more.L = &o.mu
	return o
}

// put adds a message with its frame, and the end if it is the last.
func (o *grpcOutbox) put(message []byte, last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || o.closed {
		return
	}
	var header [grpcHeaderSize]byte
	binary.BigEndian.PutUint32(header[1:], uint32(len(message)))
	o.buffer.Write(header[:])
	o.buffer.Write(message)
	o.ended = last
	o.more.Signal()
}

// end says that nothing more comes.
func (o *grpcOutbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.more.Signal()
}

// Read implements io.Reader. It waits for the next bytes.
func (o *grpcOutbox) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.buffer.Len() == 0 && !o.ended && !o.closed {
		o.more.Wait()
	}
	if o.closed {
		return 0, io.ErrClosedPipe
	}
	return o.buffer.Read(p)
}

// Close implements io.Closer, for the connection: nothing is read any more.
func (o *grpcOutbox) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.buffer = bytes.Buffer{}
	o.more.Signal()
	return nil
}
