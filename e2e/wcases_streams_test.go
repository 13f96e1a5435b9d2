package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/stretchr/testify/require"
)

// W03: a client leaves while the sync callout is pending. Its unit is released
// by on_log; the reply comes later and is taken.
func TestW03_client_leaves_during_a_callout(t *testing.T) {
	w := newVM(t, "", nil)
	w.tick()
	require.Len(t, w.callouts.All(), 1, "the first sync is on its way")
	x := w.chat(smallChat)
	require.NotEmpty(t, x.endpoint())
	x.Reset()
	require.Equal(t, 1, w.logsOf(x))
	w.reply(fleetReply)
	require.NoError(t, w.vm.Failure())
	require.Empty(t, w.inflight())
	require.EqualValues(t, 1, w.metric("pointsman_charges_released_total"))
	require.Zero(t, w.logged("cannot be reached"), "the late reply was not taken")
	w.requireWorks()
}

// W04: the host hides the body of a held request. The filter finds out at the
// next tick and resumes by headers.
func TestW04_host_hides_bodies(t *testing.T) {
	w := newVM(t, "", func(o *hostsim.VMOptions) { o.AllowOnHeadersStopIteration = false })
	x := w.open([2]string{"content-length", "27"})
	x.RequestData([]byte(smallChat), true)
	require.True(t, x.RequestPaused())
	require.NotContains(t, w.callbacksOf(x), "proxy_on_request_body")
	w.tick()
	require.NotEmpty(t, x.endpoint(), "still held after a tick")
	require.Equal(t, sumOf(smallChat), sumOf(string(x.out.Request().Body)))
	x.answer("200")
	require.Equal(t, 1, w.logged("routing by headers only"))
	w.requireWorksByHeaders()
}

func (w *wasmVM) requireWorksByHeaders() {
	w.t.Helper()
	x := w.open([2]string{"content-length", "27"})
	require.NotEmpty(w.t, x.endpoint(), "latched: no tick is waited for")
	x.RequestData([]byte(smallChat), true)
	x.answer("200")
	require.Empty(w.t, w.inflight())
}

// W05: the host ends a held request with a 413 of its own, because its buffer is
// smaller than max_body_bytes. One on_log, no charge.
func TestW05_body_over_the_hosts_limit(t *testing.T) {
	w := newVM(t, "", func(o *hostsim.VMOptions) { o.BodyLimit = 1 << 20 })
	x := w.open()
	for range 3 {
		x.RequestData(make([]byte, 1<<20), false)
	}
	require.Equal(t, "413", x.status())
	require.Equal(t, "request_payload_too_large", x.ResponseDetails())
	require.Equal(t, 1, w.logsOf(x))
	require.Empty(t, w.inflight())
	require.Zero(t, w.metric("pointsman_charges_released_total"))
	w.requireWorks()
}

// The same with the shipped limits: the filter is first and answers in its envelope.
func TestW05_body_over_the_filters_limit(t *testing.T) {
	w := newVM(t, "", nil)
	x := w.open()
	for range 33 {
		x.RequestData(make([]byte, 1<<20), false)
	}
	require.Equal(t, "413", x.status())
	require.Contains(t, string(x.out.Response().Body), "payload_too_large")
	require.Equal(t, 1, w.logsOf(x))
	require.Empty(t, w.inflight())
	w.requireWorks()
}

// leaving are the phases in which a client may go, and whether the request is
// charged to an engine by then.
func leaving() map[string]struct {
	charged bool
	run     func(*wasmVM) exchange
} {
	type phase = struct {
		charged bool
		run     func(*wasmVM) exchange
	}
	return map[string]phase{
		"after the headers": {false, func(w *wasmVM) exchange { return w.open() }},
		"in the body": {false, func(w *wasmVM) exchange {
			x := w.open()
			x.RequestData([]byte(smallChat), false)
			return x
		}},
		"before the answer": {true, func(w *wasmVM) exchange { return w.chat(smallChat) }},
		"after the answer's headers": {true, func(w *wasmVM) exchange {
			x := w.chat(smallChat)
			x.ResponseHeaders(hostsim.NewHeaders([2]string{":status", "200"}), false)
			return x
		}},
		"mid-stream": {true, func(w *wasmVM) exchange {
			x := w.chat(smallChat)
			x.ResponseHeaders(hostsim.NewHeaders([2]string{":status", "200"}), false)
			x.ResponseData([]byte("data: 1\n\n"), false)
			return x
		}},
		"after request trailers": {true, func(w *wasmVM) exchange {
			x := w.open()
			x.RequestData([]byte(smallChat), false)
			x.RequestTrailers(hostsim.NewHeaders([2]string{"x-checksum", "1"}))
			return x
		}},
	}
}

// W06, W07: whatever the phase in which a stream is reset, by the client or by
// the engine, its unit comes back exactly once.
func TestW06_W07_reset_in_each_phase(t *testing.T) {
	ends := map[string]func(exchange){
		"client leaves": func(x exchange) { x.Reset() },
		"engine resets": func(x exchange) { x.UpstreamFailed(hostsim.ConnectionTermination, "reset") },
	}
	for name, phase := range leaving() {
		for how, end := range ends {
			if how == "engine resets" && !phase.charged {
				continue // no engine is known yet
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				w := newVM(t, "", nil)
				x := phase.run(w)
				if phase.charged {
					require.NotEmpty(t, w.inflight())
				}
				end(x)
				require.True(t, x.Closed())
				require.Equal(t, 1, w.logsOf(x))
				require.Empty(t, w.inflight())
				released := int64(0)
				if phase.charged {
					released = 1
				}
				require.Equal(t, released, w.metric("pointsman_charges_released_total"))
				w.requireWorks()
			})
		}
	}
}

