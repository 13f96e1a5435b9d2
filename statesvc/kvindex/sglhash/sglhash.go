// Package sglhash computes the block hashes that SGLang announces, from tokens
// (engine-selection.md 10.7 and fixtures/README.md section 5). The index has keys of
// its own and does not need it: a remote indexer and checks of an engine do.
//
// The package has no state: Hashes is safe for concurrent use.
package sglhash

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
)

// saltDomain separates the digest of a salt from digests of tokens.
const saltDomain = "sglang-cache-salt-v1\x00"

// ErrBlockSize says that a block size is not positive.
var ErrBlockSize = errors.New("block size must be at least 1")

// Options are what an engine hashes by.
type Options struct {
	BlockSize int    // units per block: the engine's page size
	Bigram    bool   // a unit is a pair of neighbouring tokens (EAGLE)
	Salt      string // the request's cache_salt, empty for none
	// FullOnly leaves out a last block that is not full. Engines announce and
	// reuse full blocks only.
	FullOnly bool
}

// Hashes appends the hash of each block of the tokens to dst: the first 8 bytes of
// each digest, big-endian and signed. The chain runs over the whole digests.
func Hashes(dst []int64, tokens []uint32, o Options) ([]int64, error) {
	if o.BlockSize < 1 {
		return dst, ErrBlockSize
	}
	width := 1
	if o.Bigram {
		width = 2
	}
	units := len(tokens) - width + 1
	c := newChain(o.Salt)
	for start := 0; start < units; start += o.BlockSize {
		end := start + min(o.BlockSize, units-start)
		if o.FullOnly && end-start < o.BlockSize {
			break
		}
		for u := start; u < end; u++ {
			c.add(tokens[u : u+width])
		}
		dst = append(dst, c.next())
	}
	return dst, nil
}

// chain carries the digest of the blocks so far into the next.
type chain struct {
	sha    hash.Hash
	digest [sha256.Size]byte
	word   [4]byte
}

func newChain(salt string) *chain {
	c := &chain{sha: sha256.New()}
	if salt != "" {
		c.digest = sha256.Sum256([]byte(saltDomain + salt))
		c.sha.Write(c.digest[:])
	}
	return c
}

func (c *chain) add(tokens []uint32) {
	for _, t := range tokens {
		binary.LittleEndian.PutUint32(c.word[:], t)
		c.sha.Write(c.word[:])
	}
}

func (c *chain) next() int64 {
	c.sha.Sum(c.digest[:0])
	c.sha.Reset()
	c.sha.Write(c.digest[:])
	return int64(binary.BigEndian.Uint64(c.digest[:8]))
}
