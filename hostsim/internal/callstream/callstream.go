// Package callstream is the state service's end of a stream of calls (service State of core/wire) for simulations: it
// turns each call into the request over HTTP that it stands for, so that a simulated service needs no other door.
package callstream

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pointsman/pointsman/core/wire"
)

// Call is a call of a stream.
type Call struct{ wire.EncodedCall }

// Answer is what a path answered: an encoded message, or the code of why not.
type Answer struct {
	Message []byte
	Refused string
}

// Fields of CallReply.
const (
	fieldNumber   = 1
	fieldObserved = 2
	fieldBound    = 3
	fieldRefused  = 4
)

// Decode reads a call. It keeps parts of msg.
func Decode(msg []byte) (Call, error) {
	c, err := wire.DecodeCall(msg)
	if err != nil {
		return Call{}, fmt.Errorf("call: %w", err)
	}
	return Call{c}, nil
}

// Path is the path of core/wire that the call stands for, empty for a greeting.
func (c Call) Path() string {
	switch {
	case c.Observe != nil:
		return wire.ObservePath
	case c.Bind != nil:
		return wire.BindPath
	}
	return ""
}

// Reply encodes the answer of the call's path; that of a greeting has nothing in it.
func (c Call) Reply(a Answer) []byte {
	reply := protowire.AppendTag(nil, fieldNumber, protowire.VarintType)
	reply = protowire.AppendVarint(reply, uint64(c.Number))
	field := protowire.Number(fieldRefused)
	value := []byte(a.Refused)
	switch {
	case c.Greeting():
		return reply
	case a.Refused != "":
	case c.Observe != nil:
		field, value = fieldObserved, a.Message
	default:
		field, value = fieldBound, a.Message
	}
	return protowire.AppendBytes(protowire.AppendTag(reply, field, protowire.BytesType), value)
}
