package bucket

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core"
)

// rosterNames bounds how many model names, adapters included, a group remembers
// the members of. More names than that still work and are looked up again.
const rosterNames = 64

// roster remembers who of a fleet version belongs to a group, per model name, so
// that a pick neither looks up maps nor sorts.
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
}

// workers lists the group's members that serve a model, in ID order.
func (r *roster) workers(registry Registry, model string) []*core.Worker {
	if version := registry.Version(); version != r.version {
		clear(r.entries)
		r.entries, r.oldest, r.version = r.entries[:0], 0, version
	}
	for i := range r.entries {
		if r.entries[i].model == model {
			return r.entries[i].workers
		}
	}
	workers := r.enlist(registry.Serving(model))
	if len(workers) > 0 {
		r.remember(model, workers)
	}
	return workers
}

func (r *roster) enlist(serving []*core.Worker) []*core.Worker {
	var enlisted []*core.Worker
	for _, w := range serving {
		if w.Stage == r.stage && r.members.Contains(w.ID) {
			enlisted = append(enlisted, w)
		}
	}
	slices.SortStableFunc(enlisted, func(a, b *core.Worker) int { return cmp.Compare(a.ID, b.ID) })
	return enlisted
}

// remember keeps a copy of the name, which may be a part of a request's body.
// Only names that an engine serves come here, so clients cannot fill the roster.
func (r *roster) remember(model string, workers []*core.Worker) {
	entry := rosterEntry{model: strings.Clone(model), workers: workers}
	if len(r.entries) < rosterNames {
		r.entries = append(r.entries, entry)
		return
	}
	r.entries[r.oldest] = entry
	r.oldest = (r.oldest + 1) % rosterNames
}