// W08: an answer of the filter passes its own response callbacks, and is not
// charged to an engine however many there are.
func TestW08_own_answers_are_not_an_engines(t *testing.T) {
	w := newVM(t, "", nil)
	for range 20 {
		x := w.chat(`{"model":"nobody"}`)
		require.Equal(t, "404", x.status())
		require.Contains(t, w.callbacksOf(x), "proxy_on_response_headers")
	}
	// The host's own answer to a routed request: neither engine is to blame.
	w2 := newVM(t, "", func(o *hostsim.VMOptions) { o.StreamIdleTimeout = time.Second })
	for range 20 {
		x := w2.chat(smallChat)
		w2.pass(2 * time.Second)
		require.Equal(t, "504", x.status())
	}
	for _, vm := range []*wasmVM{w, w2} {
		require.Zero(t, vm.metric("pointsman_engine_failures_total"))
		vm.requireWorks()
	}
}

// W12, W13: a VM that traps takes its own streams with it and nothing else; the
// next one starts from nothing, and the state service lets go of what the old
// one had reported.
func TestW12_W13_trap_and_reload(t *testing.T) {
	s := newTrapStage(t)
	engine := s.engines[0]
	hold := make(chan struct{})
	engine.play(func(w http.ResponseWriter, a arrival) {
		<-hold
		plainAnswer(w, a)
	})
	held := s.dial()
	held.write(rawPost("/v1/chat/completions", smallChat))
	s.awaitInflight(1)

	s.armed.Store(true)
	require.Equal(t, http.StatusServiceUnavailable, s.post(`{"model":"nobody"}`).status, "the request whose callback trapped")
	require.Equal(t, http.StatusServiceUnavailable, held.read().status, "a stream of the VM that trapped")
	close(hold)
	engine.play(plainAnswer)
	s.eventually(func() bool { return s.post(smallChat).status == http.StatusOK }, "no new VM")
	s.awaitInflight(0)
}

// trapStage is a stage on hostsim whose next receipt traps the VM.
type trapStage struct {
	*stage
	armed atomic.Bool
}

// newTrapStage makes the log sink panic: inside a host function that is a trap.
// The shipped filter has no way of its own to trap.
func newTrapStage(t *testing.T) *trapStage {
	t.Helper()
	s := &trapStage{}
	h := host{"hostsim", "", envoytest.OverrideHost}
	s.stage = newStage(t, h, stageSetup{
		watched: 1, setup: setup{filter: allModels, extra: `"receipts":"log",`},
		edit: func(cfg *hostsim.ProxyConfig) {
			cfg.OnFailure = hostsim.FailReload
			cfg.Logger = slog.New(&trapHandler{armed: &s.armed})
		},
	})
	return s
}

// trapHandler panics at the next receipt once it is armed.
type trapHandler struct{ armed *atomic.Bool }

// Enabled implements slog.Handler.
func (*trapHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h *trapHandler) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "model=") && h.armed.CompareAndSwap(true, false) {
		panic("asked to")
	}
	return nil
}

// WithAttrs implements slog.Handler.
func (h *trapHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h *trapHandler) WithGroup(string) slog.Handler { return h }

// W20: the host's retry went to another engine than the pick. The charge moves
// with it.
func TestW20_retry_on_another_engine(t *testing.T) {
	w := newVM(t, `"transport_retry":true,`, nil)
	x := w.chat(smallChat)
	first, second, found := strings.Cut(x.endpoint(), ",")
	require.True(t, found, "no spare engine is named: %s", x.endpoint())
	x.UpstreamChosen(first, 1)
	x.UpstreamChosen(second, 2)
	x.ResponseHeaders(hostsim.NewHeaders([2]string{":status", "200"}), false)
	ids := map[string]string{"10.0.0.1:80": "a", "10.0.0.2:80": "b"}
	require.Equal(t, map[string]uint32{ids[second]: 1}, w.inflight())
	require.EqualValues(t, 1, w.metric("pointsman_pick_replaced_total"))
	x.ResponseData([]byte("{}"), true)
	require.Empty(t, w.inflight())
	w.requireWorks()
}

// W21: a body that ends in trailers never shows its end on a body callback.
func TestW21_request_trailers(t *testing.T) {
	w := newVM(t, "", nil)
	x := w.open()
	x.RequestData([]byte(smallChat), false)
	x.RequestTrailers(hostsim.NewHeaders([2]string{"x-checksum", "1"}))
	require.NotEmpty(t, x.endpoint())
	require.Equal(t, sumOf(smallChat), sumOf(string(x.out.Request().Body)))
	value, _ := x.out.Request().Trailers.First("x-checksum")
	require.Equal(t, "1", value)
	x.answer("200")
	w.requireWorks()
}

// W17: above 1,024 headers a host refuses to list them all; values are read one
// by one.
func TestW17_many_headers(t *testing.T) {
	w := newVM(t, "", nil)
	var lines [][2]string
	for i := range 1100 {
		lines = append(lines, [2]string{fmt.Sprintf("x-filler-%d", i), "v"})
	}
	x := w.open(lines...)
	x.RequestData([]byte(smallChat), true)
	require.NotEmpty(t, x.endpoint())
	for i := range 1100 {
		_, ok := x.out.Request().Headers.First(fmt.Sprintf("x-filler-%d", i))
		require.True(t, ok)
	}
	x.answer("200")
	w.requireWorks()
}
