package e2e

import (
	"testing"
	"time"

	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
)

// syncFaults are replies that a host makes up, or that are none of a state
// service's.
func syncFaults() map[string]func(*wirepb.SyncRequest) hostsim.CalloutReply {
	always := func(r hostsim.CalloutReply) func(*wirepb.SyncRequest) hostsim.CalloutReply {
		return func(*wirepb.SyncRequest) hostsim.CalloutReply { return r }
	}
	ok := hostsim.NewHeaders([2]string{":status", "200"})
	return map[string]func(*wirepb.SyncRequest) hostsim.CalloutReply{
		"503 of the host":    always(hostsim.TextReply(503, "upstream connect error or disconnect/reset before headers")),
		"504 of the host":    always(hostsim.TextReply(504, "upstream request timeout")),
		"500 of the service": always(hostsim.TextReply(500, "{}")),
		"no headers":         always(hostsim.CalloutReply{Reset: true}),
		"no status":          always(hostsim.CalloutReply{Headers: hostsim.NewHeaders(), Body: []byte("x")}),
		"garbage":            always(hostsim.CalloutReply{Headers: ok, Body: []byte("\xff\xff\xff\xff\x0f garbage")}),
		"no body":            always(hostsim.CalloutReply{Headers: ok}),
		"reply to another report": func(r *wirepb.SyncRequest) hostsim.CalloutReply {
			r.Seq += 100
			return fleetReply(r)
		},
	}
}

// W09: what a host answers for a state service that is away is no data. Routing
// goes on, an outage is one log line, and nothing is latched.
func TestW09_replies_that_are_none(t *testing.T) {
	for name, fault := range syncFaults() {
		t.Run(name, func(t *testing.T) {
			w := newVM(t, "", nil)
			for outage := 1; outage <= 2; outage++ {
				for range 5 {
					w.tick()
					w.reply(fault)
					x := w.chat(smallChat)
					require.NotEmpty(t, x.endpoint(), "routing stops")
					x.answer("200")
				}
				require.Equal(t, outage, w.logged("cannot be reached"))
				w.tick()
				w.reply(fleetReply)
				require.Equal(t, outage, w.logged("answers again"))
			}
			require.EqualValues(t, 2, w.metric("pointsman_sync_total_outcome=ok"))
			require.GreaterOrEqual(t, w.metric("pointsman_sync_total_outcome=failed"), int64(10))
			w.requireWorks()
		})
	}
}

// A refusal of the service itself is told from the host's word for a service that is
// away.
func TestW09_the_service_refuses(t *testing.T) {
	w := newVM(t, "", nil)
	reply := hostsim.TextReply(503, `{"error":{"type":"server_error","code":"starting","message":"not yet"}}`)
	reply.Headers.Set("content-type", "application/json")
	for range 3 {
		w.tick()
		w.reply(func(*wirepb.SyncRequest) hostsim.CalloutReply { return reply })
	}
	require.Equal(t, 1, w.logged("the state service answered 503; routing goes on"))
	require.Zero(t, w.logged("cannot be reached"))
	w.tick()
	w.reply(fleetReply)
	require.Equal(t, 1, w.logged("answers again"))
	w.requireWorks()
}

// The same for a service that accepts and never answers: the call's own time-out
// ends it.
func TestW09_no_reply(t *testing.T) {
	w := newVM(t, "", nil)
	w.pass(10 * time.Second)
	require.Equal(t, 1, w.logged("the reply has status 504"))
	require.LessOrEqual(t, w.vm.OpenCallouts(), 1, "calls pile up")
	w.answered = len(w.callouts.All()) - w.vm.OpenCallouts()
	w.reply(fleetReply)
	w.requireWorks()
}

// W10: the host does not know the state cluster (yet). The call is tried again
// each tick, with one log line, and works once the cluster is there.
func TestW10_unknown_cluster(t *testing.T) {
	w := newVM(t, "", nil)
	w.callouts.Clusters = map[string]bool{}
	for range 10 {
		w.tick()
		x := w.chat(smallChat)
		require.NotEmpty(t, x.endpoint())
		x.answer("200")
	}
	require.Empty(t, w.callouts.All())
	require.GreaterOrEqual(t, w.trace.Count("proxy_http_call"), 10)
	require.Equal(t, 1, w.logged(`cluster "pointsman_state" takes no call`))
	w.callouts.Clusters = nil
	w.tick()
	w.reply(fleetReply)
	require.Equal(t, 1, w.logged("answers again"))
	w.requireWorks()
}

// W14: no shared queue, which would reach one worker only, and no shared data where
// no policy goes by history (W27).
func TestW14_no_queue_and_no_shared_data(t *testing.T) {
	w := newVM(t, "", nil)
	w.requireWorks()
	for _, name := range []string{
		"proxy_register_shared_queue", "proxy_resolve_shared_queue", "proxy_enqueue_shared_queue", "proxy_dequeue_shared_queue",
		"proxy_set_shared_data", "proxy_get_shared_data",
	} {
		require.Zero(t, w.trace.Count(name), name)
	}
}

// W18: each edit of a header makes Envoy match the route again, so what one
// request costs in host calls is bounded, and a streamed answer costs none at all.
func TestW18_host_calls_are_bounded(t *testing.T) {
	const (
		edits = 1  // the endpoint set: no routing header to remove
		reads = 1  // the status of the answer
		maps  = 1  // the request headers, all at once
		all   = 10 // with the body's one window, the clock, and flags at the end
	)
	w := newVM(t, "", nil)
	w.requireWorks() // the first request also reads what the missing-flag proof needs
	w.trace.Reset()
	x := w.chat(smallChat)
	x.ResponseHeaders(hostsim.NewHeaders([2]string{":status", "200"}), false)
	before := x.Counters()
	for range 10_000 {
		x.ResponseData([]byte("data: {}\n\n"), false)
	}
	require.Equal(t, before, x.Counters(), "a streamed chunk calls the filter")
	x.ResponseData(nil, true)
	require.Equal(t, edits, w.trace.Count("proxy_remove_header_map_value")+w.trace.Count("proxy_replace_header_map_value"))
	require.Equal(t, edits, x.RouteClears())
	require.Equal(t, reads, w.trace.Count("proxy_get_header_map_value"))
	require.Equal(t, maps, w.trace.Count("proxy_get_header_map_pairs"))
	require.Zero(t, w.trace.Count("proxy_set_header_map_pairs"))
	require.LessOrEqual(t, x.Counters().HostCalls, all)
	t.Logf("%d host calls", x.Counters().HostCalls)
}

// W28: a host configures the plugin once more than it has workers, then drops
// that VM. Configuring makes no call, defines no metric and holds nothing.
func TestW28_canary(t *testing.T) {
	m := loadModule(t, module.Module(t), hostsim.Envoy139)
	trace, calls := &hostsim.Trace{}, &hostsim.HeldCallouts{}
	host := hostsim.NewHost()
	require.NoError(t, m.Canary(t.Context(), hostsim.VMOptions{
		PluginName: "pointsman", PluginConfig: []byte(vmDefault()), Trace: trace, Callouts: calls, Host: host,
	}))
	require.Equal(t, 1, trace.Count("proxy_on_configure"))
	require.Zero(t, trace.Count("proxy_http_call"))
	require.Zero(t, trace.Count("proxy_define_metric"))
	require.Empty(t, calls.All())
	require.Empty(t, host.Metrics().Snapshot())
}
