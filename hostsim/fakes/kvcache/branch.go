package kvcache

// branch is a sequence of a Radix.
type branch struct {
	tree     *Radix
	ns       Namespace
	tokens   []uint32
	hashes   []Hash
	planned  int   // tokens of the prompt that are computed or about to be
	computed int   // tokens
	own      int   // pages that are not in the tree
	at       *page // the deepest node it uses
	lost     bool
	ended    bool
}

// hashTo names the pages up to a number.
func (s *branch) hashTo(pages int) {
	size := s.tree.cfg.BlockSize
	for n := len(s.hashes); n < pages; n++ {
		var parent *Hash
		if n > 0 {
			parent = &s.hashes[n-1]
		}
		s.hashes = append(s.hashes, sglangHash(parent, s.tokens[n*size:(n+1)*size], s.ns))
	}
}

// move uses another node, or none.
func (s *branch) move(to *page) {
	for n := to; n != nil; n = n.parent {
		n.users++
	}
	for n := s.at; n != nil; n = n.parent {
		n.users--
	}
	s.at = to
}

// insert puts all computed pages into the tree. A page that another sequence has put
// there before is given back.
func (s *branch) insert() {
	pages := s.computed / s.tree.cfg.BlockSize
	s.hashTo(pages)
	held := 0
	for n := s.at; n != nil; n = n.parent {
		held += len(n.hashes)
	}
	at, added := s.tree.insert(s.ns, s.hashes[:pages], s.tokens)
	s.own -= pages - held
	s.tree.free += pages - held - added
	s.move(at)
}

// Schedule implements Sequence.
func (s *branch) Schedule(limit int) int {
	s.planned = min(len(s.tokens), s.planned+limit)
	return len(s.tokens) - s.planned
}

// Complete implements Sequence.
func (s *branch) Complete() {
	s.computed = s.planned
	if !s.lost {
		s.insert()
	}
}

// Report implements Sequence.
func (s *branch) Report() {}

// Append implements Sequence.
func (s *branch) Append(token uint32) bool {
	if s.lost {
		return false
	}
	s.tokens = append(s.tokens, token)
	s.computed = len(s.tokens) - 1
	if s.computed > 0 && (s.computed-1)%s.tree.cfg.BlockSize == 0 && s.computed > s.room() {
		if !s.tree.reserve(1) {
			s.give()
			return false
		}
		s.own++
	}
	return true
}

// room is the tokens that its pages hold.
func (s *branch) room() int {
	pages := s.own
	for n := s.at; n != nil; n = n.parent {
		pages += len(n.hashes)
	}
	return pages * s.tree.cfg.BlockSize
}

func (s *branch) give() {
	s.lost = true
	s.tree.free += s.own
	s.own = 0
	s.move(nil)
}

// Release implements Sequence.
func (s *branch) Release() {
	if s.ended {
		return
	}
	s.ended = true
	s.tree.open--
	if !s.lost {
		s.insert()
		s.give()
	}
}
