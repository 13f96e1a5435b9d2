package core

import "math/rand/v2"

// BucketRequest is the set of facts a request brings to bucket selection. It
// holds no HTTP body and no observation (POLICY_DESIGN section 2).
type BucketRequest struct {
	Model string  // canonical model, after alias and adapter look-up
	Asked string  // the name the client sent; an adapter's own name
	Input Tokens  // prompt length
	Peak  Count   // input plus requested output, when the output is known
	Now   Instant // the instant of this selection

	SessionKey string // empty when the client sent none
	RoutingKey string // empty when the client sent none
	// Prompt is the prompt as the client wrote it: the JSON text of its messages or
	// its prompt. Empty when it was not seen. Valid during the selection only.
	Prompt string

	// Subset are the only engines that may be candidates, nil for any.
	Subset *Subset
	// Excluded engines are no candidates: the request has failed on them, or has
	// them as earlier choices.
	Excluded []*Worker
	// Spare says that this is a further choice beside one already made, for the
	// host's transport retries. Rotations stay where they are.
	Spare bool
	// Again says that the selection resumes after one that was not dispatched,
	// because another request placed the key first.
	Again bool

	// Placed says where the request's keys are bound; nil when nothing is known.
	Placed Placements

	// Rand is the request's own random source, seeded so that a repeated
	// selection repeats itself.
	Rand *rand.Rand
}

// Placements are the engines that a request's keys are bound to. A group keeps a
// bound engine among its candidates while it drains, so that a session ends where
// it is and no new one comes.
type Placements interface {
	// Placed is the engine of one group, empty for none.
	Placed(bucket string, stage Stage) WorkerID
}

// Rotates reports whether a rotation moves with this pick. Rotations count
// requests: neither further choices nor resumed selections move them.
func (r *BucketRequest) Rotates() bool { return !r.Spare && !r.Again }

// PickRequest is a BucketRequest as one engine group's policy sees it.
type PickRequest struct {
	*BucketRequest
	Stage  Stage
	Bucket string
}

// Pick is one chosen engine and why.
type Pick struct {
	Worker *Worker
	Reason Reason
	// Bind says that the pick is a new placement of the request's key in its
	// scope, to be bound before the request is sent (POLICY_DESIGN section 6).
	Bind bool
	// Matched is how many prompt tokens the engine is known to hold, for policies
	// that look at prefixes.
	Matched Count
	// Cache is what came of a pick that looked at prefixes.
	Cache CacheDecision
	// Guard is what the pressure guard said to it.
	Guard GuardVerdict
	// Diverted is how many prompt tokens the best of the engines holds that were
	// passed over for their queue; 0 unless Cache is CacheWorkerQueued.
	Diverted uint64
}

// GuardVerdict says what the pressure guard did in a cache-aware pick
// (engine-selection.md 9.5, 15). It is a metric label.
type GuardVerdict uint8

// The verdicts.
const (
	GuardUnasked  GuardVerdict = iota // no two engines were close enough, or their load is not known
	GuardKept                         // asked, and the engine with the least to compute was taken
	GuardSwitched                     // another engine was taken, being under much less pressure
	guardEnd
)

// GuardVerdictCount is the number of verdicts, unasked included.
const GuardVerdictCount = int(guardEnd)

// String gives the verdict's name in metrics.
func (g GuardVerdict) String() string {
	switch g {
	case GuardKept:
		return "kept"
	case GuardSwitched:
		return "switched"
	case GuardUnasked, guardEnd:
		return "none"
	}
	return "none"
}

// CacheDecision says what a cache-aware pick came to: exactly one per pick that
// gave an engine (engine-selection.md 15). It is a metric label.
type CacheDecision uint8

// The cache decisions.
const (
	CacheNone         CacheDecision = iota // the policy does not look at prefixes
	CacheHit                               // an engine that holds the prefix
	CacheMiss                              // no engine holds enough of it, or nobody could be asked
	CacheWorkerQueued                      // all engines that hold it have a queue, another one has none
	CacheAllQueued                         // every engine has a queue
	cacheEnd
)

// CacheDecisionCount is the number of cache decisions, none included.
const CacheDecisionCount = int(cacheEnd)

// String gives the decision's name in receipts and metrics.
func (d CacheDecision) String() string {
	switch d {
	case CacheHit:
		return "cache_hit"
	case CacheMiss:
		return "cache_miss"
	case CacheWorkerQueued:
		return "cache_worker_queued"
	case CacheAllQueued:
		return "all_queued"
	case CacheNone, cacheEnd:
		return "none"
	}
	return "none"
}

// Reason says why a policy chose an engine. It is a metric label, so the set is
// closed.
type Reason uint8

// The reasons (engine-selection.md 8 and 9; those of consistent_hash are ours, as
// is every one for state that could not be asked).
const (
	ReasonNone Reason = iota
	ReasonRoundRobin
	ReasonRandom
	ReasonPowerOfTwo
	ReasonLoadBased
	ReasonConsistentHash   // the engine its key belongs to
	ReasonHashOverflow     // another one, that engine being loaded above its bound or rejected
	ReasonNoKey            // power_of_two's choice for a request without a key
	ReasonSessionPrimary   // the engine the session is bound to
	ReasonAssigned         // a new placement of the session
	ReasonNoSession        // the fallback's choice for a request without a session
	ReasonSessionUnbound   // by hash: nobody could be asked for the session's placement
	ReasonSticky           // the engine the routing key is bound to
	ReasonStickyAssigned   // a new placement of the routing key
	ReasonNoRoutingKey     // the fallback's choice for a request without a routing key
	ReasonStickyUnbound    // by hash: nobody could be asked for the key's placement
	ReasonCacheCandidate   // an engine that holds enough of the prompt
	ReasonSaturationPin    // such an engine although it has a queue, as every engine has
	ReasonNoCacheCandidate // the fallback's choice: no engine holds enough and has no queue
	ReasonCacheUnavailable // the fallback's choice: nobody could be asked for prefixes
	ReasonSharedPrefix     // an engine under little load that holds what many prompts begin with
	reasonEnd
)

// ReasonCount is the number of reasons, none included.
const ReasonCount = int(reasonEnd)

// String gives the reason's name in receipts and metrics.
func (r Reason) String() string {
	if r >= reasonEnd {
		return "none"
	}
	return [...]string{
		ReasonNone:             "none",
		ReasonRoundRobin:       "round_robin",
		ReasonRandom:           "random",
		ReasonPowerOfTwo:       "power_of_two",
		ReasonLoadBased:        "load_based",
		ReasonConsistentHash:   "consistent_hash",
		ReasonHashOverflow:     "consistent_hash_overflow",
		ReasonNoKey:            "no_key",
		ReasonSessionPrimary:   "session_primary",
		ReasonAssigned:         "assigned",
		ReasonNoSession:        "no_session",
		ReasonSessionUnbound:   "session_unbound",
		ReasonSticky:           "sticky",
		ReasonStickyAssigned:   "sticky_assigned",
		ReasonNoRoutingKey:     "no_routing_key",
		ReasonStickyUnbound:    "sticky_unbound",
		ReasonCacheCandidate:   "cache_candidate",
		ReasonSaturationPin:    "saturation_pin",
		ReasonNoCacheCandidate: "no_cache_candidate",
		ReasonCacheUnavailable: "cache_unavailable",
		ReasonSharedPrefix:     "shared_prefix",
	}[r]
}
