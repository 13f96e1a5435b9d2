package bpe

import "context"

// shortPiece is up to how many bytes a piece is merged by looking through all its
// pairs; above it a heap pays.
const shortPiece = 48

// scratch is the memory of one merge, reused.
type scratch struct {
	ids         []uint32
	merges      []uint64
	prev, next  []int32
	heap        []uint64 // rank in the high half, position in the low half
	shortIDs    [shortPiece]uint32
	shortMerges [shortPiece]uint64
}

// maxScratch is the largest piece whose scratch is kept.
const maxScratch = 1 << 14

// mergeShort appends the tokens of a piece of at most shortPiece bytes. The pair of
// the lowest rank merges first, of equal ones the leftmost.
func (t *Tokenizer) mergeShort(dst []uint32, piece string, s *scratch) []uint32 {
	ids, merges := s.shortIDs[:len(piece)], s.shortMerges[:len(piece)]
	for i := range len(piece) {
		ids[i] = t.byteIDs[piece[i]]
	}
	for i := range len(ids) - 1 {
		merges[i] = t.pairs.get(ids[i], ids[i+1])
	}
	for n := len(ids); n > 1; n-- {
		best, at := none, 0
		for i, m := range merges[:n-1] {
			if m>>32 < best>>32 {
				best, at = m, i
			}
		}
		if best == none {
			return append(dst, ids[:n]...)
		}
		ids[at] = uint32(best)
		copy(ids[at+1:n-1], ids[at+2:n])
		copy(merges[at:n-2], merges[at+1:n-1])
		if at < n-2 {
			merges[at] = t.pairs.get(ids[at], ids[at+1])
		}
		if at > 0 {
			merges[at-1] = t.pairs.get(ids[at-1], ids[at])
		}
	}
	return append(dst, ids[0])
}

// mergeLong is mergeShort for any length, in n log n.
func (t *Tokenizer) mergeLong(ctx context.Context, dst []uint32, piece string, s *scratch) ([]uint32, error) {
	s.reset(len(piece))
	for i := range len(piece) {
		s.ids[i], s.prev[i], s.next[i] = t.byteIDs[piece[i]], int32(i-1), int32(i+1)
	}
	s.next[len(piece)-1] = -1
	for i := range len(piece) {
		t.push(s, int32(i))
	}
	for n := 0; len(s.heap) > 0; n++ {
		if n&0xFFF == 0 && ctx.Err() != nil {
			return dst, ctx.Err()
		}
		top := s.pop()
		at := int32(uint32(top))
		if m := s.merges[at]; m>>32 == top>>32 && m != none {
			t.merge(s, at, uint32(m))
		}
	}
	for i := int32(0); i >= 0; i = s.next[i] {
		dst = append(dst, s.ids[i])
	}
	return dst, nil
}

// merge joins the symbol at a position with its right neighbour.
func (t *Tokenizer) merge(s *scratch, at int32, id uint32) {
	right := s.next[at]
	s.ids[at], s.next[at], s.merges[right] = id, s.next[right], none
	if s.next[at] >= 0 {
		s.prev[s.next[at]] = at
	}
	t.push(s, at)
	if s.prev[at] >= 0 {
		t.push(s, s.prev[at])
	}
}

// push notes the merge of the pair that begins at a position, if there is one. Older
// entries of the position are told by their rank.
func (t *Tokenizer) push(s *scratch, at int32) {
	s.merges[at] = none
	right := s.next[at]
	if right < 0 {
		return
	}
	m := t.pairs.get(s.ids[at], s.ids[right])
	if m == none {
		return
	}
	s.merges[at] = m
	s.heap = append(s.heap, m>>32<<32|uint64(uint32(at)))
	for i := len(s.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if s.heap[up] <= s.heap[i] {
			break
		}
		s.heap[up], s.heap[i] = s.heap[i], s.heap[up]
		i = up
	}
}

func (s *scratch) pop() uint64 {
	top, last := s.heap[0], len(s.heap)-1
	s.heap[0] = s.heap[last]
	s.heap = s.heap[:last]
	for i := 0; ; {
		down := 2*i + 1
		if down >= last {
			return top
		}
		if down+1 < last && s.heap[down+1] < s.heap[down] {
			down++
		}
		if s.heap[i] <= s.heap[down] {
			return top
		}
		s.heap[i], s.heap[down] = s.heap[down], s.heap[i]
		i = down
	}
}

func (s *scratch) reset(n int) {
	if cap(s.ids) < n {
		s.ids, s.merges = make([]uint32, n), make([]uint64, n)
		s.prev, s.next = make([]int32, n), make([]int32, n)
	}
	s.ids, s.merges, s.prev, s.next, s.heap = s.ids[:n], s.merges[:n], s.prev[:n], s.next[:n], s.heap[:0]
}
