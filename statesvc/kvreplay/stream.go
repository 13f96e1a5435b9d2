package kvreplay

import (
	"fmt"

	"github.com/cespare/xxhash/v2"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// stream is one publisher: a port of the recording.
type stream struct {
	owner kvindex.Owner
	last  int64
	begun bool
	sum   uint64 // of the last payload
}

func ownerOf(port int) kvindex.Owner {
	if port == 0 {
		return kvindex.Owner{Worker: "recording"}
	}
	return kvindex.Owner{Worker: fmt.Sprintf("port %d", port)}
}

// step is what a sequence number says.
type step struct {
	note    string
	missing int64
	reset   bool
	repeat  bool
}

// step follows the sequence as a subscriber does (engine-selection.md 10.4), save that
// nobody can be asked for what is missing, and that a message recorded twice is no
// restart.
func (s *stream) step(m engine.Message) step {
	last, begun, before := s.last, s.begun, s.sum
	s.last, s.begun, s.sum = m.Seq, m.Seq != engine.EndOfReplay, xxhash.Sum64(m.Payload)
	switch {
	case m.Seq == engine.EndOfReplay:
		return step{note: "sequence -1: the stream begins anew", reset: true}
	case !begun && m.Seq > 0:
		return step{note: fmt.Sprintf("the first %d batches are not in the recording", m.Seq), missing: m.Seq}
	case !begun || m.Seq == last+1:
		return step{}
	case m.Seq == last && s.sum == before:
		return step{note: "the same batch again, not applied", repeat: true}
	case m.Seq <= last:
		return step{note: fmt.Sprintf("sequence back from %d: the publisher restarted, its blocks are gone", last), reset: true}
	default:
		return step{note: fmt.Sprintf("%d batches are missing before it", m.Seq-last-1), missing: m.Seq - last - 1}
	}
}
