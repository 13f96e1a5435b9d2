package board

import (
	"slices"

	"github.com/pointsman/pointsman/core"
)

// graveyard remembers the last removed workers, so that a delta can name them.
type graveyard struct {
	room   int
	graves []grave // oldest first
	// horizon is the version of the newest forgotten grave: a delta from an older
	// version would miss a removal.
	horizon uint64
}

type grave struct {
	id      core.WorkerID
	version uint64
}

// bury notes a removal. A worker has one grave, its latest.
func (g *graveyard) bury(id core.WorkerID, version uint64) {
	g.graves = slices.DeleteFunc(g.graves, func(old grave) bool { return old.id == id })
	if len(g.graves) >= g.room {
		g.horizon = g.graves[0].version
		g.graves = slices.Delete(g.graves, 0, 1)
	}
	g.graves = append(g.graves, grave{id: id, version: version})
}

// covers reports whether every removal after the version is remembered.
func (g *graveyard) covers(version uint64) bool { return version >= g.horizon }
