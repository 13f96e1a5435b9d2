package hostsim

import "time"

// DefaultStreamIdleTimeout is the stream_idle_timeout of Envoy's HTTP connection manager (envoy.md 4.5).
const DefaultStreamIdleTimeout = 5 * time.Minute

// idleTimer ends a stream on which nothing has come in for a while, from the client or from the upstream. It also
// runs while the filter holds the request.
type idleTimer struct {
	last time.Time
	stop func()
}

// touch notes that something came in.
func (s *Stream) touch() { s.idle.last = s.vm.opts.Clock.Now() }

// armIdle lets the timer run for d; it looks at the last event only when it fires, so events cost nothing.
func (s *Stream) armIdle(d time.Duration) {
	if d <= 0 {
		return
	}
	s.idle.stop = s.vm.opts.Clock.AfterFunc(d, func() { s.vm.post(s.onIdle) })
}

func (s *Stream) onIdle() {
	if s.closed {
		return
	}
	limit := s.vm.opts.StreamIdleTimeout
	if quiet := s.vm.opts.Clock.Now().Sub(s.idle.last); quiet < limit {
		s.armIdle(limit - quiet)
		return
	}
	status := 408
	if s.request.ended() {
		status = 504
	}
	s.replyFor(status, "stream timeout", "stream_idle_timeout", FlagStreamIdleTimeout)
}

func (s *Stream) disarmIdle() {
	if s.idle.stop != nil {
		s.idle.stop()
	}
}
