package history

import (
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// The grain of paths (design section 5b).
const (
	// Chunk is the distance of boundaries inside a message, in bytes.
	Chunk = 1024
	// MaxBoundaries bounds the boundaries of one prompt. What lies behind the last
	// one is prompt that nobody is known to hold.
	MaxBoundaries = 256
)

// Namespace tells apart prompts of the same bytes that share no cache.
type Namespace struct {
	Model    string // canonical name
	Adapter  string // LoRA adapter, empty for none
	Salt     string // cache salt of the request
	Dialect  uint8  // how the body is read
	Template string // arguments of the chat template, as the client wrote them
}

// Path is the boundaries of one prompt. The zero value is an empty path without a
// namespace; begin with Reset.
type Path struct {
	chain  uint64 // hash of all up to the last boundary
	hashes []uint64
	sizes  []uint16 // bytes from the boundary before to each
	ends   []uint32 // bytes of the prompt up to each
	// answers has, at a boundary that an engine's own message follows, the boundary
	// at which that message ends; else 0.
	answers []uint16
	total   uint64
}

// ofNothing is the hash of no bytes.
const ofNothing = 0xef46db3751d8e999

// Reset empties the path, keeps its memory and enters a namespace.
func (p *Path) Reset(n *Namespace) {
	*p = Path{hashes: p.hashes[:0], sizes: p.sizes[:0], ends: p.ends[:0], answers: p.answers[:0]}
	p.chain = uint64(n.Dialect)
	p.enter(n.Model)
	p.enter(n.Adapter)
	p.enter(n.Salt)
	p.enter(n.Template)
}

// enter adds a part of the namespace. A length in front keeps parts apart that join
// to the same text.
func (p *Path) enter(part string) {
	sum := uint64(ofNothing) // most parts are empty
	if part != "" {
		sum = xxhash.Sum64String(part)
	}
	p.chain = mix(mix(p.chain, uint64(len(part))), sum)
}

// Message adds a part of the prompt that is complete, such as a message with what
// separates it from the last one. Its end is a boundary. answer says that an
// engine generated it.
func (p *Path) Message(text string, answer bool) {
	if len(text) == 0 {
		return
	}
	last := len(p.hashes)
	if text = p.chunks(text); len(text) > 0 {
		if p.full() {
			return // cut off by the bound
		}
		p.cut(text)
	}
	if answer && last > 0 {
		p.answers[last-1] = uint16(len(p.hashes) - 1)
	}
}

// Rest adds the last part of a prompt that may go on: its end is no boundary, since
// a longer prompt would have none there.
func (p *Path) Rest(text string) { p.chunks(text) }

// chunks makes a boundary every Chunk bytes of a part of the prompt, and gives what
// is left of it.
func (p *Path) chunks(text string) (left string) {
	p.total += uint64(len(text))
	for len(text) >= Chunk && !p.full() {
		p.cut(text[:Chunk])
		text = text[Chunk:]
	}
	return text
}

func (p *Path) full() bool { return len(p.hashes) == MaxBoundaries || p.total > math.MaxUint32 }

// cut makes a boundary behind the text that follows the last one.
func (p *Path) cut(text string) {
	p.chain = mix(p.chain, xxhash.Sum64String(text))
	end := uint32(len(text))
	if n := len(p.ends); n > 0 {
		end += p.ends[n-1]
	}
	p.hashes, p.sizes = append(p.hashes, p.chain), append(p.sizes, uint16(len(text)))
	p.ends, p.answers = append(p.ends, end), append(p.answers, 0)
}

// Bytes is the length of the prompt.
func (p *Path) Bytes() uint64 { return p.total }

// Len is the number of boundaries.
func (p *Path) Len() int { return len(p.hashes) }

// Tip is the hash of all up to the last boundary. The path must have one.
func (p *Path) Tip() uint64 { return p.hashes[len(p.hashes)-1] }

// AppendTurns appends the boundaries at which a former prompt of the same
// conversation may have ended, the latest first and at most so many: those that an
// engine's own message follows.
func (p *Path) AppendTurns(dst []int, most int) []int {
	for at := len(p.answers) - 1; at >= 0 && most > 0; at-- {
		if p.answers[at] != 0 {
			dst = append(dst, at)
			most--
		}
	}
	return dst
}

// Hash is the hash of all up to a boundary.
func (p *Path) Hash(at int) uint64 { return p.hashes[at] }

// End is the bytes of the prompt up to a boundary.
func (p *Path) End(at int) uint64 { return uint64(p.ends[at]) }

// reach is how many bytes of the prompt an engine holds that holds a boundary, and
// how many if its prompt ended there: it generated the answer that follows then, and
// has it cached.
func (p *Path) reach(at int) (here, answered uint32) {
	here = p.ends[at]
	if answer := p.answers[at]; answer > 0 {
		return here, p.ends[answer]
	}
	return here, here
}

// steps is the boundaries of a path from one on, and what comes before them.
func (p *Path) steps(from, to int) steps {
	s := steps{hashes: p.hashes[from:to], sizes: p.sizes[from:to]}
	if from > 0 {
		s.parent = p.hashes[from-1]
	}
	return s
}

// steps are boundaries that follow each other.
type steps struct {
	parent uint64 // hash of the boundary before the first, 0 for none
	hashes []uint64
	sizes  []uint16
	ending uint32 // the way on from the last one; 0 for one that is always the same
}

// way is how prompts go on from a boundary, as far as it tells them apart.
func (s *steps) way(at int) uint32 {
	switch {
	case at+1 < len(s.hashes):
		return uint32(s.hashes[at+1])
	case s.ending != 0:
		return s.ending
	}
	return ^uint32(s.hashes[at])
}

// before is the hash of the boundary before one.
func (s *steps) before(at int) uint64 {
	if at == 0 {
		return s.parent
	}
	return s.hashes[at-1]
}

// mix chains a hash to what comes before it. Both halves of the product count, so
// that no bit of either is lost.
func mix(chain, next uint64) uint64 {
	high, low := bits.Mul64(chain^0x9e3779b97f4a7c15, next^0xe7037ed1a0b428db)
	return high ^ low ^ next
}
