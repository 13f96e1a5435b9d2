package hostsim

// overLimit ends the stream when more is held than the buffer limit allows: 413 for a request, 500 or a broken
// connection for a response (envoy.md 4.2).
func (f *flow) overLimit() bool {
	s := f.stream
	if f.held.Len() <= s.vm.opts.BodyLimit {
		return false
	}
	f.held.Take()
	f.hide()
	if f.isRequest {
		s.replyFor(413, "Payload Too Large", "request_payload_too_large", 0)
	} else {
		s.abandonUpstream()
		s.replyFor(500, "Internal Server Error", "response_payload_too_large", 0)
	}
	return true
}

// checkSoftLimit makes the source of a request wait when more is held than the limit allows.
func (f *flow) checkSoftLimit() {
	if f.isRequest && !f.sourceHeld && f.held.Len() > f.stream.vm.opts.BodyLimit {
		f.sourceHeld = true
		f.stream.out.HoldRequest(true)
	}
}

func (f *flow) releaseSource() {
	if f.sourceHeld {
		f.sourceHeld = false
		f.stream.out.HoldRequest(false)
	}
}
