package hostsim_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/pointsman/pointsman/hostsim"
)

// A filter is driven by hand: the program holds the clock, answers callouts, and
// reads what the filter did to a request.
func Example() {
	if err := drive(context.Background(), "dist/filter.wasm", "configs/filter/static.json"); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func drive(ctx context.Context, modulePath, configPath string) error {
	code, err := os.ReadFile(modulePath)
	if err != nil {
		return err
	}
	config, err := os.ReadFile(configPath)
	if err != nil {
		return err
	}
	module, err := hostsim.Load(ctx, code, hostsim.ModuleOptions{Profile: hostsim.Envoy133})
	if err != nil {
		return err
	}
	defer module.Close(ctx)

	// A VM has what an Envoy worker has.
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock, callouts, trace := hostsim.NewManualClock(start), &hostsim.HeldCallouts{}, &hostsim.Trace{}
	vm, err := module.NewVM(ctx, hostsim.VMOptions{
		PluginConfig: config, AllowOnHeadersStopIteration: true, Clock: clock, Callouts: callouts, Trace: trace,
	})
	if err != nil {
		return err
	}
	defer vm.Close()

	// A stream is one exchange; a Recorder keeps what the filter lets through.
	out := &hostsim.Recorder{}
	stream := vm.NewStream(out, hostsim.StreamOptions{})
	stream.RequestHeaders(hostsim.NewHeaders(
		[2]string{":method", "POST"}, [2]string{":path", "/v1/chat/completions"}, [2]string{":authority", "models"}), false)
	stream.RequestData([]byte(`{"model":"demo","messages":[]}`), true)
	if h := out.Request().Headers; h != nil {
		endpoint, _ := h.First("x-pointsman-endpoint")
		fmt.Println("goes to", endpoint)
	}
	stream.ResponseHeaders(hostsim.NewHeaders([2]string{":status", "200"}), true)

	// Time moves when the program says so; ticks that fall due run on the way.
	clock.Advance(time.Second, vm.RunPending)
	fmt.Println(len(callouts.All()), "callouts,", trace.Count("proxy_on_tick"), "ticks")
	return nil
}
