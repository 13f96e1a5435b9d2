package engine

import (
	"fmt"

	"github.com/tinylib/msgp/msgp"
)

const (
	tagLoad     = "LoadStat"
	basicCounts = 4 // after the tag
	nativeFirst = 6 // index of the first native count
	nativeCount = 5
)

// LoadStat is one load report of one SGLang rank (engine-selection.md 5.2).
type LoadStat struct {
	Running    uint64 // requests
	Waiting    uint64 // requests
	KVUsed     uint64 // tokens
	KVCapacity uint64 // tokens, 0 when the engine does not know
	// Rank is informational: the socket's own rank is the authority.
	Rank      uint32
	RankKnown bool
	// Native is the later extension, meaningless unless HasNative.
	Native    NativeLoad
	HasNative bool
}

// NativeLoad is what pressure and throughput are computed from.
type NativeLoad struct {
	WaitingUncached uint64 // prompt tokens queued and not in the cache
	KVTotal         uint64 // tokens in use, reserved ones included
	MaxRunning      uint64 // requests
	PrefillTokens   uint64 // uncached tokens prefilled since the engine began
	PrefillMicros   uint64 // microseconds spent on them
}

// DecodeLoad decodes a load report. A frame that is too short, or has only a part of the
// native counts, is an [Error]: it must never look like an idle engine. A count of nil is
// an absent one. More elements than are known are passed over.
func DecodeLoad(payload []byte) (LoadStat, error) {
	n, rest, err := loadHeader(payload)
	if err != nil {
		return LoadStat{}, err
	}
	var counts [basicCounts]uint64
	var native [nativeCount]uint64
	var s LoadStat
	have := 0
	for i := 1; i < n; i++ {
		at, ok := rest, true
		switch {
		case i <= basicCounts:
			counts[i-1], ok = count(at)
		case i == basicCounts+1:
			s.Rank, s.RankKnown = rank(at)
		case i < nativeFirst+nativeCount:
			if _, null := isNil(at); !null {
				native[i-nativeFirst], ok = count(at)
				have++
			}
		}
		if rest, err = pass(at, ok, i); err != nil {
			return LoadStat{}, err
		}
	}
	if len(rest) > 0 {
		return LoadStat{}, unusable(ReasonNotLoad, "there are bytes after it")
	}
	if have != 0 && have != nativeCount {
		return LoadStat{}, unusable(ReasonPartialLoad, fmt.Sprintf("%d of the %d native counts", have, nativeCount))
	}
	s.Running, s.Waiting, s.KVUsed, s.KVCapacity = counts[0], counts[1], counts[2], counts[3]
	if s.HasNative = have == nativeCount; s.HasNative {
		s.Native = NativeLoad{native[0], native[1], native[2], native[3], native[4]}
	}
	return s, nil
}

func loadHeader(b []byte) (int, []byte, error) {
	if _, ok := skip(b); !ok {
		return 0, nil, unusable(ReasonNotMsgpack, "it is cut off or garbled")
	}
	n, rest, ok := arrayHeader(b)
	if !ok || n == 0 {
		return 0, nil, unusable(ReasonNotLoad, "it is not an array with a tag")
	}
	tag, rest, ok := text(rest)
	if !ok || string(tag) != tagLoad {
		return 0, nil, unusable(ReasonNotLoad, "its tag is not "+tagLoad)
	}
	if n < 1+basicCounts {
		return 0, nil, unusable(ReasonShortLoad, fmt.Sprintf("%d of the first %d counts", n-1, basicCounts))
	}
	return n, rest, nil
}

// count reads an integer of any width that is not negative.
func count(b []byte) (uint64, bool) {
	n, _, err := msgp.ReadUint64Bytes(b)
	return n, err == nil
}

// pass goes on to the next element, unless element i was not readable as what it is.
func pass(b []byte, ok bool, i int) ([]byte, error) {
	if ok {
		rest, _ := skip(b)
		return rest, nil
	}
	reason := ReasonNotLoad
	if i <= basicCounts && is(b, msgp.NilType) {
		reason = ReasonShortLoad
	}
	return nil, unusable(reason, fmt.Sprintf("element %d is not a count", i))
}
