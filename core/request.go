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
}

// Reason says why a policy chose an engine. It is a metric label, so the set is
// closed.
type Reason uint8

// The reasons (engine-selection.md 8; those of consistent_hash are ours).
const (
	ReasonNone Reason = iota
	ReasonRoundRobin
	ReasonRandom
	ReasonPowerOfTwo
	ReasonLoadBased
	ReasonConsistentHash // the engine its key belongs to
	ReasonHashOverflow   // another one, that engine being loaded above its bound or rejected
	ReasonNoKey          // power_of_two's choice for a request without a key
	reasonEnd
)

// ReasonCount is the number of reasons, none included.
const ReasonCount = int(reasonEnd)

// String gives the reason's name in receipts and metrics.
func (r Reason) String() string {
	switch r {
	case ReasonRoundRobin:
		return "round_robin"
	case ReasonRandom:
		return "random"
	case ReasonPowerOfTwo:
		return "power_of_two"
	case ReasonLoadBased:
		return "load_based"
	case ReasonConsistentHash:
		return "consistent_hash"
	case ReasonHashOverflow:
		return "consistent_hash_overflow"
	case ReasonNoKey:
		return "no_key"
	case ReasonNone, reasonEnd:
		return "none"
	}
	return "none"
}
