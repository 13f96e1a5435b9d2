package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// The gRPC method of the stream that carries calls (pointsman.proto).
const (
	CallsService = "pointsman.v1.State"
	CallsMethod  = "Calls"
)

// MaxCallBody is the largest client body, in bytes, that goes with a call of a stream. A
// larger one would keep the calls behind it waiting, and a request of its own costs
// little beside the reading of it.
const MaxCallBody = 64 << 10

// MaxCalls is how many calls a context has without a reply on its stream at a time. More
// go as requests of their own, for which hosts and services have queues.
const MaxCalls = 128

// Call is one call of a stream. One without Observe and Bind is a greeting.
type Call struct {
	Number  uint32
	Observe *ObserveRequest
	Bind    *BindRequest
	Body    string // the client's, with Observe
}

// CallReply answers a call.
type CallReply struct {
	Number   uint32
	Observed *ObserveReply // nil when no observe was taken
	Bound    *BindReply    // nil when no bind was taken
	Refused  string        // code of why the call was not taken; empty when it was
}

// AppendGRPCService appends what hosts take for a gRPC service, an
// envoy.config.core.v3.GrpcService that names a cluster, and returns the result.
func AppendGRPCService(dst []byte, cluster, authority string) []byte {
	const envoyGRPC = 1
	return appendMessage(dst, envoyGRPC, func(b []byte) []byte {
		return appendString(appendString(b, 1, cluster), 2, authority)
	})
}

// AppendCall appends the encoded call to dst and returns the result.
func AppendCall(dst []byte, c *Call) []byte {
	dst = appendUint(dst, 1, uint64(c.Number))
	if c.Observe != nil {
		dst = appendMessage(dst, 2, func(b []byte) []byte { return AppendObserveRequest(b, c.Observe) })
	}
	if c.Bind != nil {
		dst = appendMessage(dst, 3, func(b []byte) []byte { return AppendBindRequest(b, c.Bind) })
	}
	return appendString(dst, 4, c.Body)
}

// DecodeCallReply reads a reply of the state service, by the rules of
// DecodeSyncReply.
func DecodeCallReply(msg []byte) (r CallReply, err error) {
	err = walk(msg, func(f field) (err error) {
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			r.Number = uint32(f.num)
		case f.number == 2 && f.kind == protowire.BytesType:
			r.Observed, err = DecodeObserveReply(f.raw)
		case f.number == 3 && f.kind == protowire.BytesType:
			r.Bound, err = DecodeBindReply(f.raw)
		case f.number == 4 && f.kind == protowire.BytesType:
			r.Refused, err = text(f.raw)
		}
		return err
	})
	if err != nil {
		// The number stays: what was asked has an answer, though none of use.
		return CallReply{Number: r.Number}, fmt.Errorf("call reply: %w", err)
	}
	return r, nil
}
