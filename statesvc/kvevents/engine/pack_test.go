package engine_test

import (
	"github.com/tinylib/msgp/msgp"
)

// A small notation for messages: arr and obj nest, everything else is one value.

type pair struct {
	key   string
	value []byte
}

func arr(values ...[]byte) []byte {
	out := msgp.AppendArrayHeader(nil, uint32(len(values)))
	for _, v := range values {
		out = append(out, v...)
	}
	return out
}

func obj(pairs ...pair) []byte {
	out := msgp.AppendMapHeader(nil, uint32(len(pairs)))
	for _, p := range pairs {
		out = append(msgp.AppendString(out, p.key), p.value...)
	}
	return out
}

func str(s string) []byte      { return msgp.AppendString(nil, s) }
func bin(b ...byte) []byte     { return msgp.AppendBytes(nil, b) }
func num(n int64) []byte       { return msgp.AppendInt64(nil, n) }
func float(f float64) []byte   { return msgp.AppendFloat64(nil, f) }
func null() []byte             { return msgp.AppendNil(nil) }
func boolean(b bool) []byte    { return msgp.AppendBool(nil, b) }
func raw(b ...byte) []byte     { return b }
func unsigned(n uint64) []byte { return msgp.AppendUint64(nil, n) }

func nums(n ...int64) []byte {
	out := make([][]byte, len(n))
	for i, v := range n {
		out[i] = num(v)
	}
	return arr(out...)
}

// batchBytes is a batch of events.
func batchBytes(events ...[]byte) []byte { return arr(float(1.5), arr(events...), num(0)) }

// nested is a list in a list, and so on.
func nested(depth int) []byte {
	out := make([]byte, depth, depth+1)
	for i := range out {
		out[i] = 0x91
	}
	return append(out, 0xc0)
}

// stored is a good store of two blocks, as a map, with some fields set otherwise. A nil
// value takes a field out.
func stored(changes ...pair) []byte {
	return with([]pair{
		{"type", str("BlockStored")},
		{"block_hashes", nums(1, 2)},
		{"parent_block_hash", num(9)},
		{"token_ids", nums(10, 11, 12, 13)},
		{"block_size", num(2)},
		{"lora_id", null()},
		{"medium", str("GPU")},
	}, changes)
}

func removed(changes ...pair) []byte {
	return with([]pair{
		{"type", str("BlockRemoved")}, {"block_hashes", nums(1, 2)}, {"medium", str("GPU")},
	}, changes)
}

func with(pairs, changes []pair) []byte {
next:
	for _, c := range changes {
		for i := range pairs {
			if pairs[i].key == c.key {
				pairs[i].value = c.value
				continue next
			}
		}
		pairs = append(pairs, c)
	}
	kept := pairs[:0]
	for _, p := range pairs {
		if p.value != nil {
			kept = append(kept, p)
		}
	}
	return obj(kept...)
}
