package hostsim

import (
	"errors"
	"io"
	"sync"
)

// replayLimit is up to how many bytes a request body is kept, so that it can be sent again when an idle connection
// turns out to be dead before a byte was written.
const replayLimit = 1 << 20

// errBodyAborted is what readers of an aborted body see.
var errBodyAborted = errors.New("the request was abandoned")

// bodyPipe carries a body from a VM's goroutine, which must not wait, to the reader that sends it. Writers are slowed
// down through waitBelow. Safe for concurrent use.
type bodyPipe struct {
	mu       sync.Mutex
	changed  sync.Cond
	chunks   [][]byte
	total    int
	unread   int
	dropped  bool // chunks that were read are gone
	ended    bool
	err      error
	trailers *Headers
}

func newBodyPipe() *bodyPipe {
	p := &bodyPipe{}
	p.changed.L = &p.mu
	return p
}

func (p *bodyPipe) write(chunk []byte, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(chunk) > 0 {
		p.chunks = append(p.chunks, chunk)
		p.total += len(chunk)
		p.unread += len(chunk)
	}
	p.ended = p.ended || end
	p.changed.Broadcast()
}

func (p *bodyPipe) endWith(trailers *Headers) {
	p.mu.Lock()
	p.trailers = trailers
	p.mu.Unlock()
	p.write(nil, true)
}

// abort makes all readers and waiters return.
func (p *bodyPipe) abort() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = errBodyAborted
	}
	p.changed.Broadcast()
}

// waitBelow blocks while more than limit bytes wait to be read.
func (p *bodyPipe) waitBelow(limit int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.unread > limit && p.err == nil {
		p.changed.Wait()
	}
}

func (p *bodyPipe) trailer() *Headers {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trailers
}

// reader returns a reader from the beginning; an error when the beginning is gone.
func (p *bodyPipe) reader() (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped {
		return nil, errors.New("the request body is not kept")
	}
	p.unread = p.total
	return &bodyReader{pipe: p}, nil
}

// bodyReader reads a pipe from its beginning. One is in use at a time.
type bodyReader struct {
	pipe *bodyPipe
	// next is the chunk to read, from its byte at offset.
	next, offset int
	closed       bool
}

// Read implements io.Reader.
func (r *bodyReader) Read(dst []byte) (int, error) {
	p := r.pipe
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case r.closed:
			return 0, io.ErrClosedPipe
		case p.err != nil:
			return 0, p.err
		case r.next < len(p.chunks):
			return r.take(dst), nil
		case p.ended:
			return 0, io.EOF
		}
		p.changed.Wait()
	}
}

// take copies from the present chunk. Big bodies are dropped as they are read.
func (r *bodyReader) take(dst []byte) int {
	p := r.pipe
	chunk := p.chunks[r.next]
	n := copy(dst, chunk[r.offset:])
	r.offset += n
	p.unread -= n
	if r.offset == len(chunk) {
		r.offset = 0
		r.next++
		if p.total > replayLimit {
			p.dropped = true
			p.chunks = p.chunks[r.next:]
			r.next = 0
		}
	}
	p.changed.Broadcast()
	return n
}

// Close implements io.Closer.
func (r *bodyReader) Close() error {
	r.pipe.mu.Lock()
	defer r.pipe.mu.Unlock()
	r.closed = true
	r.pipe.changed.Broadcast()
	return nil
}
