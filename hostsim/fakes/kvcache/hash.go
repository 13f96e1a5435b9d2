package kvcache

import (
	"crypto/sha256"
	"encoding/binary"
)

// Hash names a block and everything before it. Engines send a part of it: vLLM the last
// eight bytes or all, SGLang the first eight.
type Hash [sha256.Size]byte

// Last64 is vLLM's integer form.
func (h Hash) Last64() uint64 { return binary.BigEndian.Uint64(h[sha256.Size-8:]) }

// First64 is SGLang's integer form.
func (h Hash) First64() int64 { return int64(binary.BigEndian.Uint64(h[:8])) }

// noSeed is what vLLM 0.32.0 takes for PYTHONHASHSEED when that is unset.
const noSeed = "vllm-none-hash"

// RootHash is the parent of first blocks for a seed (PYTHONHASHSEED) with vLLM's
// sha256_cbor; "" is no seed.
func RootHash(seed string) Hash {
	if seed == "" {
		seed = noSeed
	}
	return sha256.Sum256(cborText(nil, seed))
}

// vllmHash is vLLM's sha256_cbor: over the canonical CBOR of [parent, tokens, extra
// keys], where the keys are nil or [["cache_salt", S]], [["lora", NAME, PATH]] or both
// (fixtures/README.md section 2, Hashes).
func vllmHash(parent Hash, tokens []uint32, ns Namespace, first bool) Hash {
	b := append(make([]byte, 0, 64+5*len(tokens)), 0x83)
	b = append(cborHead(b, 2, uint64(len(parent))), parent[:]...)
	b = cborHead(b, 4, uint64(len(tokens)))
	for _, t := range tokens {
		b = cborHead(b, 0, uint64(t))
	}
	keys := 0
	var extra []byte
	if ns.LoRA != "" {
		extra = cborText(cborText(cborText(append(extra, 0x83), "lora"), ns.LoRA), "adapters/"+ns.LoRA)
		keys++
	}
	if first && ns.Salt != "" {
		extra = cborText(cborText(append(extra, 0x82), "cache_salt"), ns.Salt)
		keys++
	}
	if keys == 0 {
		return sha256.Sum256(append(b, 0xf6))
	}
	return sha256.Sum256(append(cborHead(b, 4, uint64(keys)), extra...))
}

// cborHead appends a major type with its argument in the shortest form.
func cborHead(b []byte, major byte, n uint64) []byte {
	major <<= 5
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n < 1<<8:
		return append(b, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}

func cborText(b []byte, s string) []byte { return append(cborHead(b, 3, uint64(len(s))), s...) }

// sglangHash is SGLang's: over the digest before it, absent at the start, and the tokens
// as little-endian 32-bit words. A salt stands in for that digest (engine-selection.md
// 10.7). An adapter does too, in a form of our own: what SGLang does there with a
// registered name was not recorded.
func sglangHash(parent *Hash, tokens []uint32, ns Namespace) Hash {
	b := make([]byte, 0, sha256.Size+4*len(tokens))
	switch {
	case parent != nil:
		b = append(b, parent[:]...)
	case ns.Salt != "" || ns.LoRA != "":
		seed := sglangSeed(ns)
		b = append(b, seed[:]...)
	}
	for _, t := range tokens {
		b = binary.LittleEndian.AppendUint32(b, t)
	}
	return sha256.Sum256(b)
}

func sglangSeed(ns Namespace) Hash {
	text := ""
	if ns.LoRA != "" {
		text = "fake-lora\x00" + ns.LoRA + "\x00"
	}
	if ns.Salt != "" {
		text += "sglang-cache-salt-v1\x00" + ns.Salt
	}
	return sha256.Sum256([]byte(text))
}
