package fleet

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
)

var _ claims.Sink = (*Fleet)(nil)

// Say implements claims.Sink: the fleet becomes what all sources together say. When it
// returns, the sink has been told of what left; what came is probed first.
func (f *Fleet) Say(source claims.Source, list []claims.Claim) []claims.Conflict {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return nil
	}
	f.book.Say(source, list)
	f.sourceSpoke(source, len(list))
	conflicts := f.follow()
	f.noteReady()
	own := make([]claims.Conflict, 0)
	for _, c := range conflicts {
		if c.Source == source {
			own = append(own, c)
		}
	}
	return own
}

// Order replaces the IDs of the workers that an operator drains. Unknown ones wait for
// their worker.
func (f *Fleet) Order(drained []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	f.book.Order(drained)
	f.follow()
}

// Find gives what the sources say of a worker.
func (f *Fleet) Find(id core.WorkerID) (claims.Worker, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.members[id]; m != nil {
		return *m.word(), true
	}
	return claims.Worker{}, false
}

// FindAddress gives what the sources say of the worker at an address, as it was written.
func (f *Fleet) FindAddress(hostPort string) (claims.Worker, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.sorted {
		if m.cfg.Endpoint.HostPort() == hostPort {
			return *m.word(), true
		}
	}
	return claims.Worker{}, false
}

// follow makes the members those of the book. The caller holds mu.
func (f *Fleet) follow() []claims.Conflict {
	workers, conflicts := f.book.Merge()
	f.noteConflicts(conflicts)
	present := make(map[core.WorkerID]bool, len(workers))
	for i := range workers {
		present[core.WorkerID(workers[i].Config.ID)] = true
	}
	for _, m := range f.sorted {
		if !present[m.id] {
			f.remove(m)
		}
	}
	sorted := make([]*member, 0, len(workers))
	for i := range workers {
		sorted = append(sorted, f.admit(&workers[i]))
	}
	f.sorted = sorted
	return conflicts
}

// admit gives the member of a worker: the present one where it can take over what is
// said, else another.
func (f *Fleet) admit(w *claims.Worker) *member {
	id := core.WorkerID(w.Config.ID)
	m := f.members[id]
	switch {
	case m == nil:
		if f.started {
			f.o.Logger.Info("engine joined", "worker", w.Config.ID, "address", w.Config.Endpoint.HostPort(), "sources", w.Sources)
		}
		m = f.add(w, f.former.take(id))
	case sameEngine(m.word(), w):
		m.hear(w)
	default:
		past := f.retire(m)
		f.o.Logger.Info("engine is another", "worker", w.Config.ID, "address", w.Config.Endpoint.HostPort(), "was", past.address)
		m = f.add(w, past)
	}
	return m
}

func (f *Fleet) add(w *claims.Worker, p past) *member {
	m := newMember(w, p, &f.o, &f.counts)
	f.members[m.id] = m
	m.pending = true
	f.pending++
	f.watch(m)
	return m
}

func (f *Fleet) remove(m *member) {
	f.o.Logger.Info("engine left", "worker", string(m.id))
	f.former.bury(m.id, f.retire(m))
	delete(f.members, m.id)
	f.o.Sink.Remove(m.id)
}

// retire ends a member without waiting for its goroutines; it tells the sink nothing more.
func (f *Fleet) retire(m *member) past {
	f.settled(m)
	p := m.retire()
	if m.cancel != nil {
		m.cancel()
	} else {
		m.client.Close()
	}
	return p
}

// sameEngine reports whether a member can go on with what is said now: what it talks to
// and how did not change.
func sameEngine(a, b *claims.Worker) bool {
	reborn := a.Incarnation != "" && b.Incarnation != "" && a.Incarnation != b.Incarnation
	return !reborn && a.Config.Endpoint == b.Config.Endpoint &&
		a.Config.Health == b.Config.Health && a.Config.Metrics == b.Config.Metrics
}

// past is what a member leaves to the next one of its ID.
type past struct {
	address    string // that its source named
	life       life
	recoveries uint64
}

// graveyard remembers the last engines that left, so that one that comes back goes on
// with its generation: a flapping source must not make contexts drop true counts.
type graveyard struct {
	pasts map[core.WorkerID]past
	order []core.WorkerID // oldest first
}

// maxFormer bounds the engines that are remembered.
const maxFormer = config.MaxWorkers

func (g *graveyard) bury(id core.WorkerID, p past) {
	if g.pasts == nil {
		g.pasts = map[core.WorkerID]past{}
	}
	if len(g.order) >= maxFormer {
		delete(g.pasts, g.order[0])
		g.order = g.order[1:]
	}
	g.pasts[id] = p
	g.order = append(g.order, id)
}

// take gives and forgets what is known of an engine, nothing for one that is new.
func (g *graveyard) take(id core.WorkerID) past {
	p, ok := g.pasts[id]
	if ok {
		delete(g.pasts, id)
		for i, other := range g.order {
			if other == id {
				g.order = append(g.order[:i], g.order[i+1:]...)
				break
			}
		}
	}
	return p
}
