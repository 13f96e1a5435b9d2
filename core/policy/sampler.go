package policy

import "math/rand/v2"

// sampler draws distinct indices uniformly, in random order: a Fisher-Yates
// shuffle that is only carried as far as it is drawn. A draw costs constant
// time, because the shuffle is undone step by step rather than rebuilt for each
// sample.
type sampler struct {
	deck  []int32 // the identity between samples, grown to the largest n seen
	swaps []int32 // partner of each drawn position, in order
	n     int
	rand  *rand.Rand
}

// begin starts a sample of the indices 0 to n-1.
func (s *sampler) begin(n int, r *rand.Rand) {
	for len(s.deck) < n {
		s.deck = append(s.deck, int32(len(s.deck)))
	}
	s.n, s.rand = n, r
}

// next draws an index that this sample has not drawn, at most n times.
func (s *sampler) next() int {
	i := len(s.swaps)
	j := i + s.rand.IntN(s.n-i)
	s.deck[i], s.deck[j] = s.deck[j], s.deck[i]
	s.swaps = append(s.swaps, int32(j))
	return int(s.deck[i])
}

// end puts the deck back in order and lets go of the random source.
func (s *sampler) end() {
	for i := len(s.swaps) - 1; i >= 0; i-- {
		j := s.swaps[i]
		s.deck[i], s.deck[j] = s.deck[j], s.deck[i]
	}
	s.swaps, s.rand = s.swaps[:0], nil
}
