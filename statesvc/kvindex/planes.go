package kvindex

// planes are a large set as bits: for each tier, which holders have the block within its
// reach. A walk that meets another set at every block compares words instead of members.
//
// There is one plane where every member has the block on the device, since that is within
// every tier's reach, else one for each tier.
type planes []uint64

const (
	// planesFrom is the fewest members that have planes: a shorter list is read as fast.
	planesFrom = 16
	// planeShare bounds the memory: planes take at most as much as the list of members,
	// 4 bytes each.
	planeShare = 2
)

// wordsFor is the words of a plane with a holder's bit.
func wordsFor(holder uint32) int { return int(holder>>6) + 1 }

// planesOf gives the planes of a sorted list, nil where they do not pay. It may take over
// the memory of others.
func planesOf(members []member, old planes) (p planes, count int) {
	if len(members) < planesFrom {
		return nil, 0
	}
	words := wordsFor(members[len(members)-1].holder())
	count = 1
	for _, m := range members {
		if upTo(m.tiers()) != allTiers {
			count = tierCount
			break
		}
	}
	if words*count*planeShare > len(members) {
		return nil, 0
	}
	if p = old; cap(p) < words*count {
		p = make(planes, words*count)
	}
	p = p[:words*count]
	clear(p)
	for _, m := range members {
		within := upTo(m.tiers())
		for t := range count {
			if count == 1 || within&(1<<t) != 0 {
				p[t*words+int(m.holder()>>6)] |= 1 << (m.holder() & 63)
			}
		}
	}
	return p, count
}

// needs is what the states of a walk hold, in planes of one width, for each tier.
type needs struct {
	bits  []uint64
	words int
}

// fill takes in the states.
func (n *needs) fill(states []state) {
	n.words = 0
	if len(states) > 0 {
		n.words = wordsFor(states[len(states)-1].id)
	}
	if size := n.words * tierCount; cap(n.bits) < size {
		n.bits = make([]uint64, size)
	}
	n.bits = n.bits[:n.words*tierCount]
	clear(n.bits)
	for i := range states {
		s := &states[i]
		for t := range tierCount {
			if s.tiers&(1<<t) != 0 {
				n.bits[t*n.words+int(s.id>>6)] |= 1 << (s.id & 63)
			}
		}
	}
}

// drop takes out what a holder does not hold any more.
func (n *needs) drop(holder uint32, tiers uint8) {
	for t := range tierCount {
		if tiers&(1<<t) != 0 {
			n.bits[t*n.words+int(holder>>6)] &^= 1 << (holder & 63)
		}
	}
}

// in reports whether a set has all that is needed. Need within a tier's reach is need
// within every farther one, so one plane is held against the farthest.
func (n *needs) in(p planes, count int) bool {
	words := len(p) / count
	for t := range count {
		need := n.bits[(tierCount-count+t)*n.words:][:n.words]
		have := p[t*words:][:words]
		for i, w := range need {
			if i < len(have) {
				w &^= have[i]
			}
			if w != 0 {
				return false
			}
		}
	}
	return true
}
