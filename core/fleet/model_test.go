package fleet

import (
	"slices"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// modelCharge is a charge as the naive model keeps it: of one life of one worker.
type modelCharge struct {
	charge *Charge
	id     core.WorkerID
	life   int
}

// model keeps every life apart and adds up its charges when asked.
type model struct {
	*host
	lives   map[core.WorkerID]int    // present life of each worker ever seen
	known   map[core.WorkerID]uint64 // its generation, once known
	members map[core.WorkerID]wire.Worker
	others  map[core.WorkerID]uint64
	open    []modelCharge
	stale   []*core.Worker
}

func (m *model) own(id core.WorkerID) (n uint64) {
	for _, c := range m.open {
		if c.id == id && c.life == m.lives[id] {
			n++
		}
	}
	return n
}

// name takes over a worker of a reply. Another known generation is another life;
// a worker that left with no charge is forgotten.
func (m *model) name(w wire.Worker) {
	_, present := m.members[w.ID]
	if !present && m.own(w.ID) == 0 {
		m.lives[w.ID]++
		delete(m.known, w.ID)
	}
	if before := m.known[w.ID]; before != 0 && w.Generation != 0 && before != w.Generation {
		m.lives[w.ID]++
		delete(m.others, w.ID)
	}
	if w.Generation != 0 {
		m.known[w.ID] = w.Generation
	}
	if old, ok := m.members[w.ID]; !ok || old.Generation != w.Generation || old.Healthy != w.Healthy {
		m.stale = append(m.stale, m.object(w.ID))
	}
	m.members[w.ID] = w
}

func (m *model) forget(id core.WorkerID) {
	if _, ok := m.members[id]; !ok {
		return
	}
	m.stale = append(m.stale, m.object(id))
	delete(m.members, id)
	delete(m.others, id)
}

// object is the live worker object of an ID, nil when it is no member.
func (m *model) object(id core.WorkerID) *core.Worker {
	for _, w := range m.Serving("m") {
		if w.ID == id {
			return w
		}
	}
	return nil
}

func drawID(t *rapid.T) core.WorkerID {
	return core.WorkerID(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "worker"))
}

func drawWorker(t *rapid.T) wire.Worker {
	w := engine(string(drawID(t)), rapid.Uint64Range(0, 3).Draw(t, "generation"))
	w.Healthy = rapid.Bool().Draw(t, "healthy")
	return w
}

func (m *model) Full(t *rapid.T) {
	workers := rapid.SliceOfNDistinct(rapid.Custom(drawWorker), 0, 4, func(w wire.Worker) core.WorkerID { return w.ID }).Draw(t, "workers")
	for id := range m.lives {
		if !slices.ContainsFunc(workers, func(w wire.Worker) bool { return w.ID == id }) {
			m.forget(id)
		}
	}
	clear(m.others)
	for _, w := range workers {
		m.name(w)
	}
	require.NoError(t, m.apply(wire.SyncReply{Full: true, Workers: workers}))
}

func (m *model) Describe(t *rapid.T) {
	w := drawWorker(t)
	m.name(w)
	require.NoError(t, m.apply(wire.SyncReply{Workers: []wire.Worker{w}}))
}

func (m *model) Remove(t *rapid.T) {
	id := drawID(t)
	m.forget(id)
	require.NoError(t, m.apply(wire.SyncReply{Removed: []core.WorkerID{id}}))
}

func (m *model) Load(t *rapid.T) {
	s := wire.WorkerState{
		ID: drawID(t), Generation: rapid.Uint64Range(0, 3).Draw(t, "generation"), OthersInflight: rapid.Uint32Range(0, 9).Draw(t, "others"),
		HasReport: rapid.Bool().Draw(t, "reported"), AgeMillis: rapid.Uint64Range(0, 500).Draw(t, "age"),
	}
	if w, ok := m.members[s.ID]; ok && w.Generation == s.Generation {
		m.others[s.ID] = uint64(s.OthersInflight)
	}
	require.NoError(t, m.apply(wire.SyncReply{States: []wire.WorkerState{s}}))
}

