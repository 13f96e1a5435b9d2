package hostsim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
)

func TestCallout_answerResumesTheStream(t *testing.T) {
	b := newBench(t, nil)
	s, rec := b.start("headers:pause end:call:state=100 reply:set:x-picked=e1 reply:splice:0,1,[", false)
	s.RequestData([]byte("(x"), true)
	calls := b.callouts.All()
	require.Len(t, calls, 1)
	require.Equal(t, "question", string(calls[0].Body))
	require.Equal(t, 100*time.Millisecond, calls[0].Timeout)
	length, _ := calls[0].Headers.Get("content-length")
	require.Equal(t, "8", length)
	require.Nil(t, rec.Request().Headers)

	calls[0].Reply(hostsim.TextReply(200, "answer"))
	b.vm.RunPending()
	require.Contains(t, b.logs, "reply -> 3 headers, status 200, body answer")
	picked, _ := rec.Request().Headers.Get("x-picked")
	require.Equal(t, "e1", picked)
	require.Equal(t, "[x", string(rec.Request().Body))
	require.Zero(t, b.vm.OpenCallouts())
}

func TestCallout_answersFromTheHost(t *testing.T) {
	tests := []struct {
		name  string
		reply hostsim.CalloutReply
		want  string
	}{
		{"router's own", hostsim.TextReply(503, "no healthy upstream"), "reply -> 3 headers, status 503, body no healthy upstream"},
		{"reset", hostsim.CalloutReply{Reset: true}, "reply -> 0 headers, status , body "},
		{"too large", hostsim.CalloutReply{Headers: ok200(), Body: make([]byte, 101)}, "reply -> 0 headers, status , body "},
		{"empty", hostsim.CalloutReply{Headers: ok200()}, "reply -> 1 headers, status 200, body "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, func(o *hostsim.VMOptions) { o.CalloutLimit = 100 })
			_, rec := b.start("headers:call:state=0", true)
			b.callouts.All()[0].Reply(tt.reply)
			b.vm.RunPending()
			require.Contains(t, b.logs, tt.want)
			require.True(t, rec.Request().End)
		})
	}
}

func TestCallout_timesOutOnTheHostsClock(t *testing.T) {
	b := newBench(t, nil)
	_, rec := b.start("headers:call:state=100", true)
	b.clock.Advance(99*time.Millisecond, b.vm.RunPending)
	require.Nil(t, rec.Request().Headers)
	b.clock.Advance(time.Millisecond, b.vm.RunPending)
	require.Contains(t, b.logs, "reply -> 3 headers, status 504, body upstream request timeout")
	require.True(t, b.callouts.All()[0].Cancelled)

	b.takeLogs()
	b.callouts.All()[0].Reply(hostsim.TextReply(200, "late"))
	b.vm.RunPending()
	require.Empty(t, b.takeLogs(), "the first answer wins")
}

func TestCallout_refused(t *testing.T) {
	b := newBench(t, func(o *hostsim.VMOptions) { o.Callouts = &hostsim.HeldCallouts{Clusters: map[string]bool{}} })
	b.start("headers:call:nowhere=0", true)
	require.Contains(t, b.logs, "call -> "+badArgument)

	b.takeLogs()
	b.start("headers:call:nowhere=-5", true)
	require.Contains(t, b.logs, "call -> "+badArgument)
}

func TestCallout_answeredAtOnceIsDeferred(t *testing.T) {
	b := newBench(t, func(o *hostsim.VMOptions) {
		o.Callouts = hostsim.CalloutFunc(func(hostsim.Callout) hostsim.CalloutReply { return hostsim.TextReply(200, "now") })
	})
	_, rec := b.start("headers:call:state=0 headers:log:still-in-headers", true)
	require.Equal(t, []string{"still-in-headers", "reply -> 3 headers, status 200, body now"}, b.logs[1:])
	require.True(t, rec.Request().End)
}

func TestCallout_outlivesItsStream(t *testing.T) {
	b := newBench(t, nil)
	s, _ := b.start("headers:call:state=0", true)
	s.Reset()
	b.takeLogs()
	b.callouts.All()[0].Reply(hostsim.TextReply(200, "late"))
	b.vm.RunPending()
	require.Equal(t, 1, b.trace.Count("proxy_on_http_call_response"), "the plugin context gets it")
	require.Empty(t, b.takeLogs(), "the SDK drops it")
	require.NoError(t, b.vm.Failure())
}

func TestCallout_localReplyFromTheAnswer(t *testing.T) {
	b := newBench(t, nil)
	_, rec := b.start("headers:call:state=0 reply:local:503=none", true)
	b.callouts.All()[0].Reply(hostsim.TextReply(200, "x"))
	b.vm.RunPending()
	status, _ := rec.Response().Headers.Get(":status")
	require.Equal(t, "503", status)
	require.Nil(t, rec.Request().Headers)
	require.True(t, rec.IsDone())
}

func TestTick_callsOutAndContinuesStreams(t *testing.T) {
	b := newBench(t, func(o *hostsim.VMOptions) { o.PluginConfig = []byte("tick:call:state=0") })
	_, rec := b.start("headers:wait", true)
	require.Nil(t, rec.Request().Headers)
	b.clock.Advance(350*time.Millisecond, b.vm.RunPending)
	require.Equal(t, 3, b.trace.Count("proxy_on_tick"))
	require.Len(t, b.callouts.All(), 3)
	resumed, _ := rec.Request().Headers.Get("x-resumed-by")
	require.Equal(t, "tick", resumed)
	b.callouts.All()[0].Reply(hostsim.TextReply(200, "fleet"))
	b.vm.RunPending()
	require.Contains(t, b.logs, "reply -> 3 headers, status 200, body fleet")
	require.Equal(t, 100*time.Millisecond, b.vm.TickPeriod())
}
