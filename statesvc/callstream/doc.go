// Package callstream serves gRPC streams of calls: State.Calls of core/wire/pointsman.proto.
// It knows streams, frames and their bounds; what a call asks and what the answer is are its
// Handler's.
//
// A stream is an HTTP/2 request of net/http whose body is a series of calls and whose response
// is a series of replies. It costs the goroutine of the request, one for each call that is
// worked on, and memory for one message that is read, one that is written, and Options.InFlight
// replies that wait to be written. Nothing is read ahead: a peer that does not read its replies
// is not read from either, once its calls in flight wait to be answered.
package callstream
