// Package sglhash computes the block hashes that SGLang announces, from tokens
// (engine-selection.md 10.7 and fixtures/README.md section 5). The index is keyed by
// hashes of its own; these are the names by which others ask about its blocks, and by
// which it asks others.
//
// The package has no state: Hashes is safe for concurrent use.
package sglhash

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
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
	c := NewChain(o.Salt)
	for start := 0; start < units; start += o.BlockSize {
		end := start + min(o.BlockSize, units-start)
		if o.FullOnly && end-start < o.BlockSize {
			break
		}
		if !o.Bigram {
			c.add(tokens[start:end])
		}
		for u := start; u < end && o.Bigram; u++ {
			c.add(tokens[u : u+2])
		}
		dst = append(dst, c.end())
	}
	return dst, nil
}

// Digest is what the blocks up to one hash to; the next block's begins with it.
type Digest [sha256.Size]byte

// Hash is what the last of the blocks is called.
func (d *Digest) Hash() int64 { return int64(binary.BigEndian.Uint64(d[:8])) }

// Chain carries the digest of the blocks so far into the next. It belongs to one
// goroutine at a time.
type Chain struct {
	digest Digest
	text   []byte // what the next digest is of
}

// NewChain begins a prompt under a salt, empty for none.
func NewChain(salt string) *Chain {
	c := &Chain{}
	c.Begin(salt)
	return c
}

// Begin makes the chain one of another prompt.
func (c *Chain) Begin(salt string) {
	c.text = c.text[:0]
	if salt != "" {
		c.Resume(sha256.Sum256([]byte(saltDomain + salt)))
	}
}

// Resume makes the chain go on after the blocks of a digest.
func (c *Chain) Resume(after Digest) {
	c.digest = after
	c.text = append(c.text[:0], after[:]...)
}

// Next adds one whole block: its tokens, or both numbers of each of its pairs.
func (c *Chain) Next(tokens []uint32) Digest {
	c.add(tokens)
	c.end()
	return c.digest
}

func (c *Chain) add(tokens []uint32) {
	for _, t := range tokens {
		c.text = binary.LittleEndian.AppendUint32(c.text, t)
	}
}

func (c *Chain) end() int64 {
	c.Resume(sha256.Sum256(c.text))
	return c.digest.Hash()
}
