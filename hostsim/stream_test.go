package hostsim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
)

func TestStream_passesWholeExchangeInOrder(t *testing.T) {
	b := newBench(t, nil)
	s, rec := b.start("", false)
	s.RequestData([]byte("hello"), true)
	require.Equal(t, "hello", string(rec.Request().Body))
	require.True(t, rec.Request().End)
	s.ResponseHeaders(ok200(), false)
	s.ResponseData([]byte("one"), false)
	s.ResponseData([]byte("two"), true)
	require.Equal(t, []int{3, 3}, rec.Response().Chunks)
	require.True(t, rec.IsDone())
	require.Empty(t, rec.Resets())
	require.Equal(t, []string{
		"proxy_on_context_create", "proxy_on_request_headers", "proxy_on_request_body",
		"proxy_on_response_headers", "proxy_on_response_body", "proxy_on_response_body",
		"proxy_on_log", "proxy_on_done", "proxy_on_delete",
	}, b.trace.Callbacks(s.ContextID()))
	require.Equal(t, 9, s.Counters().GuestCalls)
}

func TestStream_headerPauseWithFlagShowsBody(t *testing.T) {
	b := newBench(t, nil)
	s, rec := b.start("headers:pause body:pause end:add:x-picked=e1", false)
	require.Nil(t, rec.Request().Headers)
	require.True(t, s.RequestPaused())
	s.RequestData([]byte("{a"), false)
	require.Nil(t, rec.Request().Headers)
	s.RequestData([]byte("b}"), true)
	got := rec.Request()
	picked, _ := got.Headers.Get("x-picked")
	require.Equal(t, "e1", picked, "headers are editable in the body phase")
	require.Equal(t, "{ab}", string(got.Body))
	require.True(t, got.End)
	require.Equal(t, 2, b.trace.Count("proxy_on_request_body"))
}

func TestStream_headerPauseWithoutFlagHidesBody(t *testing.T) {
	b := newBench(t, func(o *hostsim.VMOptions) { o.AllowOnHeadersStopIteration = false })
	s, rec := b.start("headers:wait headers:number:request.total_size tick:x", false)
	b.takeLogs()
	s.RequestData([]byte("0123456789"), false)
	s.RequestData([]byte("0123456789"), true)
	require.Zero(t, b.trace.Count("proxy_on_request_body"))
	require.Nil(t, rec.Request().Headers)

	b.vm.Tick() // The guest resumes on its tick: what it has not seen is shown to it first.
	require.Equal(t, 1, b.trace.Count("proxy_on_request_body"))
	resumed, _ := rec.Request().Headers.Get("x-resumed-by")
	require.Equal(t, "tick", resumed)
	require.Equal(t, "01234567890123456789", string(rec.Request().Body))
	require.True(t, rec.Request().End)
}

func TestStream_totalSizeGrowsWhileHeadersPause(t *testing.T) {
	b := newBench(t, func(o *hostsim.VMOptions) {
		o.AllowOnHeadersStopIteration = false
		o.PluginConfig = []byte("tick:log:ticked")
	})
	s, _ := b.start("headers:call:state=0 headers:number:request.total_size reply:number:request.total_size", false)
	s.RequestData(make([]byte, 1000), false)
	b.callouts.All()[0].Reply(hostsim.TextReply(200, "x"))
	b.vm.RunPending()
	var sizes []string
	for _, l := range b.logs {
		if strings.HasPrefix(l, "number request.total_size") {
			sizes = append(sizes, l)
		}
	}
	require.Len(t, sizes, 2)
	require.NotEqual(t, sizes[0], sizes[1])
}

func TestStream_watermarkHoldsTheSourceInsteadOf413(t *testing.T) {
	b := newBench(t, func(o *hostsim.VMOptions) {
		o.AllowOnHeadersStopIteration = false
		o.BodyLimit = 100
	})
	s, rec := b.start("headers:wait", false)
	s.RequestData(make([]byte, 101), false)
	require.True(t, rec.RequestHeld())
	b.vm.Tick()
	require.False(t, rec.RequestHeld())
	s.RequestData(nil, true)
	require.Len(t, rec.Request().Body, 101)
	require.Nil(t, rec.Response().Headers)
}

func TestStream_bodyOverLimitIs413AndLoggedOnce(t *testing.T) {
	for name, chunks := range map[string][]int{"in one chunk": {101}, "in many": {50, 50, 1, 1}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *hostsim.VMOptions) { o.BodyLimit = 100 })
			s, rec := b.start("headers:pause body:pause end:pause", false)
			for _, n := range chunks {
				s.RequestData(make([]byte, n), false)
			}
			got := rec.Response()
			status, _ := got.Headers.Get(":status")
			require.Equal(t, "413", status)
			require.Equal(t, "request_payload_too_large", s.ResponseDetails())
			require.True(t, rec.IsDone())
			require.Equal(t, 1, b.trace.Count("proxy_on_log"))
			require.Equal(t, 1, b.trace.Count("proxy_on_response_headers"))
			require.Nil(t, rec.Request().Headers)
		})
	}
}

