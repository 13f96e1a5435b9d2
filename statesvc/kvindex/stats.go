package kvindex

import (
	"cmp"
	"maps"
	"slices"

	"github.com/pointsman/pointsman/statesvc/kvevents"
)

// Stats counts what an index holds and what happened to it. Those of the second part
// only grow.
type Stats struct {
	Bytes    int64 // accounted, without pending prefixes
	Nodes    int64
	Entries  int64 // hashes in the owners' maps
	Unplaced int64 // of these, without a node, now
	Sets     int64 // distinct sets of holders
	Owners   int
	Shapes   int
	Pending  int // records of credited blocks
	// ExtraCopies is the copies counted beyond the first: the most blocks that can be
	// believed in though they are gone, if every repeat was a re-announced hit.
	ExtraCopies int64

	Events          uint64
	Clears          uint64
	UncountedCopies uint64 // repeats beyond Config.MaxCopies
	RemovedUnknown  uint64 // removals of hashes, or on tiers, that nobody stored
	UnknownParent   uint64 // stores that could not be placed for want of the parent
	AmbiguousParent uint64 // or because the parent's hash names several contents
	Mismatched      uint64 // or because numbers did not fit
	Collisions      uint64 // or because another prefix has the key
	TooManyShapes   uint64
	TooManyGroups   uint64 // hashes of groups beyond 64
	UnknownTier     uint64 // stores on a tier that nobody knows
	UnplacedEver    uint64 // hashes that were kept without a node
	UnplacedDropped uint64 // and given up for memory
	Evicted         uint64 // nodes given up for memory
	PendingHits     uint64 // lookups where a pending prefix beat every confirmed one
	PendingDropped  uint64 // records given up for the bound
}

// Held is the first part: what there is at present.
func (s Stats) Held() Stats {
	return Stats{
		Bytes: s.Bytes, Nodes: s.Nodes, Entries: s.Entries, Unplaced: s.Unplaced, Sets: s.Sets,
		Owners: s.Owners, Shapes: s.Shapes, Pending: s.Pending, ExtraCopies: s.ExtraCopies,
	}
}

// Stats reads the counts. It waits for a mutation in progress.
func (x *Index) Stats() Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.stats
	s.Bytes = x.bytes()
	s.Nodes, s.Entries, s.Unplaced = x.sizes.nodes, x.sizes.entries, x.sizes.unplaced
	s.Owners = len(x.owners)
	for i := range x.shards {
		s.Sets += int64(x.shards[i].sets.live)
	}
	for _, u := range x.shapes {
		if u.nodes > 0 {
			s.Shapes++
		}
	}
	p := &x.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Pending = len(p.queue) - p.head
	s.PendingHits, s.PendingDropped = p.hits, p.lost
	return s
}

// EvictionsBy counts the blocks given up for memory by the worker whose events made them
// go, of any worker's blocks: a flood has one name here. Workers without any are not
// in it, and a removed worker's count is gone. It waits for a mutation in progress.
func (x *Index) EvictionsBy() map[string]uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.room)
}

// Occupancy is the blocks that one cache group of an owner has on each tier, placed
// or not, each hash counted once.
type Occupancy struct {
	Owner    Owner
	Group    uint32
	Window   uint32 // tokens of its sliding window, 0 for none
	Blocks   [4]int64
	Unplaced int64 // hashes whose content is not known
}

// On is the blocks on one tier, 0 for a tier that holds nothing.
func (o *Occupancy) On(t kvevents.Tier) int64 {
	if bit(t) == 0 {
		return 0
	}
	return o.Blocks[t-kvevents.TierDevice]
}

// Occupancies appends one entry per cache group, sorted by owner and group. It waits
// for nobody; the numbers are kept as events come.
func (x *Index) Occupancies(dst []Occupancy) []Occupancy {
	start := len(dst)
	for _, h := range x.view.Load().holders {
		if h == nil {
			continue
		}
		o := Occupancy{Owner: h.owner.Owner, Group: h.group, Window: h.window.Load(), Unplaced: h.unplaced.Load()}
		for t := range o.Blocks {
			o.Blocks[t] = h.held[t].Load()
		}
		dst = append(dst, o)
	}
	slices.SortFunc(dst[start:], func(a, b Occupancy) int {
		return cmp.Or(cmp.Compare(a.Owner.Worker, b.Owner.Worker), cmp.Compare(a.Owner.Rank, b.Owner.Rank),
			cmp.Compare(a.Group, b.Group))
	})
	return dst
}
