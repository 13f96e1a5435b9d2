package flow

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
)

// maxRecent bounds the bindings a context remembers, maxUsed those it reports
// with one sync.
const (
	maxRecent = 4096
	maxUsed   = 1024
)

// recent remembers the bindings a context saw last, for when the state service
// is not there (design section 7). It keeps no keys.
type recent struct {
	nodes        []recentNode
	at           map[wire.Digest]int32
	newest, last int32 // of the list by use; meaningless while nodes is empty
	used         []wire.UsedBinding
}

type recentNode struct {
	digest       wire.Digest
	worker       core.WorkerID
	newer, older int32
	used         bool // it stands in recent.used
}

// none is the end of the list.
const none = -1

// get gives the engine a scope was bound to when it was last seen.
func (l *recent) get(d wire.Digest) (core.WorkerID, bool) {
	i, ok := l.at[d]
	if !ok || l.nodes[i].worker == "" {
		return "", false
	}
	l.touch(i)
	return l.nodes[i].worker, true
}

// put notes a binding. An empty worker notes that there is none.
func (l *recent) put(d wire.Digest, worker core.WorkerID) {
	i, ok := l.at[d]
	if !ok {
		if worker == "" {
			return
		}
		i = l.claim()
		l.nodes[i].digest, l.nodes[i].used = d, false
		l.at[d] = i
	}
	l.nodes[i].worker = worker
	l.touch(i)
}

// claim gives a node for a new scope, the least recent one when all are taken.
func (l *recent) claim() int32 {
	if len(l.nodes) < maxRecent {
		if l.at == nil {
			l.at = map[wire.Digest]int32{}
		}
		i := int32(len(l.nodes))
		l.nodes = append(l.nodes, recentNode{newer: none, older: none})
		if i == 0 {
			l.newest, l.last = 0, 0
		} else {
			l.link(i)
		}
		return i
	}
	delete(l.at, l.nodes[l.last].digest)
	return l.last
}

// touch makes a node the newest.
func (l *recent) touch(i int32) {
	if i == l.newest {
		return
	}
	n := &l.nodes[i]
	l.nodes[n.newer].older = n.older
	if n.older == none {
		l.last = n.newer
	} else {
		l.nodes[n.older].newer = n.newer
	}
	l.link(i)
}

// link puts a node that is in no list before the newest.
func (l *recent) link(i int32) {
	l.nodes[i].newer, l.nodes[i].older = none, l.newest
	l.nodes[l.newest].newer = i
	l.newest = i
}

// use notes that a request followed a binding, once per report. It fails when
// the report is full.
func (l *recent) use(d wire.Digest, worker core.WorkerID) bool {
	i, ok := l.at[d]
	if ok && l.nodes[i].used {
		return true
	}
	if len(l.used) == maxUsed {
		return false
	}
	if ok {
		l.nodes[i].used = true
	}
	l.used = append(l.used, wire.UsedBinding{Digest: d, Worker: worker})
	return true
}

// drain appends what was used since the last time.
func (l *recent) drain(dst []wire.UsedBinding) []wire.UsedBinding {
	for _, u := range l.used {
		if i, ok := l.at[u.Digest]; ok {
			l.nodes[i].used = false
		}
	}
	dst = append(dst, l.used...)
	l.used = l.used[:0]
	return dst
}
