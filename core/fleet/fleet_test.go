package fleet

import (
	"fmt"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

var (
	_ bucket.Registry = (*Fleet)(nil)
	_ policy.LoadView = (*Fleet)(nil)
)

// engine is a healthy plain worker of model "m" as the wire names it.
func engine(id string, generation uint64) wire.Worker {
	return wire.Worker{
		ID: core.WorkerID(id), Address: "10.0.0.1:8000", Models: []string{"m"},
		Stage: core.StagePlain, Generation: generation, Healthy: true,
	}
}

// host applies replies of one replica, numbered as they come.
type host struct {
	*Fleet
	t   testing.TB
	seq uint64
	now core.Instant
}

func newHost(t testing.TB, workers ...wire.Worker) *host {
	t.Helper()
	h := &host{Fleet: New(breaker.Config{}, nil), t: t}
	h.full(workers...)
	return h
}

func (h *host) apply(reply wire.SyncReply) error {
	h.seq++
	reply.Replica, reply.Seq, reply.Version = 1, h.seq, h.seq
	return h.Apply(&reply, h.now)
}

func (h *host) full(workers ...wire.Worker) {
	h.t.Helper()
	require.NoError(h.t, h.apply(wire.SyncReply{Full: true, Workers: workers}))
}

func (h *host) delta(reply wire.SyncReply) {
	h.t.Helper()
	require.NoError(h.t, h.apply(reply))
}

// worker is the live object of an ID that serves "m".
func (h *host) worker(id string) *core.Worker {
	h.t.Helper()
	for _, w := range h.Serving("m") {
		if w.ID == core.WorkerID(id) {
			return w
		}
	}
	require.Fail(h.t, "no such worker", id)
	return nil
}

// charge takes a unit of the worker, which must be possible.
func (h *host) charge(id string) *Charge {
	h.t.Helper()
	c := &Charge{}
	require.True(h.t, h.Charge(c, h.worker(id), h.now))
	return c
}

func ids(workers []*core.Worker) (list []core.WorkerID) {
	for _, w := range workers {
		list = append(list, w.ID)
	}
	return list
}

func TestNew_static_fleet(t *testing.T) {
	empty := New(breaker.Config{}, nil)
	require.False(t, empty.Known())
	require.Empty(t, empty.Serving("m"))
	require.Empty(t, empty.Models())

	f := New(breaker.Config{}, []core.Worker{
		{ID: "b", Address: "10.0.0.2:1", Models: []string{"m"}, Stage: core.StagePlain},
		{ID: "a", Address: "10.0.0.1:1", Models: []string{"m", "n"}, Stage: core.StagePlain},
	})
	require.True(t, f.Known())
	require.Equal(t, []core.WorkerID{"a", "b"}, ids(f.Serving("m")))
	require.Equal(t, []core.WorkerID{"a"}, ids(f.Serving("n")))
	require.Equal(t, []string{"m", "n"}, f.Models())
	require.True(t, f.Available(f.Serving("m")[0], 0), "static workers are taken to be healthy")
	replica, version := f.Snapshot()
	require.Zero(t, replica)
	require.Zero(t, version)
}

func TestStatic_fleet_gives_way_to_the_first_reply(t *testing.T) {
	h := &host{t: t, Fleet: New(breaker.Config{}, []core.Worker{
		{ID: "gone", Models: []string{"m"}, Stage: core.StagePlain}, {ID: "e1", Models: []string{"m"}, Stage: core.StagePlain},
	})}
	open := h.charge("e1")
	orphan := h.charge("gone")
	h.full(engine("e1", 7), engine("e2", 3))

	require.Equal(t, []core.WorkerID{"e1", "e2"}, ids(h.Serving("m")))
	require.Equal(t, uint64(1), h.Inflight(h.worker("e1")), "learning an engine's generation is not a restart of it")
	h.Release(orphan, EndComplete, 0)
	h.Release(open, EndComplete, 0)
	require.Zero(t, h.Inflight(h.worker("e1")))
}

func TestAvailable(t *testing.T) {
	sick, draining := engine("sick", 1), engine("draining", 1)
	sick.Healthy, draining.Draining = false, true
	h := newHost(t, engine("good", 1), sick, draining)
	require.True(t, h.Available(h.worker("good"), 0))
	require.False(t, h.Available(h.worker("sick"), 0))
	require.False(t, h.Available(h.worker("draining"), 0))
	require.False(t, h.Available(nil, 0))
	require.False(t, h.Available(&core.Worker{ID: "good", Healthy: true}, 0), "a foreign object of the same ID")
	require.False(t, h.Available(&core.Worker{ID: "good", Healthy: true, Slot: -1}, 0))
	require.False(t, h.Available(&core.Worker{ID: "good", Healthy: true, Slot: 1 << 20}, 0))
	require.True(t, h.Has("sick"))
	require.False(t, h.Has("none"))
}

func TestServing_lists_a_worker_once(t *testing.T) {
	w := engine("e", 1)
	w.Models = []string{"m", "m", "lora"}
	w.Adapters = []core.Adapter{{Name: "lora", Base: "m"}}
	h := newHost(t, w)
	require.Equal(t, []core.WorkerID{"e"}, ids(h.Serving("m")))
	require.Equal(t, []core.WorkerID{"e"}, ids(h.Serving("lora")))
	require.Equal(t, []string{"lora", "m"}, h.Models())
}

func TestAdapters(t *testing.T) {
	a, b, c := engine("a", 1), engine("b", 1), engine("c", 1)
	b.Adapters = []core.Adapter{{Name: "lora", Base: "m"}}
	c.Adapters = []core.Adapter{{Name: "lora", Base: "other"}, {Name: "second", Base: "m"}}
	h := newHost(t, c, b, a)
	base, ok := h.Base("lora")
	require.True(t, ok)
	require.Equal(t, "m", base, "where members disagree the smallest ID decides")
	_, ok = h.Base("m")
	require.False(t, ok, "a model is not an adapter")
	require.Equal(t, []core.WorkerID{"b", "c"}, ids(h.Serving("lora")))
	require.Equal(t, []string{"lora", "m", "second"}, h.Models())

	h.full(a)
	_, ok = h.Base("lora")
	require.False(t, ok, "an unloaded adapter is forgotten")
	require.Equal(t, []string{"m"}, h.Models())
}

// A former worker object never stands for the engine that took its slot.
func TestSlots_are_reused_and_stale_objects_are_not(t *testing.T) {
	h := newHost(t, engine("a", 1), engine("b", 1))
	stale := h.worker("a")
	h.full(engine("b", 1), engine("c", 1))
	fresh := h.worker("c")
	require.Equal(t, stale.Slot, fresh.Slot)
	h.charge("c")
	require.False(t, h.Available(stale, 0))
	require.Zero(t, h.Inflight(stale))
	require.False(t, h.ReportAge(stale, 0).Known)
	_, ok := h.Report(stale, 0)
	require.False(t, ok)
	require.False(t, h.Charge(&Charge{}, stale, 0))
	require.Equal(t, uint64(1), h.Inflight(fresh))
}

// Slots, and with them the order of gauges, do not depend on map order.
func TestSlots_are_the_same_on_every_run(t *testing.T) {
	order := func() (slots []int) {
		var first, second []wire.Worker
		for i := range 20 {
			first = append(first, engine(fmt.Sprint("a", i), 1))
			second = append(second, engine(fmt.Sprint("b", i), 1))
		}
		h := newHost(t, first...)
		h.full(second...)
		for _, w := range h.Serving("m") {
			slots = append(slots, w.Slot)
		}
		return slots
	}
	want := order()
	for range 5 {
		require.Equal(t, want, order())
	}
}

func TestServing_does_not_allocate(t *testing.T) {
	h := newHost(t, engine("a", 1), engine("b", 1))
	w, c := h.worker("a"), &Charge{}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for _, w := range h.Serving("m") {
			h.Available(w, 0)
			h.Report(w, 0)
			h.ReportAge(w, 0)
			h.Inflight(w)
		}
		h.Charge(c, w, 0)
		h.Answered(c, breaker.Success, 0)
		h.Release(c, EndComplete, 0)
	}))
}
