package engine

import (
	"encoding/binary"
	"slices"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/tinylib/msgp/msgp"
)

// hash reads a block's name: an integer of any width, signed or not, by its 64 bits, or
// the last 8 bytes of a digest, which is what vLLM sends when it sends integers.
func hash(b []byte) (kvevents.Hash, []byte, bool) {
	switch {
	case is(b, msgp.UintType):
		n, rest, err := msgp.ReadUint64Bytes(b)
		return kvevents.Hash(n), rest, err == nil
	case is(b, msgp.IntType):
		n, rest, err := msgp.ReadInt64Bytes(b)
		return kvevents.Hash(n), rest, err == nil
	case is(b, msgp.BinType):
		digest, rest, err := msgp.ReadBytesZC(b)
		if err != nil || len(digest) < 8 {
			return 0, rest, false
		}
		return kvevents.Hash(binary.BigEndian.Uint64(digest[len(digest)-8:])), rest, true
	default:
		return 0, b, false
	}
}

func (d *Decoder) readHashes(b []byte) ([]byte, bool) {
	n, rest, ok := arrayHeader(b)
	if !ok {
		return rest, false
	}
	if n > MaxEventHashes || len(d.hashes)+n > MaxBatchHashes {
		d.f.tooLarge = true
		return skip(b)
	}
	start := len(d.hashes)
	d.hashes = slices.Grow(d.hashes, n)
	for range n {
		var h kvevents.Hash
		if h, rest, ok = hash(rest); !ok {
			return rest, false
		}
		d.hashes = append(d.hashes, h)
	}
	d.f.hashes, d.f.hashesSeen = d.hashes[start:len(d.hashes):len(d.hashes)], true
	return rest, true
}

// readTokens reads a list of tokens or of pairs of tokens. A list that is too long is
// passed over.
func (d *Decoder) readTokens(b []byte) ([]byte, bool) {
	n, rest, ok := arrayHeader(b)
	if !ok {
		return rest, false
	}
	bigram := n > 0 && is(rest, msgp.ArrayType)
	numbers := n
	if bigram {
		numbers *= 2
	}
	if numbers > MaxEventTokens || len(d.tokens)+numbers > MaxBatchTokens {
		d.f.tokens, d.f.tokensSeen, d.f.tokensDropped = nil, true, true
		return skip(b)
	}
	start := len(d.tokens)
	d.tokens = slices.Grow(d.tokens, numbers)
	if bigram {
		rest, ok = d.pairs(rest, n)
	} else {
		rest, ok = d.flat(rest, n)
	}
	if ok {
		d.f.tokens, d.f.tokensSeen, d.f.bigram = d.tokens[start:len(d.tokens):len(d.tokens)], true, bigram
	}
	return rest, ok
}

func (d *Decoder) flat(b []byte, n int) ([]byte, bool) {
	tokens := d.tokens
	for range n {
		t, rest, ok := token(b)
		if !ok {
			return rest, false
		}
		tokens = append(tokens, t)
		b = rest
	}
	d.tokens = tokens
	return b, true
}

func (d *Decoder) pairs(b []byte, n int) ([]byte, bool) {
	for range n {
		m, rest, ok := arrayHeader(b)
		if !ok || m != 2 {
			return rest, false
		}
		if b, ok = d.flat(rest, 2); !ok {
			return b, false
		}
	}
	return b, true
}
