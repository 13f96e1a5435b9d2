package core

import (
	"slices"
	"strings"
)

// maxSubset bounds the addresses that are read of a hint, which a client may have
// sent. It is above the size of any fleet that is routed to.
const maxSubset = 4096

// Subset is the set of engines that a hop before the filter allows a request to go to
// (peers.md 2.1). A nil Subset allows every engine, an empty one none. It is never
// changed.
type Subset struct{ addresses []string }

// ParseSubset reads a hint: ip:port addresses with commas between. What is no address
// is an engine that does not exist.
func ParseSubset(hint string) *Subset {
	s := &Subset{}
	for part := range strings.SplitSeq(hint, ",") {
		if len(s.addresses) == maxSubset {
			break
		}
		if address := strings.TrimSpace(part); LiteralAddress(address) {
			s.addresses = append(s.addresses, address)
		}
	}
	slices.Sort(s.addresses)
	return s
}

// Allows reports whether a request may go to an engine.
func (s *Subset) Allows(w *Worker) bool {
	if s == nil {
		return true
	}
	_, found := slices.BinarySearch(s.addresses, w.Address)
	return found
}