func TestStream_exactlyTheLimitPasses(t *testing.T) {
	b := newBench(t, func(o *hostsim.VMOptions) { o.BodyLimit = 100 })
	s, rec := b.start("headers:pause body:pause", false)
	s.RequestData(make([]byte, 99), false)
	s.RequestData(make([]byte, 1), true)
	require.Len(t, rec.Request().Body, 100)
}

func TestStream_requestTrailersAreTheEnd(t *testing.T) {
	b := newBench(t, nil)
	s, rec := b.start("headers:pause body:pause end:add:x-picked=e1", false)
	s.RequestData([]byte("abc"), false)
	s.RequestTrailers(hostsim.NewHeaders([2]string{"x-sum", "1"}))
	got := rec.Request()
	picked, _ := got.Headers.Get("x-picked")
	sum, _ := got.Trailers.Get("x-sum")
	require.Equal(t, []string{"e1", "1", "abc"}, []string{picked, sum, string(got.Body)})
	require.Equal(t, []string{"proxy_on_request_headers", "proxy_on_request_body", "proxy_on_request_trailers"},
		b.trace.Callbacks(s.ContextID())[1:4])
}

func TestStream_headerMapsAreGoneAfterContinue(t *testing.T) {
	b := newBench(t, nil)
	s, rec := b.start("headers:get:x-do body:get:x-do body:add:a=b response:get:x-do log:get::path", false)
	b.takeLogs()
	s.RequestData([]byte("x"), false)
	require.Equal(t, []string{
		"get x-do -> error: error status returned by host: bad argument",
		"add -> error: error status returned by host: bad argument",
	}, b.takeLogs())
	s.RequestData(nil, true)
	s.ResponseHeaders(ok200(), true)
	require.Equal(t, []string{
		"get x-do -> error: error status returned by host: bad argument",
		"get :path -> /v1/chat?x=1",
	}, b.takeLogs(), "on_log reads them again")
	_, edited := rec.Request().Headers.Get("a")
	require.False(t, edited)
}

func TestStream_endsOnceAtEveryPhase(t *testing.T) {
	phases := []struct {
		name  string
		steps string
		run   func(s *hostsim.Stream)
		reset []string
	}{
		{"before headers were answered", "headers:pause", func(*hostsim.Stream) {}, nil},
		{"in the body", "headers:pause body:pause", func(s *hostsim.Stream) { s.RequestData([]byte("x"), false) }, nil},
		{"during a callout", "headers:pause end:call:state=0", func(s *hostsim.Stream) { s.RequestData([]byte("x"), true) }, nil},
		{"after resume", "", func(s *hostsim.Stream) { s.RequestData([]byte("x"), true) }, []string{"upstream"}},
		{"mid response", "", func(s *hostsim.Stream) {
			s.RequestData([]byte("x"), true)
			s.ResponseHeaders(ok200(), false)
			s.ResponseData([]byte("y"), false)
		}, []string{"upstream"}},
	}
	for _, p := range phases {
		t.Run(p.name, func(t *testing.T) {
			b := newBench(t, nil)
			s, rec := b.start(p.steps, false)
			p.run(s)
			s.Reset()
			s.Reset()
			s.ResponseData([]byte("late"), true)
			require.Equal(t, p.reset, rec.Resets())
			require.True(t, rec.IsDone())
			calls := b.trace.Callbacks(s.ContextID())
			require.Equal(t, []string{"proxy_on_log", "proxy_on_done", "proxy_on_delete"}, calls[len(calls)-3:])
			require.Equal(t, 1, b.trace.Count("proxy_on_log"))
			require.Equal(t, hostsim.FlagDownstreamTermination, s.ResponseFlags())
			require.Empty(t, b.vm.Streams())
		})
	}
}

func TestStream_thatNeverHadHeadersIsLogged(t *testing.T) {
	b := newBench(t, nil)
	s, _ := b.stream()
	s.Reset()
	require.Equal(t, []string{"proxy_on_context_create", "proxy_on_log", "proxy_on_done", "proxy_on_delete"},
		b.trace.Callbacks(s.ContextID()))
}

func TestStream_localReplyPassesOwnResponseCallbacks(t *testing.T) {
	b := newBench(t, nil)
	s, rec := b.start("headers:pause end:local:503=sorry response:setresponse:x-seen=yes", false)
	s.RequestData([]byte("x"), true)
	got := rec.Response()
	want := map[string]string{
		":status": "503", "x-made-by": "filter", "x-seen": "yes", "content-length": "5", "content-type": "text/plain",
	}
	for name, value := range want {
		v, _ := got.Headers.Get(name)
		require.Equal(t, value, v, name)
	}
	require.Equal(t, "sorry", string(got.Body))
	require.True(t, rec.IsDone())
	require.Nil(t, rec.Request().Headers)
	require.Equal(t, 1, b.trace.Count("proxy_on_log"))
}

