package wasmfile

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// errTruncated reports that a length or count points beyond the end of its section or of the module.
var errTruncated = errors.New("the module is cut off")

// reader walks over bytes and remembers the first problem; after one, every read answers zero values.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

func (r *reader) done() bool { return r.err != nil || len(r.rest) == 0 }

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail(errTruncated)
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if v > 0xffff_ffff {
				break
			}
			return uint32(v)
		}
	}
	r.fail(errors.New("a number is longer than 32 bits"))
	return 0
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.rest)) {
		r.fail(errTruncated)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) name() string {
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.fail(fmt.Errorf("the name %q is not UTF-8", b))
		return ""
	}
	return string(b)
}

// count reads the number of entries of a vector and refuses one that cannot fit, each entry taking at least min bytes.
func (r *reader) count(minEntry int) int {
	n := r.u32()
	if int64(n)*int64(minEntry) > int64(len(r.rest)) {
		r.fail(errTruncated)
		return 0
	}
	return int(n)
}

// appendU32 appends v in LEB128.
func appendU32(dst []byte, v uint32) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

func appendName(dst []byte, name string) []byte {
	dst = appendU32(dst, uint32(len(name)))
	return append(dst, name...)
}
