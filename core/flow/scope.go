package flow

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/wire"
)

// scopeVersion stands before what a scope's digest is made of, so that another
// way to make it never meets this one.
const scopeVersion = 1

// digest is the identity of a scope outside its context. Lengths stand before
// the texts, so that no delimiter can make one scope of two (engine-selection.md
// 8.5). It is cryptographic, because keys may be secret and are chosen by clients.
func (c *Context) digest(s *policy.Scope) (d wire.Digest) {
	c.scratch = append(c.scratch[:0], scopeVersion, byte(kindOf(s.Kind)), byte(s.Stage))
	for _, text := range [...]string{s.Model, s.Bucket, s.Key} {
		c.scratch = binary.BigEndian.AppendUint64(c.scratch, uint64(len(text)))
		c.scratch = append(c.scratch, text...)
	}
	sum := sha256.Sum256(c.scratch)
	copy(d[:], sum[:])
	return d
}

func kindOf(k policy.KeySource) wire.KeyKind {
	switch k {
	case policy.KeySession:
		return wire.KeySession
	case policy.KeyRouting:
		return wire.KeyRouting
	case policy.KeyPrefix:
	}
	return wire.KeyNone
}
