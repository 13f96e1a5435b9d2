package e2e

// The cases of envoy.md section 17 and where they are shown:
//
//	W01 W02 W16      wcases_memory_test.go; real Envoys in the soak
//	W03 - W08 W17    wcases_streams_test.go; on Envoy wcases_envoy_test.go, W04 headeronly_test.go
//	W09 - W11 W14 W18 W28  wcases_sync_test.go; on Envoy wcases_envoy_test.go, W10 W11 wcases_envoyown_test.go
//	W12 W13          wcases_streams_test.go: the filter has no trap of its own, so hostsim makes one, and Envoy cannot
//	W19 W24 W26      wcases_shipped_test.go: settings of the shipped bootstraps
//	W27              wcases_shelf_test.go: shared data of policies by history; no other configuration uses any (W14)
//	W20 W21          wcases_streams_test.go; on Envoy wcases_envoyown_test.go (W20), wcases_envoy_test.go
//	W22              a client's own member beside a spliced one: TestSampling_splice_is_exact (null is filled, of two the
//	                 last counts), TestAborts_rid_and_sampling_defaults ("rid": null). Members that routing reads may
//	                 stand once: TestPeek_refuses of core/chat
//	W23              TestSampling_splice_is_exact and TestAborts_rid_and_sampling_defaults look at the length that comes
//	                 with a spliced body, TestFidelity_requests at that of a body left alone
//	W25              wcases_envoyown_test.go: circuit breakers are Envoy's
//
// What of them does not apply:
//
//	W11 in hostsim   its callouts do not fail while they are made
//	W15              belief in CAS of shared data: the filter's writes are unconditional; hostsim's own tests hold it to Envoy's rule
//	W22              bootstrap keys: no pair is dispatched, so none is set, and a client's are its own affair
//	W23              mirrored requests and bodies of callouts: nothing is mirrored, and a callout has the client's own body

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// wasmVM is filter.wasm in one hostsim VM, with clock, state service and engines
// in the test's hands.
type wasmVM struct {
	t        testing.TB
	vm       *hostsim.VM
	clock    *hostsim.ManualClock
	trace    *hostsim.Trace
	callouts *hostsim.HeldCallouts
	logs     []string
	answered int // callouts answered so far
}

// vmConfig is a configuration with two static engines and a state service.
const vmConfig = `{"version":1,"proxy":"w","seed":1,"endpoint_mode":"override_host",%s"state":{"cluster":"pointsman_state"},
	"workers":[{"id":"a","address":"10.0.0.1:80","models":["m"]},{"id":"b","address":"10.0.0.2:80","models":["m"]}],
	"models":{"m":{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"round_robin"}}}}]}}}`

// vmDefault is the configuration without anything further.
func vmDefault() string { return fmt.Sprintf(vmConfig, "") }

// newVM starts the filter with further members of its configuration, each with a
// comma after it. edit may change the host's options.
func newVM(t testing.TB, extra string, edit func(*hostsim.VMOptions)) *wasmVM {
	t.Helper()
	return newVMOf(t, loadModule(t, module.Module(t), hostsim.Envoy139), extra, edit)
}

func newVMOf(t testing.TB, m *hostsim.Module, extra string, edit func(*hostsim.VMOptions)) *wasmVM {
	t.Helper()
	w := &wasmVM{
		t: t, clock: hostsim.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		trace: &hostsim.Trace{}, callouts: &hostsim.HeldCallouts{},
	}
	opts := hostsim.VMOptions{
		PluginName: "pointsman", VMID: "pointsman", PluginConfig: fmt.Appendf(nil, vmConfig, extra),
		AllowOnHeadersStopIteration: true, BodyLimit: 33 << 20, Clock: w.clock, Trace: w.trace, Callouts: w.callouts,
		Log: func(_ hostsim.LogLevel, text string) { w.logs = append(w.logs, text) },
	}
	if edit != nil {
		edit(&opts)
	}
	var err error
	w.vm, err = m.NewVM(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.vm.Close() })
	return w
}

// loadModule compiles a module for a profile, or reads it back from the cache.
func loadModule(t testing.TB, path string, profile hostsim.Profile) *hostsim.Module {
	t.Helper()
	code, err := os.ReadFile(path)
	require.NoError(t, err)
	m, err := hostsim.Load(t.Context(), code, hostsim.ModuleOptions{Profile: profile})
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close(t.Context()) })
	return m
}

// exchange is a stream with what came out of it.
type exchange struct {
	*hostsim.Stream
	out *hostsim.Recorder
}

