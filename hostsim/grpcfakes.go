package hostsim

import (
	"slices"
	"sync"
)

// noGRPC knows no cluster.
type noGRPC struct{}

func (noGRPC) HasCluster(string) bool                    { return false }
func (noGRPC) Open(GRPCCall, func(GRPCEvent)) GRPCStream { return deafStream{} }

// swallowGRPC knows every cluster and never answers.
type swallowGRPC struct{ noGRPC }

func (swallowGRPC) HasCluster(string) bool { return true }

// deafStream drops what it is sent.
type deafStream struct{}

func (deafStream) Send([]byte, bool) {}
func (deafStream) CloseSend()        {}
func (deafStream) Cancel()           {}

// GRPCFunc answers streams to any cluster, message by message. It owns the message and may use the stream it is
// answered on later too, from any goroutine, but only one at a time.
type GRPCFunc func(message []byte, s *AnsweredGRPC)

// HasCluster implements GRPCTransport.
func (GRPCFunc) HasCluster(string) bool { return true }

// Open implements GRPCTransport. The guest sees the beginning of the answer after the call that opened the stream.
func (f GRPCFunc) Open(call GRPCCall, deliver func(GRPCEvent)) GRPCStream {
	s := &AnsweredGRPC{GRPCCall: call, deliver: deliver}
	deliver(GRPCEvent{Kind: GRPCInitialMetadata, Metadata: NewHeaders([2]string{":status", "200"},
		[2]string{"content-type", "application/grpc"})})
	return answeringStream{f, s}
}

// AnsweredGRPC is the other end of a stream that a GRPCFunc or a test answers.
type AnsweredGRPC struct {
	GRPCCall
	deliver func(GRPCEvent)
	ended   bool
}

// Reply sends a message to the guest, which owns it.
func (s *AnsweredGRPC) Reply(message []byte) {
	s.deliver(GRPCEvent{Kind: GRPCMessage, Message: message})
}

// Deliver sends any event to the guest.
func (s *AnsweredGRPC) Deliver(e GRPCEvent) { s.deliver(e) }

// Close ends the stream with a status and a reason. A second end is dropped.
func (s *AnsweredGRPC) Close(status uint32, reason string) {
	if s.ended {
		return
	}
	s.ended = true
	s.deliver(GRPCEvent{Kind: GRPCTrailingMetadata})
	s.deliver(GRPCEvent{Kind: GRPCClosed, Status: status, Reason: reason})
}

// answeringStream is the guest's end of a stream that a GRPCFunc answers.
type answeringStream struct {
	f GRPCFunc
	s *AnsweredGRPC
}

func (a answeringStream) Send(message []byte, last bool) {
	a.f(slices.Clone(message), a.s)
	if last {
		a.CloseSend()
	}
}

func (a answeringStream) CloseSend() { a.s.Close(grpcOK, "") }
func (answeringStream) Cancel()      {}

// HeldGRPC keeps streams and their messages until a test answers them. The zero value knows every cluster. Safe for
// concurrent use.
type HeldGRPC struct {
	// Clusters limits what is known, when it is not nil.
	Clusters map[string]bool

	mu   sync.Mutex
	held []*HeldGRPCStream
}

// HeldGRPCStream is one stream that a test answers.
type HeldGRPCStream struct {
	AnsweredGRPC
	// Sent are the guest's messages so far.
	Sent [][]byte
	// HalfClosed and Cancelled say that the guest did.
	HalfClosed, Cancelled bool
}

// HasCluster implements GRPCTransport.
func (h *HeldGRPC) HasCluster(name string) bool { return h.Clusters == nil || h.Clusters[name] }

// Open implements GRPCTransport.
func (h *HeldGRPC) Open(call GRPCCall, deliver func(GRPCEvent)) GRPCStream {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &HeldGRPCStream{AnsweredGRPC: AnsweredGRPC{GRPCCall: call, deliver: deliver}}
	h.held = append(h.held, s)
	return s
}

// All returns every stream since the start, in order.
func (h *HeldGRPC) All() []*HeldGRPCStream {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.held)
}

// Send implements GRPCStream.
func (s *HeldGRPCStream) Send(message []byte, last bool) {
	s.Sent = append(s.Sent, slices.Clone(message))
	s.HalfClosed = s.HalfClosed || last
}

// CloseSend implements GRPCStream.
func (s *HeldGRPCStream) CloseSend() { s.HalfClosed = true }

// Cancel implements GRPCStream.
func (s *HeldGRPCStream) Cancel() { s.Cancelled = true }
