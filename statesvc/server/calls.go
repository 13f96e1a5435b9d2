package server

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/callstream"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"google.golang.org/grpc/codes"
)

// Bounds of a stream of calls. A filter's context, one thread of a proxy, rarely has more
// calls under way. What they say beside the body, 256 scopes at most, takes less than the rest.
const (
	maxStreamCalls   = 4 * wire.MaxCalls
	maxStreamMessage = wire.MaxCallBody + 192<<10
)

// newStreams serves as many streams as contexts, each of which opens one.
func (s *Server) newStreams() *callstream.Server {
	return callstream.New(callstream.Options{
		Handler: streamed{s}, Streams: s.limits.MaxContexts, InFlight: maxStreamCalls, Message: maxStreamMessage,
	})
}

// stream is POST /pointsman.v1.State/Calls (design section 3 steps 4 and 7, over one stream).
// It takes no slot: each of its calls does.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	if err := callstream.Speaks(r); err != nil {
		status := http.StatusUnsupportedMediaType
		if r.ProtoMajor != 2 {
			status = http.StatusHTTPVersionNotSupported
		}
		// Without it net/http waits for the end of the body first, and a stream has none.
		_ = http.NewResponseController(w).EnableFullDuplex()
		fail(w, status, "grpc_only", err.Error())
		return
	}
	st := s.streams.Open(w, r)
	if st == nil {
		counted(w, http.StatusServiceUnavailable)
		return
	}
	if rec, ok := w.(*recorder); ok {
		rec.stream = true
	}
	s.meter.Opened()
	code := st.Serve()
	s.meter.Ended(statusOf(code))
}

// statusOf gives the HTTP status that an ended stream counts as. One that the client or a
// drain ended is a good one.
func statusOf(code codes.Code) int {
	if slices.Contains([]codes.Code{codes.OK, codes.Canceled, codes.Unavailable}, code) {
		return http.StatusOK
	}
	if code == codes.ResourceExhausted {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

// streamed answers the calls of streams, as POST /v1/observe and /v1/bind answer theirs.
type streamed struct{ *Server }

// Answer implements callstream.Handler.
func (s streamed) Answer(ctx context.Context, c *callstream.Call) *wirepb.CallReply {
	began := time.Now()
	if !s.enter() {
		return s.Overloaded(c)
	}
	defer s.leave()
	reply, status := s.answer(ctx, c)
	s.meter.Count(StreamedTaken, 1)
	s.meter.Request(routeOf(c), status, time.Since(began))
	return reply
}

// answer turns a panic into a refusal: net/http does so for its requests, and what runs
// beside them would end the process. The log has where it was and nothing of the call.
func (s streamed) answer(ctx context.Context, c *callstream.Call) (reply *wirepb.CallReply, status int) {
	defer func() {
		if cause := recover(); cause != nil {
			reply, status = &wirepb.CallReply{Refused: internalError}, http.StatusInternalServerError
			s.log.Error("a call of a stream panicked", "cause", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
		}
	}()
	switch {
	case c.Observe != nil && c.Bind != nil:
		s.meter.Count(ObserveRefused, 1)
		return &wirepb.CallReply{Refused: badRequest}, http.StatusBadRequest
	case c.Observe != nil:
		return s.observeCall(ctx, c)
	}
	return s.bindCall(ctx, c)
}

// Overloaded implements callstream.Handler.
func (s streamed) Overloaded(c *callstream.Call) *wirepb.CallReply {
	outcome := BindOverloaded
	if c.Observe != nil {
		outcome = ObserveOverloaded
	}
	s.meter.Count(outcome, 1)
	s.meter.Count(StreamedOverloaded, 1)
	s.meter.Request(routeOf(c), http.StatusServiceUnavailable, 0)
	return &wirepb.CallReply{Refused: overloaded}
}

// routeOf is the route that takes such a call by itself.
func routeOf(c *callstream.Call) string {
	if c.Observe != nil {
		return "observe"
	}
	return "bind"
}

func (s *Server) observeCall(ctx context.Context, c *callstream.Call) (*wirepb.CallReply, int) {
	request, err := readObserve(c.Observe)
	if err != nil {
		s.meter.Count(ObserveRefused, 1)
		return &wirepb.CallReply{Refused: badRequest}, http.StatusBadRequest
	}
	if s.looks(request) && int64(len(c.Body)) > s.limits.MaxObserveBodyBytes {
		s.meter.Count(ObserveRefused, 1)
		return &wirepb.CallReply{Refused: payloadTooLarge}, http.StatusRequestEntityTooLarge
	}
	ctx, cancel := within(ctx, request.GetTimeoutMs())
	defer cancel()
	return &wirepb.CallReply{Observed: s.observed(ctx, request, c.Body)}, http.StatusOK
}

func (s *Server) bindCall(ctx context.Context, c *callstream.Call) (*wirepb.CallReply, int) {
	request, err := s.readBind(c.Bind, false)
	if err != nil {
		s.meter.Count(BindRefused, 1)
		return &wirepb.CallReply{Refused: badRequest}, http.StatusBadRequest
	}
	ctx, cancel := within(ctx, request.GetTimeoutMs())
	defer cancel()
	reply := s.bound(ctx, request)
	if reply == nil {
		return &wirepb.CallReply{Refused: bindingsUnavailable}, http.StatusServiceUnavailable
	}
	return &wirepb.CallReply{Bound: reply}, http.StatusOK
}
