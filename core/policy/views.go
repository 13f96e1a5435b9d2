package policy

import "github.com/pointsman/pointsman/core"

// Scope is where a key is bound: one model, bucket and stage (POLICY_DESIGN
// section 5). The kinds of keys are apart, so that a session and a routing key of
// one text never meet.
type Scope struct {
	Kind   KeySource // KeySession or KeyRouting
	Model  string
	Bucket string
	Stage  core.Stage
	Key    string
}

// BindingState says what is known of a key's placement.
type BindingState uint8

// The states of a binding.
const (
	BindingUnavailable BindingState = iota // nobody could be asked; never the same as none
	BindingNone                            // the key is bound to no engine
	BindingBound                           // the key is bound to Binding.Worker
)

// Binding is what is known of one key's placement in one scope.
type Binding struct {
	State  BindingState
	Worker core.WorkerID // with BindingBound only
}

// Bindings is what a policy may know of the placements of keys. A policy never
// writes one: it asks for it with core.Pick.Bind, and whoever runs the pick binds
// once the selection is complete, and picks again when another one was faster.
type Bindings interface {
	// Binding is stable for the time of a pick.
	Binding(s Scope) Binding
}

// LookupOutcome says what became of a request's prefix lookup at one source.
type LookupOutcome uint8

// The outcomes (engine-selection.md 9.3).
const (
	LookupUnavailable LookupOutcome = iota // late, down, overloaded, too large; never the same as a miss
	LookupMiss                             // no engine holds a block of the prompt
	LookupHit                              // PrefixView.Depth says who holds how much
	LookupInvalid                          // the source refused the query: a person must look
)

// Lookup is the answer of one source to a request's one lookup.
type Lookup struct {
	Outcome LookupOutcome
	Blocks  uint64 // blocks of the query, above zero for LookupHit
	// Shared is how many of the query's blocks, from the first on, belong to many
	// prompts; 0 also where the source does not know, as SourceRemote.
	Shared uint64
	// Holders are the engines that hold as much of it as was asked for, of
	// SourceHistory only, in no order: then no other's Depth is asked. They may be former descriptions of
	// members. Valid until the pick returns.
	Holders []*core.Worker
	Depths  []uint64 // what each of Holders holds
	Detail  string   // why, for LookupInvalid and LookupUnavailable
}

// PrefixView is what a policy may know of the prefixes that engines hold. One
// lookup per request and source serves all buckets (POLICY_DESIGN section 5).
type PrefixView interface {
	// Lookup gives the request's lookup at a named source. Engines that hold fewer
	// than least tokens of the prompt need not be among its Holders.
	Lookup(source string, least uint64, req *core.PickRequest) Lookup
	// Depth is how many of the query's blocks an engine holds, from the first on
	// and without a gap; of several ranks or copies the most. 0 when none.
	Depth(source string, w *core.Worker) uint64
	// Sent is how much this context lately sent an engine that it did not hold, in
	// units of the source, to compare engines by.
	Sent(source string, w *core.Worker) uint64
}
