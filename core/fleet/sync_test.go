package fleet

import (
	"math"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// state is a worker's load with a report of the given age.
func state(id string, generation uint64, others uint32, age uint64) wire.WorkerState {
	return wire.WorkerState{
		ID: core.WorkerID(id), Generation: generation, OthersInflight: others, HasReport: true, AgeMillis: age,
		Report: core.LoadReport{Running: core.Known(2)},
	}
}

func TestApply_full(t *testing.T) {
	h := newHost(t, engine("a", 1), engine("b", 1))
	h.delta(wire.SyncReply{States: []wire.WorkerState{state("b", 1, 4, 0)}})
	h.full(engine("b", 1), engine("c", 1))
	require.Equal(t, []core.WorkerID{"b", "c"}, ids(h.Serving("m")))
	require.Zero(t, h.Inflight(h.worker("b")), "a full reply lists every load")
	_, ok := h.Report(h.worker("b"), 0)
	require.False(t, ok)

	h.full()
	require.True(t, h.Known(), "an empty fleet is known")
	require.Empty(t, h.Models())
}

func TestApply_delta(t *testing.T) {
	h := newHost(t, engine("a", 1), engine("b", 1))
	h.delta(wire.SyncReply{States: []wire.WorkerState{state("a", 1, 4, 0), state("b", 1, 5, 0)}})
	a, b := h.worker("a"), h.worker("b")
	before := h.Version()
	h.delta(wire.SyncReply{States: []wire.WorkerState{state("a", 1, 6, 0)}})
	require.Equal(t, before, h.Version(), "load alone changes no member")
	require.Same(t, a, h.worker("a"))
	require.Equal(t, uint64(6), h.Inflight(a))
	require.Equal(t, uint64(5), h.Inflight(b), "a load left out stays")

	h.delta(wire.SyncReply{Removed: []core.WorkerID{"a", "never there"}, Workers: []wire.Worker{engine("c", 1)}})
	require.Greater(t, h.Version(), before)
	require.Equal(t, []core.WorkerID{"b", "c"}, ids(h.Serving("m")))
	require.Same(t, b, h.worker("b"))

	before = h.Version()
	h.delta(wire.SyncReply{Removed: []core.WorkerID{"never there"}})
	require.Equal(t, before, h.Version())
}

// Candidate caches are built on worker objects, so an unchanged worker stays the
// same object, and every change of a descriptor is a new one.
func TestApply_keeps_the_object_of_an_unchanged_worker(t *testing.T) {
	base := engine("e", 1)
	base.Adapters = []core.Adapter{{Name: "lora", Base: "m"}}
	h := newHost(t, base)
	kept, version := h.worker("e"), h.Version()
	h.full(base)
	require.Same(t, kept, h.worker("e"))
	require.Equal(t, version, h.Version())

	for name, change := range map[string]func(*wire.Worker){
		"address":      func(w *wire.Worker) { w.Address = "10.0.0.9:1" },
		"models":       func(w *wire.Worker) { w.Models = []string{"m", "n"} },
		"model":        func(w *wire.Worker) { w.Models = []string{"x", "m"}; w.Adapters = nil },
		"adapters":     func(w *wire.Worker) { w.Adapters = nil },
		"adapter name": func(w *wire.Worker) { w.Adapters = []core.Adapter{{Name: "other", Base: "m"}} },
		"adapter base": func(w *wire.Worker) { w.Adapters = []core.Adapter{{Name: "lora", Base: "n"}} },
		"services":     func(w *wire.Worker) { w.Services = []string{"prod/chat"} },
		"aborts":       func(w *wire.Worker) { w.Aborts = true },
		"ranks":        func(w *wire.Worker) { w.Ranks = 2 },
		"input ids":    func(w *wire.Worker) { w.InputIDs = true },
		"stage":        func(w *wire.Worker) { w.Stage = core.StageDecode },
		"generation":   func(w *wire.Worker) { w.Generation = 9 },
		"healthy":      func(w *wire.Worker) { w.Healthy = false },
		"draining":     func(w *wire.Worker) { w.Draining = true },
		"recoveries":   func(w *wire.Worker) { w.Recoveries = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, base)
			kept, version := h.worker("e"), h.Version()
			changed := base
			change(&changed)
			h.delta(wire.SyncReply{Workers: []wire.Worker{changed}})
			require.NotSame(t, kept, h.worker("e"))
			require.Greater(t, h.Version(), version)
			require.False(t, h.Available(kept, 0), "the former object is no member")
		})
	}
}

