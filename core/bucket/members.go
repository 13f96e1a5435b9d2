package bucket

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
)

// Members says which engines belong to a group. The zero value is All. Members
// are immutable.
type Members struct {
	explicit bool
	ids      []core.WorkerID // in byte order
	behind   bool
	services []string // in byte order
}

// All are the engines that serve the model in the group's stage.
func All() Members { return Members{} }

// Only are the engines of these IDs; of no IDs, none.
func Only(ids ...core.WorkerID) Members {
	return Members{explicit: true, ids: slices.Sorted(slices.Values(ids))}
}

// Behind are those of the members that are behind one of these Kubernetes
// Services; of no services, none. Membership then survives engines that are
// replaced under other IDs (engine-selection.md 2.1).
func (m Members) Behind(services ...string) Members {
	m.behind, m.services = true, slices.Sorted(slices.Values(services))
	return m
}

// Contains reports whether an engine belongs to the group. Where both IDs and
// services are named it must be of both.
func (m Members) Contains(w *core.Worker) bool {
	if m.explicit {
		if _, found := slices.BinarySearch(m.ids, w.ID); !found {
			return false
		}
	}
	return !m.behind || slices.ContainsFunc(w.Services, func(s string) bool {
		_, found := slices.BinarySearch(m.services, s)
		return found
	})
}

// problems names blank and repeated IDs (engine-selection.md 2.7).
func (m Members) problems() []string {
	var found []string
	for i, id := range m.ids {
		switch {
		case strings.TrimSpace(string(id)) == "":
			found = append(found, "a worker id is blank")
		case i > 0 && m.ids[i-1] == id && (i == 1 || m.ids[i-2] != id):
			found = append(found, "worker id "+string(id)+" is repeated")
		}
	}
	return append(found, m.serviceProblems()...)
}

func (m Members) serviceProblems() []string {
	var found []string
	for i, s := range m.services {
		if !core.ServiceName(s) {
			found = append(found, strconv.Quote(s)+" is no service, as namespace/name")
		} else if i > 0 && m.services[i-1] == s {
			found = append(found, "service "+s+" is repeated")
		}
	}
	return found
}
