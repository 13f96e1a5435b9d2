package callstream

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/pointsman/pointsman/statesvc/wirepb"
	"google.golang.org/grpc/codes"
)

// Path is that of the stream: package, service and method of the contract.
const Path = "/pointsman.v1.State/Calls"

// Handler answers calls that are not greetings.
type Handler interface {
	// Answer answers a call within the call's own time, and soon after ctx ends. It is
	// called concurrently, and may keep the call.
	Answer(ctx context.Context, c *Call) *wirepb.CallReply
	// Overloaded answers a call for which its stream has no place, without waiting.
	Overloaded(c *Call) *wirepb.CallReply
}

// Options are a Server's facts, all required.
type Options struct {
	Handler  Handler
	Streams  int // open at once, at most
	InFlight int // calls of one stream that are worked on or wait to be answered, at most
	Message  int // bytes of one call, at most
}

// Server holds the open streams. Its methods are safe for concurrent use.
type Server struct {
	opts Options

	mu       sync.Mutex
	streams  map[*stream]struct{}
	draining bool
}

// New prepares a server.
func New(o Options) *Server {
	return &Server{opts: o, streams: map[*stream]struct{}{}}
}

// Speaks reports whether a request is gRPC's, and if not, what the client has to change.
func Speaks(r *http.Request) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.ProtoMajor != 2:
		return errors.New("calls come over a gRPC stream, which needs HTTP/2; POST /v1/observe and /v1/bind take calls one by one")
	case kind != "application/grpc" && kind != "application/grpc+proto":
		return errors.New("calls come over a gRPC stream; send content-type application/grpc")
	}
	return nil
}

// Open begins to answer a request that Speaks, or refuses it. Serve goes on with what it
// returns; nil when the request was refused.
func (s *Server) Open(w http.ResponseWriter, r *http.Request) *Stream {
	st := newStream(&s.opts, w, r)
	code, message := s.enter(st)
	if code != codes.OK {
		Refuse(w, code, message)
		return nil
	}
	return &Stream{stream: st, server: s}
}

func (s *Server) enter(st *stream) (codes.Code, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.draining:
		return codes.Unavailable, stopping
	case len(s.streams) >= s.opts.Streams:
		return codes.ResourceExhausted, "too many streams are open at once; send calls by POST /v1/observe and /v1/bind, and try again later"
	}
	s.streams[st] = struct{}{}
	return codes.OK, ""
}

func (s *Server) leave(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
}

// Drain lets every stream answer the calls that have arrived and end with UNAVAILABLE. It does
// not wait for that; no stream is opened any more.
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draining = true
	for st := range s.streams {
		st.stopReading()
	}
}

// Stream is one open stream. Its request's handler calls Serve, once.
type Stream struct {
	stream *stream
	server *Server
}

// Serve answers calls until the stream ends and tells how it did: OK when the client closed
// it, Canceled when it went away, Unavailable after Drain, else what was wrong with what it
// sent. Nothing of the stream runs any more when it returns.
func (s *Stream) Serve() codes.Code {
	defer s.server.leave(s.stream)
	return s.stream.serve()
}

// past is a deadline that was over long ago.
var past = time.Unix(1, 0)
