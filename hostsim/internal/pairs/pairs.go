// Package pairs encodes and decodes the blob in which header maps travel between a proxy-wasm host and its guest:
// a little-endian u32 count, two u32 sizes per pair, then every key and value followed by a NUL (envoy.md 1.1).
package pairs

import (
	"encoding/binary"
	"errors"
)

// Limits of the C++ host (envoy.md 1.1, "Host limits").
const (
	MaxPairs = 1024
	MaxBytes = 1 << 20
)

// ErrTooLarge reports a map above MaxPairs or a blob above MaxBytes.
var ErrTooLarge = errors.New("header map is above 1024 pairs or 1 MiB")

// ErrMalformed reports a blob whose sizes do not add up.
var ErrMalformed = errors.New("header map blob is malformed")

// Encode returns the blob of list, or ErrTooLarge.
func Encode(list [][2]string) ([]byte, error) {
	size := 4
	for _, p := range list {
		size += 8 + len(p[0]) + 1 + len(p[1]) + 1
	}
	if len(list) > MaxPairs || size > MaxBytes {
		return nil, ErrTooLarge
	}
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, size), uint32(len(list)))
	for _, p := range list {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p[0])))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p[1])))
	}
	for _, p := range list {
		out = append(append(out, p[0]...), 0)
		out = append(append(out, p[1]...), 0)
	}
	return out, nil
}

// Decode reads a blob. Empty input is an empty map, as in the C++ host. The result does not share memory with blob.
func Decode(blob []byte) ([][2]string, error) {
	if len(blob) == 0 {
		return nil, nil
	}
	if len(blob) > MaxBytes {
		return nil, ErrTooLarge
	}
	if len(blob) < 4 {
		return nil, ErrMalformed
	}
	n := binary.LittleEndian.Uint32(blob)
	if n > MaxPairs {
		return nil, ErrTooLarge
	}
	sizes, data := blob[4:], blob[4:]
	if uint64(len(data)) < 8*uint64(n) {
		return nil, ErrMalformed
	}
	data = data[8*n:]
	list := make([][2]string, n)
	for i := range list {
		for side := range 2 {
			size := binary.LittleEndian.Uint32(sizes)
			sizes = sizes[4:]
			if uint64(size)+1 > uint64(len(data)) {
				return nil, ErrMalformed
			}
			list[i][side] = string(data[:size])
			data = data[size+1:]
		}
	}
	return list, nil
}
