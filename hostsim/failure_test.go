package hostsim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/wasmfile"
)

func TestFailure_trapInEachCallbackIsContained(t *testing.T) {
	phases := map[string]func(b *bench, s *hostsim.Stream){
		"headers": func(*bench, *hostsim.Stream) {},
		"end":     func(_ *bench, s *hostsim.Stream) { s.RequestData([]byte("x"), true) },
		"reply": func(b *bench, _ *hostsim.Stream) {
			b.callouts.All()[0].Reply(hostsim.TextReply(200, ""))
			b.vm.RunPending()
		},
		"response": func(_ *bench, s *hostsim.Stream) { s.RequestData(nil, true); s.ResponseHeaders(ok200(), false) },
		"tick":     func(b *bench, _ *hostsim.Stream) { b.clock.Advance(100*time.Millisecond, b.vm.RunPending) },
	}
	for phase, run := range phases {
		t.Run(phase, func(t *testing.T) {
			b := newBench(t, func(o *hostsim.VMOptions) {
				if phase == "tick" {
					o.PluginConfig = []byte("tick:panic:")
				}
			})
			steps := phase + ":panic:"
			if phase == "reply" {
				steps += " headers:call:state=0"
			}
			other, otherRec := b.start("headers:pause", false)
			s, rec := b.start(steps, false)
			run(b, s)
			require.ErrorContains(t, b.vm.Failure(), "proxy_on_")
			require.NotContains(t, b.vm.Failure().Error(), "\n")
			for _, r := range []*hostsim.Recorder{rec, otherRec} {
				status, _ := r.Response().Headers.Get(":status")
				require.Equal(t, "503", status)
				require.True(t, r.IsDone())
			}
			require.Equal(t, "wasm_fail_stream", other.ResponseDetails())
			require.Zero(t, b.trace.Count("proxy_on_log"), "a failed VM is not called again")

			_, late := b.start("", true)
			status, _ := late.Response().Headers.Get(":status")
			require.Equal(t, "503", status)
		})
	}
}

func TestFailure_trapMidResponseCutsTheClient(t *testing.T) {
	b := newBench(t, nil)
	s, rec := b.start("chunk:panic:", true)
	s.ResponseHeaders(ok200(), false)
	s.ResponseData([]byte("x"), false)
	require.Equal(t, []string{"upstream", "downstream"}, rec.Resets())
	require.False(t, rec.Response().End)
}

func TestFailure_openBypassesTheFilter(t *testing.T) {
	b := newBench(t, func(o *hostsim.VMOptions) { o.OnFailure = hostsim.FailOpen })
	held, heldRec := b.start("headers:pause body:pause", false)
	held.RequestData([]byte("held"), true)
	paused, pausedRec := b.start("headers:wait", false)
	paused.RequestData([]byte("abc"), true)
	_, rec := b.start("headers:panic:", true)
	for _, r := range []*hostsim.Recorder{rec, heldRec, pausedRec} {
		require.True(t, r.Request().End)
	}
	require.Equal(t, "abc", string(pausedRec.Request().Body))
	late, lateRec := b.start("headers:pause", true)
	require.True(t, lateRec.Request().End)
	late.ResponseHeaders(ok200(), true)
	require.True(t, lateRec.IsDone())
}

func TestStart_refusals(t *testing.T) {
	m := guest(t, "steered", hostsim.Envoy139)
	_, err := m.NewVM(t.Context(), hostsim.VMOptions{PluginConfig: []byte("refuse")})
	require.ErrorIs(t, err, hostsim.ErrRefused)
	require.EqualError(t, err, "the filter refused its configuration (proxy_on_configure)")
	_, err = m.NewVM(t.Context(), hostsim.VMOptions{PluginConfig: []byte("refuse models[0]:missing limits:zero")})
	require.ErrorIs(t, err, hostsim.ErrRefused)
	require.EqualError(t, err, "the filter refused its configuration: models[0]:missing\nlimits:zero")
	_, err = m.NewVM(t.Context(), hostsim.VMOptions{PluginConfig: []byte("panic")})
	require.ErrorContains(t, err, "start the filter: proxy_on_configure: panic: asked to (wasm error: unreachable)")
	require.NotContains(t, err.Error(), "\n")
	require.ErrorIs(t, m.Canary(t.Context(), hostsim.VMOptions{PluginConfig: []byte("refuse")}), hostsim.ErrRefused)
}

func TestCanary_neverTicksNorCalls(t *testing.T) {
	clock := hostsim.NewManualClock(epoch)
	trace := &hostsim.Trace{}
	held := &hostsim.HeldCallouts{}
	err := guest(t, "steered", hostsim.Envoy139).Canary(t.Context(), hostsim.VMOptions{
		PluginConfig: []byte("tick:call:state=0"), Clock: clock, Trace: trace, Callouts: held,
	})
	require.NoError(t, err)
	clock.Advance(time.Second)
	require.Zero(t, trace.Count("proxy_on_tick"))
	require.Empty(t, held.All())
	require.Equal(t, 1, trace.Count("proxy_on_configure"))
}

