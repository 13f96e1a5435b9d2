package wire

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// EncodedCall is a Call as a service gets it: its parts are still encoded, and cut from the
// message that they came in.
type EncodedCall struct {
	Number  uint32
	Observe []byte // an ObserveRequest; nil when there is none
	Bind    []byte // a BindRequest; nil when there is none
	Body    []byte // the client's own
}

// Greeting reports whether the call asks for nothing but a reply.
func (c *EncodedCall) Greeting() bool { return c.Observe == nil && c.Bind == nil }

// DecodeCall takes a call apart without copying, by the rules of DecodeSyncReply. A part that
// comes twice is put together outside of the message, as one: such parts in a row are one.
func DecodeCall(msg []byte) (c EncodedCall, err error) {
	rest := fields(msg)
	var f field
	for {
		more, err := rest.next(&f)
		if !more {
			return c, err
		}
		switch {
		case f.number == 1 && f.kind == protowire.VarintType:
			c.Number = uint32(f.num)
		case f.number == 2 && f.kind == protowire.BytesType:
			c.Observe = merged(c.Observe, f.raw)
		case f.number == 3 && f.kind == protowire.BytesType:
			c.Bind = merged(c.Bind, f.raw)
		case f.number == 4 && f.kind == protowire.BytesType:
			c.Body = f.raw
		}
	}
}

func merged(before, part []byte) []byte {
	if before == nil {
		return slices.Clip(part)
	}
	return append(before, part...)
}