func TestStream_localReplyWinsOverContinue(t *testing.T) {
	b := newBench(t, nil)
	_, rec := b.start("headers:local:429=no headers:resume", true)
	status, _ := rec.Response().Headers.Get(":status")
	require.Equal(t, "429", status)
	require.Nil(t, rec.Request().Headers)
}

func TestStream_localReplyInResponsePhaseReplacesTheResponse(t *testing.T) {
	b := newBench(t, nil)
	s, rec := b.start("response:local:502=bad", true)
	s.ResponseHeaders(ok200(), false)
	s.ResponseData([]byte("ignored"), true)
	status, _ := rec.Response().Headers.Get(":status")
	require.Equal(t, "502", status)
	require.Equal(t, "bad", string(rec.Response().Body))
	require.Equal(t, []string{"upstream"}, rec.Resets())
	require.Equal(t, 1, b.trace.Count("proxy_on_response_headers"))
}

func TestStream_upstreamFailures(t *testing.T) {
	tests := []struct {
		kind   hostsim.FailureKind
		status string
		body   string
		flags  hostsim.ResponseFlags
	}{
		{hostsim.NoHealthyUpstream, "503", "no healthy upstream", hostsim.FlagNoHealthyUpstream},
		{hostsim.ConnectFailure, "503", "upstream connect error or disconnect/reset before headers. reset reason: " +
			"remote connection failure", hostsim.FlagUpstreamConnectionFailure},
		{hostsim.ProtocolError, "503", "upstream connect error or disconnect/reset before headers. reset reason: " +
			"protocol error", hostsim.FlagUpstreamProtocolError},
		{hostsim.ConnectionTermination, "503", "upstream connect error or disconnect/reset before headers. " +
			"reset reason: connection termination", hostsim.FlagUpstreamTermination},
		{hostsim.UpstreamTimeout, "504", "upstream request timeout", hostsim.FlagUpstreamTimeout},
	}
	for _, tt := range tests {
		b := newBench(t, nil)
		s, rec := b.start("response:getresponse::status log:number:response.flags", true)
		s.UpstreamFailed(tt.kind, "refused")
		status, _ := rec.Response().Headers.Get(":status")
		require.Equal(t, []string{tt.status, tt.body}, []string{status, string(rec.Response().Body)})
		require.Equal(t, tt.flags, s.ResponseFlags())
		require.Contains(t, b.logs, "getresponse :status -> "+tt.status, "the filter sees the router's reply")
	}
}

func TestStream_upstreamBreaksMidResponse(t *testing.T) {
	b := newBench(t, nil)
	s, rec := b.start("", true)
	s.ResponseHeaders(ok200(), false)
	s.ResponseData([]byte("half"), false)
	s.UpstreamFailed(hostsim.ConnectionTermination, "EOF")
	require.False(t, rec.Response().End, "no end is made up")
	require.Equal(t, []string{"downstream"}, rec.Resets())
	require.Equal(t, "upstream_reset_after_response_started{connection_termination}", s.ResponseDetails())
	require.Equal(t, 1, b.trace.Count("proxy_on_log"))
}

func TestStream_idleTimeout(t *testing.T) {
	for _, whole := range []bool{false, true} {
		b := newBench(t, func(o *hostsim.VMOptions) { o.StreamIdleTimeout = time.Minute })
		s, rec := b.start("headers:pause body:pause end:pause", false)
		b.clock.Advance(50*time.Second, b.vm.RunPending)
		s.RequestData([]byte("x"), whole)
		b.clock.Advance(59*time.Second, b.vm.RunPending)
		require.False(t, s.Closed())
		b.clock.Advance(time.Second, b.vm.RunPending)
		status, _ := rec.Response().Headers.Get(":status")
		require.Equal(t, map[bool]string{false: "408", true: "504"}[whole], status)
		require.Equal(t, hostsim.FlagStreamIdleTimeout, s.ResponseFlags())
		require.True(t, rec.IsDone())
	}
}

func TestStream_outletMayAnswerAtOnce(t *testing.T) {
	b := newBench(t, nil)
	out := &echo{}
	out.s = b.vm.NewStream(out, hostsim.StreamOptions{})
	out.s.RequestHeaders(request("headers:pause"), false)
	out.s.RequestData([]byte("ping"), true)
	require.Equal(t, "ping", string(out.Response().Body))
	require.True(t, out.IsDone())
}

// echo is an upstream that answers while the request is still being handed to it.
type echo struct {
	hostsim.Recorder

	s *hostsim.Stream
}

func (e *echo) RequestHeaders(h *hostsim.Headers, end bool) {
	e.Recorder.RequestHeaders(h, end)
	e.s.ResponseHeaders(ok200(), false)
}

func (e *echo) RequestData(chunk []byte, end bool) {
	e.Recorder.RequestData(chunk, end)
	e.s.ResponseData(chunk, end)
}