// open begins a chat with its headers only.
func (w *wasmVM) open(lines ...[2]string) exchange {
	x := exchange{out: &hostsim.Recorder{}}
	x.Stream = w.vm.NewStream(x.out, hostsim.StreamOptions{ClusterName: "engines"})
	h := hostsim.NewHeaders([2]string{":method", "POST"}, [2]string{":path", "/v1/chat/completions"}, [2]string{":authority", "models"})
	for _, l := range lines {
		h.Add(l[0], l[1])
	}
	x.RequestHeaders(h, false)
	return x
}

// chat sends a whole chat, the end apart from the bytes as HTTP/1 does.
func (w *wasmVM) chat(body string) exchange {
	x := w.open()
	x.RequestData([]byte(body), false)
	x.RequestData(nil, true)
	return x
}

const smallChat = `{"model":"m","messages":[]}`

// endpoint is the engine the filter chose, empty when it chose none.
func (x exchange) endpoint() string {
	h := x.out.Request().Headers
	if h == nil {
		return ""
	}
	value, _ := h.First("x-pointsman-endpoint")
	return value
}

// status is what went to the client, empty when nothing did.
func (x exchange) status() string {
	h := x.out.Response().Headers
	if h == nil {
		return ""
	}
	value, _ := h.First(":status")
	return value
}

// answer plays an engine's whole answer.
func (x exchange) answer(status string) {
	x.ResponseHeaders(hostsim.NewHeaders([2]string{":status", status}), false)
	x.ResponseData([]byte("{}"), true)
}

// pass lets time go by, a tick at a time.
func (w *wasmVM) pass(d time.Duration) { w.clock.Advance(d, w.vm.RunPending) }

// tick lets one sync interval go by.
func (w *wasmVM) tick() { w.pass(200 * time.Millisecond) }

// reply answers all calls that wait.
func (w *wasmVM) reply(answer func(*wirepb.SyncRequest) hostsim.CalloutReply) {
	w.t.Helper()
	for _, call := range w.callouts.All()[w.answered:] {
		var report wirepb.SyncRequest
		require.NoError(w.t, proto.Unmarshal(call.Body, &report))
		w.answered++
		call.Reply(answer(&report))
		w.vm.RunPending()
	}
}

// fleetReply is the whole fleet as a state service tells it.
func fleetReply(report *wirepb.SyncRequest) hostsim.CalloutReply {
	message := &wirepb.SyncReply{Replica: 7, Version: 1, Full: true, Seq: report.Seq}
	for i, id := range []string{"a", "b"} {
		message.Workers = append(message.Workers, &wirepb.Worker{
			Id: id, Address: fmt.Sprintf("10.0.0.%d:80", i+1), Models: []string{"m"}, Stage: wirepb.Stage_STAGE_PLAIN, Generation: 1, Healthy: true,
		})
	}
	body, _ := proto.Marshal(message)
	return hostsim.CalloutReply{Headers: hostsim.NewHeaders([2]string{":status", "200"}), Body: body}
}

// inflight reports the gauges of a fresh sync, by engine.
func (w *wasmVM) inflight() map[string]uint32 {
	w.t.Helper()
	w.reply(fleetReply)
	before := len(w.callouts.All())
	for range 10 {
		w.tick()
		if len(w.callouts.All()) > before {
			break
		}
	}
	calls := w.callouts.All()
	require.Greater(w.t, len(calls), before, "no sync is sent:\n%s", strings.Join(w.logs, "\n"))
	var report wirepb.SyncRequest
	require.NoError(w.t, proto.Unmarshal(calls[len(calls)-1].Body, &report))
	gauges := map[string]uint32{}
	for _, g := range report.Workers {
		if g.Inflight > 0 {
			gauges[g.Id] = g.Inflight
		}
	}
	w.reply(fleetReply)
	return gauges
}

// metric reads a counter as of the last tick.
func (w *wasmVM) metric(name string) int64 {
	value, _ := w.vm.Host().Metrics().Value(name)
	return value
}

// logged counts the log lines with a text.
func (w *wasmVM) logged(text string) int {
	n := 0
	for _, l := range w.logs {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

// logsOf counts the on_log callbacks of a stream.
func (w *wasmVM) logsOf(x exchange) int {
	n := 0
	for _, name := range w.trace.Callbacks(x.ContextID()) {
		if name == "proxy_on_log" {
			n++
		}
	}
	return n
}

// requireWorks routes one more request and leaves nothing behind.
func (w *wasmVM) requireWorks() {
	w.t.Helper()
	require.NoError(w.t, w.vm.Failure())
	x := w.chat(smallChat)
	require.NotEmpty(w.t, x.endpoint(), "the next request is not routed")
	x.answer("200")
	require.Empty(w.t, w.inflight())
}

// callbacksOf lists a stream's callbacks.
func (w *wasmVM) callbacksOf(x exchange) []string {
	return slices.Clone(w.trace.Callbacks(x.ContextID()))
}