func TestLoad_refusesWhatEnvoyRefuses(t *testing.T) {
	_, err := hostsim.Load(t.Context(), []byte("not wasm"), hostsim.ModuleOptions{})
	require.EqualError(t, err, "wasm module: not a WebAssembly module (wrong first eight bytes)")
	_, err = hostsim.Load(t.Context(), []byte("\x00asm\x01\x00\x00\x00"), hostsim.ModuleOptions{})
	require.EqualError(t, err, "wasm module: not a proxy-wasm filter: no proxy_abi_version_* export")
	b := guestBytes(t, "files")
	_, err = hostsim.Load(t.Context(), b[:len(b)/2], hostsim.ModuleOptions{})
	require.ErrorContains(t, err, "cut off")

	_, err = hostsim.Load(t.Context(), b, hostsim.ModuleOptions{Profile: hostsim.Envoy133, Cache: guests.cache})
	require.ErrorContains(t, err, "missing import on envoy133: wasi_snapshot_preview1.")
	require.ErrorContains(t, err, "wasi_snapshot_preview1.path_filestat_get")
	require.NotContains(t, err.Error(), "\n")
	_, err = guest(t, "files", hostsim.Envoy139).NewVM(t.Context(), hostsim.VMOptions{})
	require.NoError(t, err)
}

func TestProfiles_pollOneoff(t *testing.T) {
	const steps = "headers:timer: headers:gc: headers:log:alive"
	for profile, alive := range map[hostsim.Profile]bool{hostsim.Envoy133: false, hostsim.Envoy139: true} {
		t.Run(profile.String(), func(t *testing.T) {
			var logs []string
			vm, err := guest(t, "steered", profile).NewVM(t.Context(), hostsim.VMOptions{
				Log: func(_ hostsim.LogLevel, m string) { logs = append(logs, m) },
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, vm.Close()) }()
			vm.NewStream(&hostsim.Recorder{}, hostsim.StreamOptions{}).RequestHeaders(request(steps), true)
			require.Equal(t, alive, vm.Failure() == nil)
			if alive {
				require.Contains(t, logs, "alive")
			} else {
				require.Contains(t, strings.Join(logs, "\n"), "poll_oneoff")
			}
		})
	}
}

func TestProfiles_allocatorIsRestricted(t *testing.T) {
	vm, err := guest(t, "steered", hostsim.Envoy133).NewVM(t.Context(), hostsim.VMOptions{
		BodyLimit: 32 << 20, AllowOnHeadersStopIteration: true,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, vm.Close()) }()
	s := vm.NewStream(&hostsim.Recorder{}, hostsim.StreamOptions{})
	read := strings.Repeat(" end:read:0,8000000", 8)
	s.RequestHeaders(request("headers:timer: headers:pause"+read), false)
	s.RequestData(make([]byte, 8<<20), true)
	require.ErrorContains(t, vm.Failure(), "restricted_callback: poll_oneoff")
}

func TestModule_onlyExportedCallbacksAreCalled(t *testing.T) {
	b, err := wasmfile.DropExports(guestBytes(t, "steered"), "proxy_on_response_body", "proxy_on_response_trailers")
	require.NoError(t, err)
	m, err := hostsim.Load(t.Context(), b, hostsim.ModuleOptions{Cache: guests.cache})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close(t.Context())) }()
	trace := &hostsim.Trace{}
	vm, err := m.NewVM(t.Context(), hostsim.VMOptions{Trace: trace})
	require.NoError(t, err)
	defer func() { require.NoError(t, vm.Close()) }()
	rec := &hostsim.Recorder{}
	s := vm.NewStream(rec, hostsim.StreamOptions{})
	s.RequestHeaders(request(""), true)
	s.ResponseHeaders(ok200(), false)
	before := s.Counters().GuestCalls
	for range 10 {
		s.ResponseData([]byte("chunk"), false)
	}
	require.Equal(t, before, s.Counters().GuestCalls)
	s.ResponseData(nil, true)
	require.Len(t, rec.Response().Chunks, 10)
	require.Equal(t, 1, trace.Count("proxy_on_log"))
}

func TestVM_memoryIsCapped(t *testing.T) {
	b := guestBytes(t, "steered")
	m, err := hostsim.Load(t.Context(), b, hostsim.ModuleOptions{Cache: guests.cache, MemoryPages: 256})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close(t.Context())) }()
	vm, err := m.NewVM(t.Context(), hostsim.VMOptions{})
	require.NoError(t, err)
	defer func() { require.NoError(t, vm.Close()) }()
	vm.NewStream(&hostsim.Recorder{}, hostsim.StreamOptions{}).RequestHeaders(request("headers:alloc:20000000"), true)
	require.Error(t, vm.Failure())
	require.LessOrEqual(t, vm.MemoryBytes(), 256*65536)
}

func TestWorker_reloadsAfterItsDelay(t *testing.T) {
	clock := hostsim.NewManualClock(epoch)
	w, err := guest(t, "steered", hostsim.Envoy139).NewWorker(t.Context(), hostsim.VMOptions{
		OnFailure: hostsim.FailReload, Clock: clock,
	})
	require.NoError(t, err)
	status := func(steps string) (code int) {
		require.True(t, w.Call(func() {
			s := w.OpenStream(&hostsim.Recorder{}, hostsim.StreamOptions{})
			s.RequestHeaders(request(steps), true)
			s.ResponseHeaders(ok200(), true)
			code = s.ResponseCode()
		}))
		return code
	}
	require.Equal(t, 200, status(""))
	require.Equal(t, 503, status("headers:panic:"))
	require.Equal(t, 503, status(""))
	clock.Advance(time.Second)
	require.Equal(t, 200, status(""))
	w.Call(func() { require.Equal(t, 1, w.Reloads()) })
	require.NoError(t, w.Stop())
	require.NoError(t, w.Stop())
	require.False(t, w.Call(func() {}))
}
