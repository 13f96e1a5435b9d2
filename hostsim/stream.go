package hostsim

import "time"

// Outlet receives what a Stream lets through: the request on its way to the router, the response on its way to the
// client. It is called on the goroutine that drives the VM and must not block; it may call the Stream, which then acts
// after the running operation. Chunks belong to the receiver.
type Outlet interface {
	RequestHeaders(h *Headers, end bool)
	RequestData(chunk []byte, end bool)
	RequestTrailers(h *Headers)
	ResponseHeaders(h *Headers, end bool)
	ResponseData(chunk []byte, end bool)
	ResponseTrailers(h *Headers)
	// ResetUpstream says that the request which was let through is abandoned.
	ResetUpstream()
	// ResetDownstream says that the response cannot be completed: the client's connection must be cut.
	ResetDownstream()
	// HoldRequest tells the source to stop sending request bytes (true), or to go on (false).
	HoldRequest(hold bool)
	// Done says that the stream is over. Nothing follows.
	Done()
}

// Stream is one HTTP exchange on its way through the filter. Feed it what comes in from the client (Request...) and
// from the upstream (Response..., UpstreamFailed); what the filter lets through goes to its Outlet. Its methods follow
// the VM's rule: one goroutine at a time. After its end they do nothing.
type Stream struct {
	vm  *VM
	ctx *guestContext // nil while the guest does not know the stream
	out Outlet

	request  flow
	response flow
	info     streamInfo
	counters Counters
	idle     idleTimer

	// reply is the local reply that the guest asked for in the running callback.
	reply *localReply
	// bypass is set when the guest must not be called: failed VM.
	bypass bool
	// refused is set when the stream began on a failed VM that fails closed.
	refused bool
	// requestOver is set when no request bytes are taken any more: after a local reply.
	requestOver bool
	// upstreamOver is set when nothing is taken from the upstream any more.
	upstreamOver bool
	logging      bool
	closed       bool
}

// StreamOptions describe where a stream comes from. The zero value is valid.
type StreamOptions struct {
	// Source and Destination are "ip:port" of the client and of the listener.
	Source, Destination string
	// ClusterName and RouteName are what xds.cluster_name and xds.route_name read.
	ClusterName, RouteName string
}

// NewStream begins a stream. The guest hears of it with the request headers.
func (vm *VM) NewStream(out Outlet, opts StreamOptions) *Stream {
	s := &Stream{vm: vm, out: out}
	s.request = flow{
		stream: s, isRequest: true, onHeaders: "proxy_on_request_headers",
		onData: "proxy_on_request_body", onTrailers: "proxy_on_request_trailers",
	}
	s.response = flow{
		stream: s, onHeaders: "proxy_on_response_headers",
		onData: "proxy_on_response_body", onTrailers: "proxy_on_response_trailers",
	}
	s.info = streamInfo{StreamOptions: opts, start: vm.opts.Clock.Now(), state: map[string][]byte{}}
	if vm.failure != nil || vm.closed {
		s.bypass = true
		s.refused = vm.opts.OnFailure != FailOpen
	} else {
		s.ctx = vm.newContext(s)
	}
	s.touch()
	s.armIdle(vm.opts.StreamIdleTimeout)
	return s
}

// ContextID returns the id by which the guest knows the stream, 0 when it does not.
func (s *Stream) ContextID() uint32 {
	if s.ctx == nil {
		return 0
	}
	return s.ctx.id
}

// Counters returns the sums over all calls made for this stream.
func (s *Stream) Counters() Counters { return s.counters }

// Closed reports whether the stream is over.
func (s *Stream) Closed() bool { return s.closed }

// RequestPaused reports whether the filter holds the request.
func (s *Stream) RequestPaused() bool { return !s.closed && s.request.stop != notStopped }

// RequestHeaders feeds the request's headers. end says that nothing follows. The stream owns h.
func (s *Stream) RequestHeaders(h *Headers, end bool) {
	s.vm.do(func() {
		s.touch()
		if s.closed {
			return
		}
		if s.refused {
			s.request.headers = h
			s.sendLocalReply(vmFailedReply())
			return
		}
		if s.ctx != nil {
			s.vm.call(s.ctx, exportContextCreate, uint64(s.ctx.id), uint64(s.vm.root.id))
		}
		s.request.takeHeaders(h, end)
	})
}

// RequestData feeds a chunk of the request's body; an empty one may carry the end. The stream owns it.
func (s *Stream) RequestData(chunk []byte, end bool) {
	s.vm.do(func() {
		s.touch()
		s.info.requestBytes += int64(len(chunk))
		if !s.closed && !s.requestOver {
			s.request.takeData(chunk, end)
		}
	})
}

