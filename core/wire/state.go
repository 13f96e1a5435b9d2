package wire

import "github.com/pointsman/pointsman/core"

// Paths and headers of the calls that a request makes (design section 3).
const (
	ObservePath = "/v1/observe"
	BindPath    = "/v1/bind"
	// ObserveHeader carries the encoded ObserveRequest, base64url without padding;
	// the request's own body is the body of the call.
	ObserveHeader = "x-pointsman-observe"
)

// Digest is the identity of a scope. Raw keys never cross the wire.
type Digest [16]byte

// KeyKind says which fact of a request a scope's key is.
type KeyKind uint8

// The kinds of keys, by their numbers on the wire.
const (
	KeyNone KeyKind = iota
	KeySession
	KeyRouting
)

// Scope is where a key is bound.
type Scope struct {
	Digest Digest
	Kind   KeyKind
	Model  string
	Bucket string
	Stage  core.Stage
}

// BindingState says what is known of a binding.
type BindingState uint8

// The states, by their numbers on the wire.
const (
	BindingUnavailable BindingState = iota // nobody could be asked; never the same as none
	BindingNone
	BindingBound
)

// Binding is what a scope is bound to.
type Binding struct {
	Digest Digest
	State  BindingState
	Worker core.WorkerID // with BindingBound only
}

// UsedBinding is a binding that a request followed.
type UsedBinding struct {
	Digest Digest
	Worker core.WorkerID
}

// ObserveRequest asks what the state service knows of one request. Fields are
// documented in pointsman.proto.
type ObserveRequest struct {
	Context       uint64
	Model, Asked  string
	Path          string
	TimeoutMillis uint32
	Tokens        bool
	Sources       []string
	Scopes        []Scope
	InputIDs      uint32 // at most so many; 0 does not ask for them
}

// ObserveReply answers an ObserveRequest.
type ObserveReply struct {
	Tokens    core.Count
	Lookups   []Lookup
	Bindings  []Binding
	Uncounted bool
	InputIDs  InputIDs
}

// LookupOutcome says what became of a prefix lookup.
type LookupOutcome uint8

// The outcomes, by their numbers on the wire.
const (
	LookupUnavailable LookupOutcome = iota
	LookupMiss
	LookupHit
	LookupInvalid
)

// Lookup is the answer of one cache source.
type Lookup struct {
	Source  string
	Outcome LookupOutcome
	Blocks  uint64
	Detail  string
	Depths  []Depth
	Age     core.Count // milliseconds since the source last learned anything
	// Shared is the blocks, from the first on, after which many prompts go on in
	// different ways; 0 also where that is not known.
	Shared uint64
}

// Depth is how much of a prompt one worker holds.
type Depth struct {
	Worker       core.WorkerID
	Blocks       uint64
	DeviceBlocks core.Count
	Uncertain    bool
	Rank         core.Count // unknown for a worker of one rank
	Ranks        []uint32   // that hold as much, when there are several
	Age          core.Count // milliseconds since the source last learned of the rank
}

// BindRequest compares and binds.
type BindRequest struct {
	Context       uint64
	TimeoutMillis uint32
	Proposals     []Proposal
}

// Proposal is one placement.
type Proposal struct {
	Scope  Scope
	Worker core.WorkerID
	Seen   core.WorkerID // empty for none
	// IdleSeconds is how long the binding lives without use, 0 for the service's
	// default.
	IdleSeconds uint32
}

// BindReply names what each scope is bound to after the proposals.
type BindReply struct {
	Bindings []Binding
}