func TestApply_refuses_what_makes_no_sense(t *testing.T) {
	bad := func(address string) wire.SyncReply {
		w := engine("x", 1)
		w.Address = address
		return wire.SyncReply{Replica: 1, Full: true, Workers: []wire.Worker{engine("new", 1), w}}
	}
	nameless := engine("", 1)
	for name, reply := range map[string]wire.SyncReply{
		"no replica":                {Full: true},
		"delta of another replica":  {Replica: 2, Workers: []wire.Worker{engine("new", 1)}},
		"worker without an id":      {Replica: 1, Full: true, Workers: []wire.Worker{nameless}},
		"worker without an address": bad(""),
		"address is a name":         bad("engine:8000"),
		"address splits a header":   bad("10.0.0.1:80\r\nx-evil: 1"),
		"address is a list":         bad("10.0.0.1:80,10.0.0.2:80"),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, engine("e", 1))
			h.delta(wire.SyncReply{States: []wire.WorkerState{state("e", 1, 3, 0)}})
			w, version := h.worker("e"), h.Version()
			reply.Seq = 100
			require.Error(t, h.Apply(&reply, 0))
			require.Same(t, w, h.worker("e"))
			require.Equal(t, version, h.Version())
			require.Equal(t, uint64(3), h.Inflight(w))
			replica, snapshot := h.Snapshot()
			require.Zero(t, replica, "the next request asks for the whole fleet")
			require.Zero(t, snapshot)
			require.Error(t, h.apply(wire.SyncReply{}), "a delta builds on nothing now")
			h.full(engine("e", 1))
			replica, snapshot = h.Snapshot()
			require.Equal(t, []uint64{1, h.seq}, []uint64{replica, snapshot})
		})
	}
}

func TestApply_drops_older_replies(t *testing.T) {
	h := newHost(t, engine("a", 1))
	h.full(engine("b", 1))
	for _, seq := range []uint64{h.seq, h.seq - 1, 0} {
		require.NoError(t, h.Apply(&wire.SyncReply{Replica: 1, Full: true, Seq: seq, Workers: []wire.Worker{engine("a", 1)}}, 0))
		require.NoError(t, h.Apply(&wire.SyncReply{Seq: seq}, 0), "not even looked at")
		require.Equal(t, []core.WorkerID{"b"}, ids(h.Serving("m")))
	}
}

func TestApply_ignores_loads_of_unknown_workers_and_lives(t *testing.T) {
	h := newHost(t, engine("e", 2))
	h.delta(wire.SyncReply{States: []wire.WorkerState{state("nobody", 1, 9, 0), state("e", 1, 9, 0), state("e", 0, 9, 0)}})
	require.Zero(t, h.Inflight(h.worker("e")))
	require.False(t, h.ReportAge(h.worker("e"), 0).Known)
	require.False(t, h.Has("nobody"))
}

func TestApply_restart_forgets_load(t *testing.T) {
	h := newHost(t, engine("e", 1))
	h.delta(wire.SyncReply{States: []wire.WorkerState{state("e", 1, 9, 0)}})
	h.delta(wire.SyncReply{Workers: []wire.Worker{engine("e", 2)}})
	require.Zero(t, h.Inflight(h.worker("e")))
	_, ok := h.Report(h.worker("e"), 0)
	require.False(t, ok)
}

