package affinity_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/affinity/affinitytest"
)

func roomy() *affinity.Memory {
	return affinity.NewMemory(affinity.Limits{Bindings: 1 << 20, Bytes: 1 << 30})
}

func TestMemoryContract(t *testing.T) {
	affinitytest.TestContract(t, func(*testing.T) affinity.Store { return roomy() })
}

func bind(t require.TestingT, m *affinity.Memory, now core.Instant, scope uint64, worker core.WorkerID) core.WorkerID {
	bound, err := m.Bind(context.Background(), now, []affinity.Proposal{
		{Scope: affinitytest.Scope(scope), Worker: worker, Idle: affinitytest.Idle},
	})
	require.NoError(t, err)
	return bound[0]
}

func look(t require.TestingT, m *affinity.Memory, now core.Instant, scope uint64) core.WorkerID {
	bound, err := m.Bound(context.Background(), now, []affinity.Digest{affinitytest.Scope(scope)})
	require.NoError(t, err)
	return bound[0]
}

func TestAFullStoreMakesRoomByTheOldestUse(t *testing.T) {
	m := affinity.NewMemory(affinity.Limits{Bindings: 3, Bytes: 1 << 20})
	for n := range uint64(3) {
		bind(t, m, core.Instant(n), n, "a")
	}
	require.NoError(t, m.Touch(context.Background(), 5, []affinity.Use{{Scope: affinitytest.Scope(0), Worker: "a"}}))
	bind(t, m, 6, 9, "b")
	require.Equal(t, core.WorkerID("a"), look(t, m, 6, 0))
	require.Empty(t, look(t, m, 6, 1), "it was used the longest ago")
	stats := m.Stats()
	require.Equal(t, 3, stats.Bindings)
	require.Equal(t, uint64(1), stats.Evicted)
}

func TestTheByteLimitBoundsToo(t *testing.T) {
	m := affinity.NewMemory(affinity.Limits{Bindings: 1 << 20, Bytes: 10 * affinity.Size})
	for n := range uint64(100) {
		bind(t, m, core.Instant(n), n, "a")
	}
	require.Equal(t, 10, m.Stats().Bindings)
	require.Equal(t, 10*affinity.Size, m.Stats().Bytes)
}

// A million sessions of one client: what is kept is what the limits allow, the ones
// used last, and everything else is counted as having made room.
func TestAMillionSessionsStayWithinTheLimits(t *testing.T) {
	const room = 10_000
	m := affinity.NewMemory(affinity.Limits{Bindings: 1 << 20, Bytes: room * affinity.Size})
	for n := range uint64(million) {
		if bound := bind(t, m, core.Instant(n/1000), n, "a"); bound != "a" {
			t.Fatalf("session %d is bound to %q", n, bound)
		}
	}
	stats := m.Stats()
	require.Equal(t, room, stats.Bindings)
	require.Equal(t, room*affinity.Size, stats.Bytes)
	require.EqualValues(t, million-room, stats.Evicted)
	require.Equal(t, core.WorkerID("a"), look(t, m, 1000, million-room))
	require.Empty(t, look(t, m, 1000, million-room-1))
}

func TestAStoreWithoutRoomBindsNothing(t *testing.T) {
	m := affinity.NewMemory(affinity.Limits{Bindings: 10, Bytes: affinity.Size - 1})
	require.Empty(t, bind(t, m, 0, 1, "a"))
	require.Zero(t, m.Stats().Bindings)
}

func TestSweepCountsEachExpiryOnce(t *testing.T) {
	m := roomy()
	const n = 10_000
	for i := range uint64(n) {
		bind(t, m, core.Instant(i%2)*1000, i, core.WorkerID(fmt.Sprint(i%5)))
	}
	now := affinitytest.Idle + 1
	require.Empty(t, look(t, m, now, 0), "a look finds one of them expired")
	require.Equal(t, n/2-1, m.Sweep(now))
	require.Zero(t, m.Sweep(now))
	require.Equal(t, n/2, m.Sweep(now+1000))
	require.Equal(t, uint64(n), m.Stats().Expired)
	require.Zero(t, m.Stats().Bindings)
}

