package flow

import (
	"sort"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/history"
)

// maxSentRanks is how many prompts a context remembers the ranks of: some bursts.
const maxSentRanks = 64

// sentRanks are the data-parallel ranks that a context's latest prompts were sent to.
// What was just sent to an engine counts as held there (see pending), and on the rank
// that it was sent to: a burst of requests with one new prefix would otherwise be computed
// by each rank of its engine. The zero value is empty. Single-threaded.
type sentRanks struct {
	ring []sentRank // of maxSentRanks at most
	next int        // the oldest of a full ring
}

type sentRank struct {
	worker *core.Worker
	rank   uint64
	until  core.Instant
	hashes []uint64 // of the prompt up to each boundary
}

// enter notes that a prompt is sent to a rank, which counts until an instant.
func (s *sentRanks) enter(w *core.Worker, rank uint64, path *history.Path, until core.Instant) {
	if len(s.ring) < maxSentRanks {
		s.ring = append(s.ring, sentRank{})
		s.next = len(s.ring) - 1
	}
	e := &s.ring[s.next]
	s.next = (s.next + 1) % len(s.ring)
	*e = sentRank{w, rank, until, e.hashes[:0]}
	for i := range path.Len() {
		e.hashes = append(e.hashes, path.Hash(i))
	}
}

// find gives the rank of an engine that was sent the most of a prompt, of equals the one
// that was sent it last.
func (s *sentRanks) find(w *core.Worker, path *history.Path, now core.Instant) (rank core.Count) {
	most := 0
	for i := range s.ring {
		e := &s.ring[(s.next+i)%len(s.ring)]
		if e.worker != w || e.until <= now {
			continue
		}
		if n := e.common(path); n > 0 && n >= most {
			most, rank = n, core.Known(e.rank)
		}
	}
	return rank
}

// common counts the boundaries up to which two prompts are the same. Each hash is of all
// before it, so those that agree come first.
func (e *sentRank) common(path *history.Path) int {
	return sort.Search(min(len(e.hashes), path.Len()), func(i int) bool { return e.hashes[i] != path.Hash(i) })
}

// noteRank remembers the rank that the request is sent to, where what was sent counts.
func (r *Request) noteRank(now core.Instant) {
	if p := r.ctx.pending; p != nil && r.receipt.Rank.Known && r.path != nil && r.path.Len() > 0 {
		p.ranks.enter(r.named[0], r.receipt.Rank.N, r.path, now+r.ctx.state.PendingPrefix)
	}
}