func TestApply_prefill_rate_is_positive_or_unknown(t *testing.T) {
	h := newHost(t, engine("e", 1))
	for rate, want := range map[float64]float64{
		12.5: 12.5, 0: 0, -1: 0, math.Inf(1): 0, math.Inf(-1): 0, math.NaN(): 0, math.SmallestNonzeroFloat64: math.SmallestNonzeroFloat64,
	} {
		s := state("e", 1, 0, 0)
		s.Report.PrefillRate = rate
		h.delta(wire.SyncReply{States: []wire.WorkerState{s}})
		report, ok := h.Report(h.worker("e"), h.now)
		require.True(t, ok)
		require.InDelta(t, want, report.PrefillRate, 0)
	}
}

func TestReport_is_fresh_for_five_seconds(t *testing.T) {
	for _, tt := range []struct {
		age   uint64 // at the reply
		later core.Instant
		fresh bool
		total uint64
	}{
		{0, 0, true, 0},
		{0, 5000, true, 5000},
		{0, 5001, false, 5001},
		{4000, 1000, true, 5000},
		{4000, 1001, false, 5001},
		{5000, 0, true, 5000},
		{5001, 0, false, 5001},
		{math.MaxUint64, 0, false, math.MaxInt32},
	} {
		h := newHost(t, engine("e", 1))
		h.now = 1_000_000
		h.delta(wire.SyncReply{States: []wire.WorkerState{state("e", 1, 0, tt.age)}})
		w := h.worker("e")
		report, ok := h.Report(w, h.now+tt.later)
		require.Equal(t, tt.fresh, ok, tt)
		if ok {
			require.Equal(t, core.Known(2), report.Running)
		}
		require.Equal(t, core.Known(tt.total), h.ReportAge(w, h.now+tt.later), "an age is told of stale reports too")
	}
}

func TestReport_withdrawn(t *testing.T) {
	h := newHost(t, engine("e", 1))
	require.False(t, h.ReportAge(h.worker("e"), 0).Known)
	h.delta(wire.SyncReply{States: []wire.WorkerState{state("e", 1, 1, 0)}})
	h.delta(wire.SyncReply{States: []wire.WorkerState{{ID: "e", Generation: 1, OthersInflight: 1}}})
	_, ok := h.Report(h.worker("e"), 0)
	require.False(t, ok)
	require.False(t, h.ReportAge(h.worker("e"), 0).Known)
	require.Equal(t, uint64(1), h.Inflight(h.worker("e")))
}

func TestExpire_drops_others_and_keeps_the_fleet(t *testing.T) {
	h := newHost(t, engine("e", 1))
	h.now = 100
	h.delta(wire.SyncReply{States: []wire.WorkerState{state("e", 1, 7, 0)}})
	own := h.charge("e")
	h.Expire(h.now + FreshFor)
	require.Equal(t, uint64(8), h.Inflight(h.worker("e")))
	h.Expire(h.now + FreshFor + 1)
	require.Equal(t, uint64(1), h.Inflight(h.worker("e")), "own in-flight decides alone")
	require.True(t, h.Known())
	replica, _ := h.Snapshot()
	require.Zero(t, replica)
	require.Error(t, h.apply(wire.SyncReply{}), "a late delta has nothing to build on")

	h.now += FreshFor + 2
	h.full(engine("e", 1))
	h.delta(wire.SyncReply{States: []wire.WorkerState{state("e", 1, 2, 0)}})
	require.Equal(t, uint64(3), h.Inflight(h.worker("e")), "fresh again")
	h.Release(own, EndComplete, h.now)
}

func TestExpire_before_the_first_reply(t *testing.T) {
	f := New(breaker.Config{}, []core.Worker{{ID: "e", Models: []string{"m"}}})
	f.Expire(1 << 40)
	require.True(t, f.Known())
	require.Len(t, f.Serving("m"), 1)
}
