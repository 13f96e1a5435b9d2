package fleet

import "github.com/pointsman/pointsman/core"

// maxRanks bounds the data-parallel ranks of one engine that are told apart.
const maxRanks = 1024

// ChargeRank notes on which data-parallel rank of its engine a held charge is. It is
// released with the charge. A rank that the engine does not have is not noted.
func (f *Fleet) ChargeRank(c *Charge, rank uint64) {
	r := c.row
	if r == nil || c.rank != 0 || rank >= maxRanks || r.worker.Ranks > 0 && rank >= uint64(r.worker.Ranks) {
		return
	}
	for uint64(len(r.ranks)) <= rank {
		r.ranks = append(r.ranks, 0)
	}
	r.ranks[rank]++
	c.rank = uint32(rank) + 1
}

// releaseRank takes the charge off its rank.
func (c *Charge) releaseRank() {
	if c.rank != 0 {
		c.row.ranks[c.rank-1]--
	}
}

// RankInflight counts this context's requests in flight on one rank of an engine, of
// those that were sent to a rank.
func (f *Fleet) RankInflight(w *core.Worker, rank uint64) uint64 {
	r := f.at(w)
	if r == nil || rank >= uint64(len(r.ranks)) {
		return 0
	}
	return uint64(r.ranks[rank])
}

// LeastRank gives the rank of an engine that this context has fewest requests in flight
// on, of equals the next one in turn: of those among, of all if it is empty
// (engine-selection.md 8.7). Offset is where contexts begin to take turns. It is unknown
// where nobody knows how many ranks the engine has.
func (f *Fleet) LeastRank(w *core.Worker, among []uint32, offset uint64) core.Count {
	r := f.at(w)
	n := uint64(len(among))
	if n == 0 {
		n = uint64(max(w.Ranks, 0))
	}
	if r == nil || n == 0 || n > maxRanks {
		return core.Count{}
	}
	start := offset + r.turn
	r.turn++
	best, least := uint64(0), uint64(0)
	for i := range n {
		rank := (start%n + i) % n
		if len(among) > 0 {
			rank = uint64(among[rank])
		}
		if load := f.RankInflight(w, rank); i == 0 || load < least {
			best, least = rank, load
		}
	}
	return core.Known(best)
}