// RequestTrailers feeds the request's trailers, which end it.
func (s *Stream) RequestTrailers(h *Headers) {
	s.vm.do(func() {
		s.touch()
		if !s.closed && !s.requestOver {
			s.request.takeTrailers(h)
		}
	})
}

// ResponseHeaders feeds the upstream's response headers with :status.
func (s *Stream) ResponseHeaders(h *Headers, end bool) {
	s.vm.do(func() {
		s.touch()
		if s.closed || s.upstreamOver {
			return
		}
		s.info.details = "via_upstream"
		s.upstreamOver = end
		s.response.takeHeaders(h, end)
	})
}

// ResponseData feeds a chunk of the upstream's response body; an empty one may carry the end.
func (s *Stream) ResponseData(chunk []byte, end bool) {
	s.vm.do(func() {
		s.touch()
		if s.closed || s.upstreamOver {
			return
		}
		s.upstreamOver = end
		s.response.takeData(chunk, end)
	})
}

// ResponseTrailers feeds the upstream's trailers, which end the response.
func (s *Stream) ResponseTrailers(h *Headers) {
	s.vm.do(func() {
		s.touch()
		if s.closed || s.upstreamOver {
			return
		}
		s.upstreamOver = true
		s.response.takeTrailers(h)
	})
}

// Reset says that the client has left.
func (s *Stream) Reset() {
	s.vm.do(func() {
		if s.closed {
			return
		}
		s.info.flags |= FlagDownstreamTermination
		s.info.details = "downstream_remote_disconnect"
		s.abandonUpstream()
		s.finish()
	})
}

// UpstreamChosen notes the host that an attempt goes to, for the upstream.* properties. attempt counts from 1.
func (s *Stream) UpstreamChosen(address string, attempt int) {
	s.vm.do(func() {
		s.info.upstreamAddress = address
		s.info.attempts = attempt
	})
}

// Complete sends a local reply of the proxy itself: status, text and details, with a response flag.
func (s *Stream) replyFor(status int, text, details string, flag ResponseFlags) {
	s.info.flags |= flag
	s.sendLocalReply(localReply{status: status, body: []byte(text), details: details})
}

// abandonUpstream stops the upstream leg, if there is one and it is not over.
func (s *Stream) abandonUpstream() {
	if s.request.headersOut && !s.upstreamOver {
		s.out.ResetUpstream()
	}
	s.upstreamOver = true
	s.requestOver = true
}

// abort ends a stream whose response has begun to go out: the client sees a broken connection.
func (s *Stream) abort(details string) {
	if s.closed {
		return
	}
	s.info.details = details
	s.abandonUpstream()
	s.out.ResetDownstream()
	s.finish()
}

// complete ends a stream whose response has gone out whole.
func (s *Stream) complete() {
	s.abandonUpstream()
	s.finish()
}

// finish closes the stream: log, done, delete, in Envoy's order (envoy.md 4.6).
func (s *Stream) finish() {
	if s.closed {
		return
	}
	s.closed = true
	s.disarmIdle()
	s.info.end = s.vm.opts.Clock.Now()
	if s.ctx != nil && !s.bypass {
		id := uint64(s.ctx.id)
		if s.request.headers == nil {
			s.vm.call(s.ctx, exportContextCreate, id, uint64(s.vm.root.id))
		}
		s.logging = true
		s.vm.call(s.ctx, exportLog, id)
		s.logging = false
		s.request.hide()
		s.response.hide()
		s.vm.call(s.ctx, exportDone, id)
		s.vm.call(s.ctx, exportDelete, id)
	}
	if s.ctx != nil {
		delete(s.vm.contexts, s.ctx.id)
	}
	s.out.Done()
}

// onVMFailure applies the failure policy to a stream of a VM that has failed.
func (s *Stream) onVMFailure() {
	if s.closed || s.bypass {
		return
	}
	s.bypass = true
	s.reply = nil
	if s.vm.opts.OnFailure == FailOpen {
		s.request.resume()
		s.response.resume()
		return
	}
	s.sendLocalReply(vmFailedReply())
}

func vmFailedReply() localReply {
	return localReply{status: 503, details: "wasm_fail_stream"}
}

// Duration returns how long the stream has lasted, or lasted when it is over.
func (s *Stream) Duration() time.Duration {
	end := s.info.end
	if !s.closed {
		end = s.vm.opts.Clock.Now()
	}
	return end.Sub(s.info.start)
}
