// Package history passes on between filter contexts which engines were sent which
// prompts (design section 5b). It keeps the latest of it, in memory, and knows
// nothing of what the hashes mean.
package history

import (
	"sync"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/history"
	"github.com/pointsman/pointsman/core/wire"
)

// Bounds of what passes through.
const (
	MaxReport = 2 * history.MaxOutbox // hashes in one report
	MaxSize   = history.Chunk         // bytes from one boundary to the next
	// maxReply bounds the hashes in one reply. A context that has missed more catches
	// up with the next ones.
	maxReply = 4096
	// maxKept bounds the hashes kept, for contexts that begin later: 64 MB of
	// prompts in less than a megabyte.
	maxKept = 1 << 16
)

// Log is the latest news. Safe for concurrent use.
type Log struct {
	id uint64

	mu    sync.Mutex
	list  []entry // oldest first
	gone  uint64  // entries dropped so far: the number of the oldest
	kept  int     // hashes
	total uint64  // hashes taken so far
}

type entry struct {
	context uint64
	run     wire.Run
}

// New makes an empty log with a random name.
func New(id uint64) *Log { return &Log{id: max(id, 1)} }

// Exchange takes what a context reports and gives what others have reported since
// the context's cursor, within the bounds. A cursor of another log begins at the
// oldest entry. The runs must not be changed by either side afterwards.
func (l *Log) Exchange(context uint64, news *wire.History) wire.History {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range news.Runs {
		l.add(entry{context, news.Runs[i]})
	}
	reply := wire.History{Present: true, Log: l.id, Cursor: l.gone}
	if news.Log == l.id {
		reply.Cursor = min(max(news.Cursor, l.gone), l.gone+uint64(len(l.list)))
	}
	for hashes := 0; reply.Cursor < l.gone+uint64(len(l.list)); reply.Cursor++ {
		e := &l.list[reply.Cursor-l.gone]
		if e.context == context || len(e.run.Hashes) == 0 {
			continue
		}
		if hashes += len(e.run.Hashes); hashes > maxReply && len(reply.Runs) > 0 {
			break
		}
		reply.Runs = append(reply.Runs, e.run)
	}
	return reply
}

// Forget drops what was sent to a worker that left; contexts drop it by themselves.
func (l *Log) Forget(worker core.WorkerID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.list {
		if e := &l.list[i]; e.run.Worker == worker {
			l.kept -= len(e.run.Hashes)
			*e = entry{} // its number stays taken
		}
	}
}

func (l *Log) add(e entry) {
	l.list = append(l.list, e)
	l.kept += len(e.run.Hashes)
	l.total += uint64(len(e.run.Hashes))
	drop := 0
	for ; l.kept > maxKept; drop++ {
		l.kept -= len(l.list[drop].run.Hashes)
		l.list[drop] = entry{}
	}
	l.list, l.gone = l.list[drop:], l.gone+uint64(drop)
}

// Kept and Total count the hashes kept and those taken so far.
func (l *Log) Kept() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept
}

// Total counts the hashes taken so far.
func (l *Log) Total() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
