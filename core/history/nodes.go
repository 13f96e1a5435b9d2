package history

// node is one boundary that some engine holds.
type node struct {
	hash   uint64
	parent uint64 // hash of the boundary before; 0 for the first
	first  uint32 // holder; next free node
	ways   [2]uint32
	size   uint16 // bytes from the boundary before
	count  uint8  // holders
	known  uint8  // distinct ways on, up to sharedWays
}

const nodeBytes = 40

// sharedWays is how many distinct ways on make a boundary shared (design section
// 5b).
const sharedWays = 3

// follow notes how a prompt goes on from here.
func (n *node) follow(way uint32) {
	for i := range min(n.known, uint8(len(n.ways))) {
		if n.ways[i] == way {
			return
		}
	}
	if n.known == sharedWays {
		return
	}
	if int(n.known) < len(n.ways) {
		n.ways[n.known] = way
	}
	n.known++
}

// shared reports whether the boundary is shared, with a prompt that goes on in
// some way: that one counts as well.
func (n *node) shared(way uint32) bool {
	return n.known == sharedWays || n.known == sharedWays-1 && n.ways[0] != way && n.ways[1] != way
}

// nodes is all boundaries, found by their hash. Index 0 is none.
type nodes struct {
	list  []node
	slots []uint32 // open addressing by hash, at most half full
	free  uint32
	used  int
	limit int
}

func (s *nodes) bytes() int { return cap(s.list)*nodeBytes + cap(s.slots)*4 }

// find gives the node of a hash, 0 when there is none.
func (s *nodes) find(hash uint64) uint32 {
	if len(s.slots) == 0 {
		return 0
	}
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; s.slots[i] != 0; i = (i + 1) & mask {
		if at := s.slots[i]; s.list[at].hash == hash {
			return at
		}
	}
	return 0
}

// have gives the node of a hash, a new one if there is none.
func (s *nodes) have(n node) uint32 {
	if at := s.find(n.hash); at != 0 {
		return at
	}
	return s.insert(n)
}

func (s *nodes) insert(n node) uint32 {
	if s.used++; 2*s.used > len(s.slots) {
		s.grow()
	}
	at := s.free
	if at != 0 {
		s.free = s.list[at].first
	} else {
		if len(s.list) == 0 {
			s.list = make([]node, 1, s.limit+2)
		}
		s.list = append(s.list, node{})
		at = uint32(len(s.list) - 1)
	}
	s.list[at] = n
	s.place(at)
	return at
}

func (s *nodes) grow() {
	const least = 1024
	s.slots = make([]uint32, max(least, 2*len(s.slots)))
	for at := range s.list {
		if s.list[at].count > 0 {
			s.place(uint32(at))
		}
	}
}

func (s *nodes) place(at uint32) {
	mask := uint64(len(s.slots) - 1)
	i := s.list[at].hash & mask
	for s.slots[i] != 0 {
		i = (i + 1) & mask
	}
	s.slots[i] = at
}

// remove takes a node out and closes the gap in its run of slots.
func (s *nodes) remove(at uint32) {
	mask := uint64(len(s.slots) - 1)
	gap := s.list[at].hash & mask
	for s.slots[gap] != at {
		gap = (gap + 1) & mask
	}
	for i := (gap + 1) & mask; s.slots[i] != 0; i = (i + 1) & mask {
		home := s.list[s.slots[i]].hash & mask
		if (i-home)&mask >= (i-gap)&mask {
			s.slots[gap] = s.slots[i]
			gap = i
		}
	}
	s.slots[gap] = 0
	s.list[at] = node{first: s.free}
	s.free = at
	s.used--
}
