package pressure

import "cmp"

// Source says by what a Set compares its engines.
type Source uint8

// The sources, from what is said most exactly to what is always known.
const (
	SourceQueueTime   Source = iota // every engine has an estimate of its queue's time
	SourceQueueTokens               // every engine has a native report
	SourceInflight                  // some engine has none
)

// String gives the source's name in receipts and metrics (engine-selection.md 6).
func (s Source) String() string {
	switch s {
	case SourceQueueTime:
		return "estimated_prefill_queue_ms"
	case SourceQueueTokens:
		return "native_queue_tokens"
	case SourceInflight:
		return "router_local"
	}
	return "none"
}

// Set compares the engines of one set for plain and prefill stages. All pairs go
// by the same fields, those that every engine of the set has, so unlike Compare
// it is a total preorder and may be sorted with (engine-selection.md 6). The
// zero value is the empty set.
type Set struct{ source Source }

// Add takes one more engine into the set.
func (s *Set) Add(side Side) {
	switch {
	case s.source == SourceInflight:
	case side.Report == nil || !side.Report.Native():
		s.source = SourceInflight
	case s.source == SourceQueueTime:
		if _, known := queueMillis(side.Report); !known {
			s.source = SourceQueueTokens
		}
	case s.source == SourceQueueTokens:
	}
}

// Source says by what the set compares.
func (s Set) Source() Source { return s.source }

// Compare returns -1 when a is under less pressure than b, +1 when under more
// and 0 on a complete tie. Both are of the set.
func (s Set) Compare(a, b Side) int {
	if s.source == SourceInflight {
		return cmp.Compare(a.Inflight, b.Inflight)
	}
	if s.source == SourceQueueTime {
		x, _ := queueMillis(a.Report)
		y, _ := queueMillis(b.Report)
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	if order := queue(a.Report, b.Report); order != 0 {
		return order
	}
	return cmp.Compare(a.Inflight, b.Inflight)
}
