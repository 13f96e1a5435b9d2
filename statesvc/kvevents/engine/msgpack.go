package engine

import (
	"encoding/binary"

	"github.com/tinylib/msgp/msgp"
)

// The readers below give what follows the value, and false when the value is not what
// was asked for or is not all there. Which of the two it was, skip tells.

// is tells whether the next value has a type. Nothing is of no type.
func is(b []byte, t msgp.Type) bool { return msgp.NextType(b) == t }

// skip passes over one value of any kind. It keeps a count of values to come in the
// place of a stack, so nesting costs nothing. It fails only on bytes that are not
// msgpack.
func skip(b []byte) ([]byte, bool) {
	for pending := 1; pending > 0; pending-- {
		var err error
		var n uint32
		switch {
		case is(b, msgp.ArrayType):
			n, b, err = msgp.ReadArrayHeaderBytes(b)
			pending += int(n)
		case is(b, msgp.MapType):
			n, b, err = msgp.ReadMapHeaderBytes(b)
			pending += 2 * int(n)
		default:
			b, err = msgp.Skip(b)
		}
		if err != nil {
			return b, false
		}
	}
	return b, true
}

// arrayHeader reads the length of an array that has bytes enough behind it.
func arrayHeader(b []byte) (int, []byte, bool) {
	n, rest, err := msgp.ReadArrayHeaderBytes(b)
	return int(n), rest, err == nil && int(n) <= len(rest)
}

// mapHeader reads the number of pairs of a map that has bytes enough behind it.
func mapHeader(b []byte) (int, []byte, bool) {
	n, rest, err := msgp.ReadMapHeaderBytes(b)
	return int(n), rest, err == nil && 2*int(n) <= len(rest)
}

// text reads a string in place.
func text(b []byte) ([]byte, []byte, bool) {
	if !is(b, msgp.StrType) {
		return nil, b, false
	}
	s, rest, err := msgp.ReadStringZC(b)
	return s, rest, err == nil
}

// small reads an integer of any width that fits 32 bits and is not negative.
func small(b []byte) (uint32, []byte, bool) {
	n, rest, err := msgp.ReadUint32Bytes(b)
	return n, rest, err == nil
}

// signed reads an integer of any width that fits 63 bits and a sign.
func signed(b []byte) (int64, []byte, bool) {
	n, rest, err := msgp.ReadInt64Bytes(b)
	return n, rest, err == nil
}

// number reads an integer of any width or a float.
func number(b []byte) (float64, []byte, bool) {
	switch {
	case is(b, msgp.Float64Type):
		f, rest, err := msgp.ReadFloat64Bytes(b)
		return f, rest, err == nil
	case is(b, msgp.Float32Type):
		f, rest, err := msgp.ReadFloat32Bytes(b)
		return float64(f), rest, err == nil
	case is(b, msgp.UintType):
		n, rest, err := msgp.ReadUint64Bytes(b)
		return float64(n), rest, err == nil
	default:
		n, rest, err := msgp.ReadInt64Bytes(b)
		return float64(n), rest, err == nil
	}
}

// token reads an integer of up to 32 bits. Tokens are nearly all of a payload, so the
// widths that engines write are read here, and the others by msgp.
func token(b []byte) (uint32, []byte, bool) {
	if len(b) >= 5 {
		switch lead := b[0]; {
		case lead < 0x80:
			return uint32(lead), b[1:], true
		case lead == 0xcc:
			return uint32(b[1]), b[2:], true
		case lead == 0xcd:
			return uint32(binary.BigEndian.Uint16(b[1:])), b[3:], true
		case lead == 0xce:
			return binary.BigEndian.Uint32(b[1:]), b[5:], true
		}
	}
	t, rest, err := msgp.ReadUint32Bytes(b)
	return t, rest, err == nil
}

// isNil passes over a nil.
func isNil(b []byte) ([]byte, bool) {
	if !is(b, msgp.NilType) {
		return b, false
	}
	return b[1:], true
}