func (m *model) Take(t *rapid.T) {
	id, c := drawID(t), &Charge{}
	w := m.object(id)
	allowed := w != nil && m.rows[id].breaker.Allows(m.now)
	require.Equal(t, allowed, m.Charge(c, w, m.now))
	if allowed {
		m.open = append(m.open, modelCharge{charge: c, id: id, life: m.lives[id]})
	}
}

func (m *model) TakeStale(t *rapid.T) {
	for _, w := range m.stale {
		c := &Charge{}
		require.False(t, m.Charge(c, w, m.now))
		require.False(t, c.Held())
	}
}

func (m *model) Answer(t *rapid.T) {
	if len(m.open) == 0 {
		return
	}
	c := m.open[rapid.IntRange(0, len(m.open)-1).Draw(t, "charge")].charge
	if rapid.Bool().Draw(t, "answered") {
		m.Answered(c, rapid.SampledFrom([]breaker.Outcome{breaker.Success, breaker.Failure, breaker.Neutral}).Draw(t, "outcome"), m.now)
	} else {
		m.Unanswered(c, m.now)
	}
}

func (m *model) End(t *rapid.T) {
	if len(m.open) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.open)-1).Draw(t, "charge")
	c := m.open[i].charge
	m.open = slices.Delete(m.open, i, i+1)
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		m.Release(c, rapid.SampledFrom([]End{EndComplete, EndCut, EndGone}).Draw(t, "end"), m.now)
	}
	require.False(t, c.Held())
}

func (m *model) Wait(t *rapid.T) {
	m.now += core.Instant(rapid.SampledFrom([]int{1, 200, 31_000}).Draw(t, "pause"))
}

// Tick lets the fleet look after itself: it is settled then unless a breaker is
// open.
func (m *model) Tick(t *rapid.T) {
	m.lastSync = m.now // what expires is no part of the model
	m.Expire(m.now)
	open := false
	for _, r := range m.rows {
		open = open || r.ajar()
	}
	require.Equal(t, !open, m.Settled())
}

// Check holds the fleet against the model after every step.
func (m *model) Check(t *rapid.T) {
	require.Len(t, m.rows, len(m.members))
	for id := range m.members {
		w := m.object(id)
		require.NotNil(t, w)
		require.Equal(t, m.own(id)+m.others[id], m.Inflight(w), "worker %s", id)
		if m.Settled() {
			require.Equal(t, w.Healthy && !w.Draining, m.Available(w, m.now), "worker %s", id)
		}
	}
	held := 0
	for _, r := range m.everyRow() {
		charges := openAt(t, r)
		require.Len(t, charges, int(r.own))
		require.Len(t, slices.DeleteFunc(slices.Clone(charges), func(c *Charge) bool { return c.at < r.reportAt }), int(r.since))
		held += len(charges)
	}
	require.Equal(t, len(m.open), held, "every open charge is in one list")
	for id, r := range m.departed {
		require.NotContains(t, m.members, id)
		require.Positive(t, r.own)
	}
	require.LessOrEqual(t, len(m.slots), 4, "slots are reused")
}

// everyRow lists the rows of members, of former members and of former lives.
func (m *model) everyRow() (rows []*row) {
	add := func(r *row) {
		if r != nil && !slices.Contains(rows, r) {
			rows = append(rows, r)
		}
	}
	for _, r := range m.rows {
		add(r)
	}
	for _, r := range m.departed {
		add(r)
	}
	for _, c := range m.open {
		add(c.charge.row)
	}
	return rows
}

// A41, A50, A51: whatever happens to the fleet and in whatever order requests
// end, a worker's own count is that of the open charges of its present life.
func TestFleet_counts_what_a_naive_model_counts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{
			host:  &host{Fleet: New(breaker.Config{}, nil), t: nil},
			lives: map[core.WorkerID]int{}, known: map[core.WorkerID]uint64{},
			members: map[core.WorkerID]wire.Worker{}, others: map[core.WorkerID]uint64{},
		}
		require.NoError(t, m.apply(wire.SyncReply{Full: true}))
		t.Repeat(map[string]func(*rapid.T){
			"": m.Check, "full": m.Full, "describe": m.Describe, "remove": m.Remove, "load": m.Load, "take": m.Take,
			"take stale": m.TakeStale, "answer": m.Answer, "end": m.End, "wait": m.Wait, "tick": m.Tick,
		})
	})
}
