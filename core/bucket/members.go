package bucket

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core"
)

// Members says which engines belong to a group. The zero value is All. Members
// are immutable.
type Members struct {
	explicit bool
	ids      []core.WorkerID // in byte order
}

// All are the engines that serve the model in the group's stage.
func All() Members { return Members{} }

// Only are the engines of these IDs; of no IDs, none.
func Only(ids ...core.WorkerID) Members {
	return Members{explicit: true, ids: slices.Sorted(slices.Values(ids))}
}

// Contains reports whether the engine of an ID belongs to the group.
func (m Members) Contains(id core.WorkerID) bool {
	if !m.explicit {
		return true
	}
	_, found := slices.BinarySearch(m.ids, id)
	return found
}

// Explicit lists the IDs in byte order, false when the members are All.
func (m Members) Explicit() ([]core.WorkerID, bool) { return slices.Clone(m.ids), m.explicit }

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
	return found
}