// model is the store told naively.
type model struct {
	bound map[uint64]*modelBinding
}

type modelBinding struct {
	worker core.WorkerID
	used   core.Instant
}

func (m *model) at(now core.Instant, scope uint64) *modelBinding {
	b := m.bound[scope]
	if b != nil && now-b.used > affinitytest.Idle {
		delete(m.bound, scope)
		return nil
	}
	return b
}

func (m *model) bind(now core.Instant, scope uint64, worker, seen core.WorkerID) core.WorkerID {
	b := m.at(now, scope)
	if b == nil {
		b = &modelBinding{worker: worker}
		m.bound[scope] = b
	}
	if b.worker == seen {
		b.worker = worker
	}
	b.used = now
	return b.worker
}

func (m *model) forget(worker core.WorkerID) {
	for scope, b := range m.bound {
		if b.worker == worker {
			delete(m.bound, scope)
		}
	}
}

func TestMemoryIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store, naive := roomy(), &model{bound: map[uint64]*modelBinding{}}
		now := core.Instant(0)
		scope := rapid.Uint64Range(0, 12)
		worker := rapid.SampledFrom([]core.WorkerID{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"bind": func(t *rapid.T) {
				s, w, seen := scope.Draw(t, "scope"), worker.Draw(t, "worker"), worker.Draw(t, "seen")
				got, err := store.Bind(context.Background(), now, []affinity.Proposal{
					{Scope: affinitytest.Scope(s), Worker: w, Seen: seen, Idle: affinitytest.Idle},
				})
				require.NoError(t, err)
				require.Equal(t, naive.bind(now, s, w, seen), got[0])
			},
			"touch": func(t *rapid.T) {
				s, w := scope.Draw(t, "scope"), worker.Draw(t, "worker")
				require.NoError(t, store.Touch(context.Background(), now, []affinity.Use{{Scope: affinitytest.Scope(s), Worker: w}}))
				if b := naive.at(now, s); b != nil && b.worker == w {
					b.used = now
				}
			},
			"forget": func(t *rapid.T) {
				w := worker.Draw(t, "worker")
				_, err := store.Forget(context.Background(), w)
				require.NoError(t, err)
				naive.forget(w)
			},
			"wait":  func(t *rapid.T) { now += core.Instant(rapid.Int64Range(0, 400_000).Draw(t, "wait")) },
			"sweep": func(*rapid.T) { store.Sweep(now) },
			"": func(t *rapid.T) {
				for s := range uint64(13) {
					want := core.WorkerID("")
					if b := naive.at(now, s); b != nil {
						want = b.worker
					}
					require.Equal(t, want, look(t, store, now, s))
				}
				require.Equal(t, len(naive.bound), store.Stats().Bindings, "a look at every scope leaves none that expired")
			},
		})
	})
}

const million = 1_000_000

func full(b *testing.B) *affinity.Memory {
	m := roomy()
	for i := range uint64(million) {
		bind(b, m, 0, i, core.WorkerID(fmt.Sprintf("engine-%d", i%100)))
	}
	return m
}

// BenchmarkFill prints what each of a million bindings occupies.
func BenchmarkFill(b *testing.B) {
	var m *affinity.Memory
	before := heap()
	for b.Loop() {
		m = full(b)
	}
	b.ReportMetric(float64(heap()-before)/million, "B/binding")
	runtime.KeepAlive(m)
}

// BenchmarkSweep looks at a million bindings.
func BenchmarkSweep(b *testing.B) {
	m := full(b)
	for b.Loop() {
		m.Sweep(1)
	}
}

// BenchmarkBind is one call that loses, among a million bindings.
func BenchmarkBind(b *testing.B) {
	m := full(b)
	i := uint64(0)
	for b.Loop() {
		bind(b, m, 1, i*7919%million, "other")
		i++
	}
}

func heap() uint64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
