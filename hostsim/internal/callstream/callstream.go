// Package callstream is the state service's end of a stream of calls (service State of core/wire) for simulations: it
// turns each call into the request over HTTP that it stands for, so that a simulated service needs no other door.
package callstream

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pointsman/pointsman/core/wire"
)

// Call is a call of a stream. Its messages are still encoded; one that is nil was not made.
type Call struct {
	Number        uint32
	Observe, Bind []byte
	// Body is the client's, of Observe.
	Body []byte
}

// Answer is what a path answered: an encoded message, or the code of why not.
type Answer struct {
	Message []byte
	Refused string
}

// Fields of Call and CallReply.
const (
	fieldNumber  = 1
	fieldObserve = 2
	fieldBind    = 3
	fieldBody    = 4
	fieldRefused = 4
)

// Decode reads a call. It keeps parts of msg.
func Decode(msg []byte) (c Call, err error) {
	for len(msg) > 0 {
		n, kind, size := protowire.ConsumeTag(msg)
		if size < 0 {
			return Call{}, fmt.Errorf("call: %w", protowire.ParseError(size))
		}
		msg = msg[size:]
		if size = protowire.ConsumeFieldValue(n, kind, msg); size < 0 {
			return Call{}, fmt.Errorf("call: %w", protowire.ParseError(size))
		}
		c.take(n, kind, msg[:size])
		msg = msg[size:]
	}
	return c, nil
}

// take notes the value of a field.
func (c *Call) take(n protowire.Number, kind protowire.Type, value []byte) {
	if n == fieldNumber && kind == protowire.VarintType {
		number, _ := protowire.ConsumeVarint(value)
		c.Number = uint32(number)
	}
	if kind != protowire.BytesType {
		return
	}
	text, _ := protowire.ConsumeBytes(value)
	switch n {
	case fieldObserve:
		c.Observe = append([]byte{}, text...) // not nil, though it may be empty
	case fieldBind:
		c.Bind = append([]byte{}, text...)
	case fieldBody:
		c.Body = text
	}
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
	case c.Path() == "":
		return reply
	case a.Refused != "":
	case c.Observe != nil:
		field, value = fieldObserve, a.Message
	default:
		field, value = fieldBind, a.Message
	}
	return protowire.AppendBytes(protowire.AppendTag(reply, field, protowire.BytesType), value)
}
