package flow

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/wire"
)

// EventKind says what happened.
type EventKind uint8

// The events (design section 2).
const (
	EventNone     EventKind = iota
	EventHeaders            // request headers are complete
	EventBodyPart           // a part of the body arrived, more may come
	EventBody               // the body is complete
	EventTick               // time passed while the request waits
	EventResponse           // response headers arrived
	EventDone               // the stream is over
	EventObserved           // reply to Observe
	EventBound              // reply to Bind
)

// Event is one thing that happened to a request. Fields not named for the kind
// are ignored.
type Event struct {
	Kind EventKind
	Now  core.Instant

	// EventHeaders.
	Method          string
	Path            string // with its query, as on the wire
	ContentLength   core.Count
	ContentEncoding string
	ModelHeader     string // x-pointsman-model, read in header-only mode
	EndOfStream     bool   // the request has no body
	// Values of the headers that Context.Needs names, empty when absent.
	SessionHeader, RoutingHeader string
	TTFTHeader, TPSHeader        string
	PriorityHeader               string
	// Subset is the hint that keeps the request to some engines; nil when there is none.
	Subset *core.Subset

	// EventHeaders and EventTick: bytes of the request the host has received,
	// headers included; unknown when the host cannot tell.
	Received core.Count

	// EventBodyPart: bytes of body so far. EventBody: the body itself; the
	// machine keeps nothing of it.
	Size uint64
	Body string
	// BodyErr says why the host does not give the body it has. It is no fault of
	// the client's.
	BodyErr error

	// EventResponse.
	Status int
	// Failure is set when the host, not an engine, made the response because
	// the engine could not be reached or broke off; Own when the host made it
	// for another reason.
	Failure, Own bool

	// EventResponse and EventDone, where Context.NeedsUpstream: address of the
	// engine the host used last, empty when unknown.
	Upstream string

	// EventDone.
	End fleet.End

	// EventObserved and EventBound: the Call of the effect that is answered, and
	// the reply, nil when there is none. The machine may sort the reply and keeps
	// parts of it until EventDone.
	Call     uint64
	Observed *wire.ObserveReply
	Bound    *wire.BindReply
}

// EffectKind says what the host must do.
type EffectKind uint8

// The effects (design section 2).
const (
	EffectNone     EffectKind = iota
	EffectStrip               // remove the routing headers a client may have sent
	EffectPause               // hold the request until the next effect
	EffectContinue            // let the request go on, resuming it if held
	EffectRoute               // set the endpoint header
	EffectSplice              // put Insertions into the request body; content-length follows
	EffectRespond             // answer the client; the request goes no further
	EffectObserve             // ask the state service about this request
	EffectBind                // compare-and-bind a placement
	EffectReceipt             // the decision is complete; Request.Receipt has it
	EffectFault               // log Fault: a person must look into it
	EffectAbort               // tell the engine at Endpoint to end the request of the rid Text; nobody waits for its answer
	EffectWorker              // name the engine Text to the client in its response headers, none when it is empty
)

// Insertion is text to be put into a body.
type Insertion struct {
	At   int // offset into the body as EventBody gave it
	Text string
}

// Effect is one thing the host must do.
type Effect struct {
	Kind     EffectKind
	Endpoint string // EffectRoute and EffectAbort: literal ip:port, in EffectRoute also several with commas between
	// Rank, of EffectRoute, is the data-parallel rank that the engine is to use, unknown to
	// leave it to the engine. With OwnsRank a client's word for it must not pass.
	Rank     core.Count
	OwnsRank bool
	Text     string   // EffectWorker, EffectAbort
	Response Response // EffectRespond
	Fault    error    // EffectFault: may name engines, so it is never sent to a client

	// EffectSplice: in order of their places, valid until the request's next event.
	Insertions []Insertion

	// EffectObserve and EffectBind. The messages are valid until the request's
	// next event. Call numbers are never repeated within a context.
	Call     uint64
	Observe  *wire.ObserveRequest
	WithBody bool // send the client's body with Observe
	Bind     *wire.BindRequest
}
