package flow

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/wire"
)

// chooseRank gives the data-parallel rank of the chosen engine that is to compute the
// request (engine-selection.md 8.7): that of its key, else one that holds the prefix it
// was chosen for, else the one with fewest requests in flight. Only the second is asked
// for unless the model's engines are always told a rank. It is unknown where the engine
// is to choose: it has one rank, or nobody knows how many.
func (r *Request) chooseRank(pick *core.Pick) (rank core.Count, by receipt.RankBy) {
	w := pick.Worker
	free := r.ranked && w.Ranks > 1
	if key := r.rankKey(); free && key != "" {
		rank, by = core.Known(r.ctx.rankOf(key, uint64(w.Ranks))), receipt.RankByKey
	} else if rank = r.rankOfPrefix(pick); free && !rank.Known {
		rank, by = r.ctx.Fleet.LeastRank(w, nil, r.ctx.seed), receipt.RankByLoad
	}
	for _, named := range r.named[:1+r.spares] {
		if rank.Known && named.Ranks > 0 && rank.N >= uint64(named.Ranks) {
			return core.Count{}, by // an engine that may get the request has no such rank
		}
	}
	return rank, by
}

// rankOfPrefix gives a rank that holds the prefix the engine was chosen for, of several
// the one with fewest requests in flight; or that was sent it a moment ago, where that is
// far more than any holds. Only then a rank is worth naming: all prompts
// begin alike somehow, and would all go to the rank that computed the first of them. A
// spare engine that gets the request in its place is told the same rank.
func (r *Request) rankOfPrefix(pick *core.Pick) core.Count {
	if pick.Cache == core.CacheNone || !forPrefix(pick) || r.memo == nil || r.source == policy.SourceHistory {
		return core.Count{}
	}
	at := r.memo.lookup(r.source)
	if at < 0 {
		return core.Count{}
	}
	d := r.memo.lookups[at].of(pick.Worker.ID)
	if rank := r.rankOfPending(d, pick.Worker); rank.Known {
		return rank
	}
	switch {
	case d == nil:
		return core.Count{}
	case len(d.Ranks) > 1:
		return r.ctx.Fleet.LeastRank(pick.Worker, d.Ranks, r.ctx.seed)
	}
	return d.Rank
}

// rankOfPending gives the rank of an engine that was sent the prompt a moment ago. What is
// sent is measured by bytes, so it goes before what is known only where it is more than
// twice as much.
func (r *Request) rankOfPending(d *wire.Depth, w *core.Worker) core.Count {
	if r.receipt.Prefix.Certainty != receipt.CertaintyPending || d != nil && r.ahead/2 <= d.Blocks {
		return core.Count{}
	}
	return r.ctx.pending.ranks.find(w, r.path, r.bucket.Now)
}

// rankKey is what keeps a request on one rank: its routing key, else its session.
func (r *Request) rankKey() string {
	if r.bucket.RoutingKey != "" {
		return r.bucket.RoutingKey
	}
	return r.bucket.SessionKey
}

// rankOf gives the rank of a key, the same one in every proxy.
func (c *Context) rankOf(key string, ranks uint64) uint64 {
	c.scratch = append(c.scratch[:0], key...)
	sum := sha256.Sum256(c.scratch)
	return binary.BigEndian.Uint64(sum[:8]) % ranks
}

// ownsRank reports whether ranks are the router's business, so that a client's word for
// one does not reach the engine.
func (r *Request) ownsRank() bool {
	return r.receipt.Prefix.Source == policy.DefaultPrefixSource || r.ranked
}

// forPrefix reports whether an engine was chosen for what it holds.
func forPrefix(pick *core.Pick) bool {
	return pick.Reason == core.ReasonCacheCandidate || pick.Reason == core.ReasonSaturationPin || pick.Reason == core.ReasonSharedPrefix
}
