package callstream

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of the fields of Call in pointsman.proto.
const (
	numberField  = 1
	observeField = 2
	bindField    = 3
	bodyField    = 4
)

var errNoCall = errors.New("not a call: the message is cut off or has a field of another type")

// Call is one call, its parts still encoded and cut from the message that they came in.
type Call struct {
	Number  uint32
	Observe []byte // an ObserveRequest; nil when there is none
	Bind    []byte // a BindRequest; nil when there is none
	Body    []byte // the client's own
}

// Greeting reports whether the call asks for nothing but a reply.
func (c *Call) Greeting() bool { return c.Observe == nil && c.Bind == nil }

// Decode takes a Call message apart without copying, as proto.Unmarshal would read it: fields
// that are not known are skipped.
func Decode(message []byte) (*Call, error) {
	c := &Call{}
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, errNoCall
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(field, kind, message)
		if size < 0 {
			return nil, errNoCall
		}
		c.set(field, kind, message[:size])
		message = message[size:]
	}
	return c, nil
}

// set takes a field over. One of another type than the contract's is as one not known.
func (c *Call) set(field protowire.Number, kind protowire.Type, value []byte) {
	if field == numberField && kind == protowire.VarintType {
		n, _ := protowire.ConsumeVarint(value)
		c.Number = uint32(n)
	}
	if kind != protowire.BytesType {
		return
	}
	part, _ := protowire.ConsumeBytes(value)
	switch field {
	case observeField:
		c.Observe = merged(c.Observe, part)
	case bindField:
		c.Bind = merged(c.Bind, part)
	case bodyField:
		c.Body = part
	}
}

// merged is a message that came in parts: as one, they are the parts in a row.
func merged(before, part []byte) []byte {
	if before == nil {
		return part[:len(part):len(part)]
	}
	return append(before, part...)
}
