package bucket

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core"
)

// rosterNames bounds how many model names, adapters included, a group remembers
// the members of. More names than that still work and are looked up again.
const rosterNames = 64

// roster remembers who of a fleet version belongs to a group, per model name, so
// that a pick neither looks up maps nor sorts, and who of them is available while
// the fleet is settled, so that a pick does not look at every engine either.
type roster struct {
	stage   core.Stage
	members Members
	version uint64
	entries []rosterEntry
	oldest  int // entry to replace when the roster is full
}

type rosterEntry struct {
	model   string
	workers []*core.Worker
	ready   []*core.Worker // those available while the fleet is settled
	known   bool           // ready is
}

// settled lists the members that are available, while the registry is settled.
func (e *rosterEntry) settled(registry Registry, now core.Instant) []*core.Worker {
	if !e.known {
		e.ready, e.known = appendAvailable(nil, registry, e.workers, now), true
	}
	return e.ready
}

func appendAvailable(dst []*core.Worker, registry Registry, workers []*core.Worker, now core.Instant) []*core.Worker {
	for _, w := range workers {
		if registry.Available(w, now) {
			dst = append(dst, w)
		}
	}
	return dst
}

// entry finds the group's members that serve a model, in ID order.
func (r *roster) entry(registry Registry, model string) *rosterEntry {
	if version := registry.Version(); version != r.version {
		clear(r.entries)
		r.entries, r.oldest, r.version = r.entries[:0], 0, version
	}
	for i := range r.entries {
		if r.entries[i].model == model {
			return &r.entries[i]
		}
	}
	workers := r.enlist(registry.Serving(model))
	if len(workers) == 0 {
		return &rosterEntry{}
	}
	return r.remember(model, workers)
}

func (r *roster) enlist(serving []*core.Worker) []*core.Worker {
	var enlisted []*core.Worker
	for _, w := range serving {
		if w.Stage == r.stage && r.members.Contains(w) {
			enlisted = append(enlisted, w)
		}
	}
	slices.SortStableFunc(enlisted, core.CompareWorkers)
	return enlisted
}

// remember keeps a copy of the name, which may be a part of a request's body.
// Only names that an engine serves come here, so clients cannot fill the roster.
func (r *roster) remember(model string, workers []*core.Worker) *rosterEntry {
	at := r.oldest
	if len(r.entries) < rosterNames {
		at = len(r.entries)
		r.entries = append(r.entries, rosterEntry{})
	} else {
		r.oldest = (r.oldest + 1) % rosterNames
	}
	r.entries[at] = rosterEntry{model: strings.Clone(model), workers: workers}
	return &r.entries[at]
}
