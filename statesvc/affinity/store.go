package affinity

import (
	"context"

	"github.com/pointsman/pointsman/core"
)

// Digest identifies a scope with its key. Whoever makes one hashes each part with
// its length, so that no text of one part can pass for text of another.
type Digest [16]byte

// Proposal asks for one binding.
type Proposal struct {
	Scope  Digest
	Worker core.WorkerID // the engine to bind to, never empty
	// Seen is the binding that the proposal was made upon, empty for none.
	Seen core.WorkerID
	// Idle is how long the binding lives without use, in milliseconds, above zero.
	Idle core.Instant
}

// Use is a binding that a request followed.
type Use struct {
	Scope  Digest
	Worker core.WorkerID
}

// Store keeps bindings. Instants are the caller's and never run backwards.
// Implementations serve concurrent callers.
type Store interface {
	// Bound gives each scope's engine, empty for none, and refreshes nothing: a
	// binding that was looked up may still not be used.
	Bound(ctx context.Context, now core.Instant, scopes []Digest) ([]core.WorkerID, error)
	// Bind sets every proposal whose scope is bound to nothing, to what the
	// proposal saw or to what it proposes, and refreshes it. It gives the engine
	// each scope is bound to in the end: the proposed one, or the winner's. A
	// scope that found no room has the empty one.
	Bind(ctx context.Context, now core.Instant, proposals []Proposal) ([]core.WorkerID, error)
	// Touch refreshes bindings that were used. A scope that is bound to another
	// engine by then, or to none, is passed over.
	Touch(ctx context.Context, now core.Instant, uses []Use) error
	// Forget removes every binding to an engine and says how many there were.
	Forget(ctx context.Context, worker core.WorkerID) (int, error)
}
