package abi

import "encoding/binary"

// Pairs is a header map as hosts write it: a count, the lengths of keys and
// values, then keys and values with a zero byte after each, numbers little-endian
// in four bytes (envoy.md 1.1).
type Pairs string

const (
	numberBytes = 4
	lengthBytes = 2 * numberBytes // of one header
)

// Valid reports whether the lengths add up to what is there.
func (p Pairs) Valid() bool {
	if len(p) < numberBytes {
		return false
	}
	n := p.number(0)
	if n > (len(p)-numberBytes)/lengthBytes {
		return false
	}
	rest := len(p) - numberBytes - n*lengthBytes
	for i := range 2 * n {
		length := p.number(numberBytes + i*numberBytes)
		if length >= rest {
			return false
		}
		rest -= length + 1
	}
	return true
}

// All visits the headers in order. The pairs must be valid.
func (p Pairs) All(visit func(key, value string) bool) {
	n := p.number(0)
	at := numberBytes + n*lengthBytes
	for i := range n {
		key := at + p.number(numberBytes+i*lengthBytes)
		value := key + 1 + p.number(2*numberBytes+i*lengthBytes)
		if !visit(string(p[at:key]), string(p[key+1:value])) {
			return
		}
		at = value + 1
	}
}

// number reads one; a length above 2 GiB is as good as any other that is too
// long.
func (p Pairs) number(at int) int {
	_ = p[at+3]
	n := uint32(p[at]) | uint32(p[at+1])<<8 | uint32(p[at+2])<<16 | uint32(p[at+3])<<24
	return int(min(n, 1<<31-1))
}

// AppendPairs appends headers in the host's form.
func AppendPairs(dst []byte, headers [][2]string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(headers)))
	for _, h := range headers {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(h[0])))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(h[1])))
	}
	for _, h := range headers {
		for _, text := range h {
			dst = append(dst, text...)
			dst = append(dst, 0)
		}
	}
	return dst
}
