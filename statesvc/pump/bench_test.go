package pump_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/stretchr/testify/require"
)

type still []fleet.Status

func (s still) Status() []fleet.Status { return s }

func (still) Report(core.WorkerID, uint64, core.LoadReport, core.Instant) {}

// benchPump follows a publisher per engine.
func benchPump(b *testing.B, publishers []*zmqtest.Publisher) *pump.Pump {
	b.Helper()
	text := "version: 1\nkv: {budget_bytes: 268435456}\nload: {native: false}\nfleet:\n  static:\n"
	var engines still
	for i, p := range publishers {
		id, address := fmt.Sprintf("e%d", i), fmt.Sprintf("127.0.0.1:%d", 1+i)
		text += fmt.Sprintf("    - {id: %s, address: %q, kv: {events: %q, replay: %q}}\n", id, address, p.Endpoint(), p.Replay())
		engines = append(engines, worker(id, address, 1))
	}
	cfg, err := config.Parse([]byte(text), func(string) string { return "" })
	require.NoError(b, err)
	for i := range engines {
		engines[i].Said.Config = cfg.Fleet.Static[i]
	}
	p := pump.New(pump.Options{Config: cfg, Fleet: engines, Loads: engines, Clock: func() core.Instant { return 0 }, Logger: slog.New(slog.DiscardHandler), Seed: 1})
	p.Start()
	b.Cleanup(p.Stop)
	await(b, func() bool {
		for i := range publishers {
			if trust, _ := p.Trust(fmt.Sprintf("e%d", i)); trust.String() != "full" {
				return false
			}
		}
		return true
	})
	return p
}

func await(b *testing.B, holds func() bool) {
	b.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		require.True(b, time.Now().Before(deadline))
	}
}

// BenchmarkPump_ingest is batches of 64 blocks of 4 tokens from socket to index.
func BenchmarkPump_ingest(b *testing.B) {
	pub := zmqtest.Start(b, "")
	p := benchPump(b, []*zmqtest.Publisher{pub})
	payloads := make([][]byte, 64)
	for i := range payloads {
		payloads[i] = stored(uint32(1000*i), 64)
	}
	b.SetBytes(int64(len(payloads[0])))
	b.ReportAllocs()
	n := uint64(0)
	for b.Loop() {
		pub.Publish(payloads[n%64])
		n++
	}
	await(b, func() bool { return p.Engines()[0].Streams[0].Status.Counts.Batches == n })
	b.ReportMetric(64*float64(n)/b.Elapsed().Seconds(), "blocks/s")
}

// BenchmarkPump_idle is what following an engine that says nothing costs.
func BenchmarkPump_idle(b *testing.B) {
	const engines = 200
	var publishers []*zmqtest.Publisher
	for range engines {
		publishers = append(publishers, zmqtest.Start(b, ""))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	p := benchPump(b, publishers)
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		p.Engines()
	}
	// Half of the goroutines and a part of the memory are the publishers'.
	b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/engines, "B/engine")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/engines, "goroutines/engine")
}
