// Package pressure says which of two engines is under less load, for a stage.
//
// The comparison is pairwise and is not a total order: which fields decide
// depends on what both engines of the pair report, so over a mixed set A can be
// below B, B below C and C below A. Never sort with it. Folding it over a short
// sample is sound (engine-selection.md 6); for the least of a whole set there is
// Set, which decides once by what all pairs are compared.
package pressure

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/pointsman/pointsman/core"
)

// Side is what is known of one engine of a comparison.
type Side struct {
	Report   *core.LoadReport // nil when there is no fresh report
	Inflight uint64           // requests sent to the engine and not finished
}

// Compare returns -1 when a is under less pressure than b, +1 when under more
// and 0 on a complete tie. Reported load decides only when both reports are
// native, and in-flight breaks its ties; otherwise in-flight alone decides, so
// a reported value never meets a local one. Every stage but decode compares as
// prefill does.
func Compare(stage core.Stage, a, b Side) int {
	if a.Report == nil || b.Report == nil || !a.Report.Native() || !b.Report.Native() {
		return cmp.Compare(a.Inflight, b.Inflight)
	}
	order := 0
	if stage == core.StageDecode {
		order = decode(a.Report, b.Report)
	} else {
		order = prefill(a.Report, b.Report)
	}
	if order != 0 {
		return order
	}
	return cmp.Compare(a.Inflight, b.Inflight)
}

// prefill orders by the time the queue takes, then by what makes it long.
func prefill(a, b *core.LoadReport) int {
	if x, known := queueMillis(a); known {
		if y, known := queueMillis(b); known && x != y {
			return cmp.Compare(x, y)
		}
	}
	return queue(a, b)
}

// queue orders by what waits, then by what runs.
func queue(a, b *core.LoadReport) int {
	if order := cmp.Compare(a.WaitingUncached.N, b.WaitingUncached.N); order != 0 {
		return order
	}
	if order := cmp.Compare(a.Waiting.N, b.Waiting.N); order != 0 {
		return order
	}
	return cmp.Compare(a.Running.N, b.Running.N)
}

// decode orders by requests first, by KV usage after: an engine full of
// reusable cache is idle (field report A56).
func decode(a, b *core.LoadReport) int {
	if order := cmp.Compare(a.Waiting.N, b.Waiting.N); order != 0 {
		return order
	}
	if order := cmp.Compare(a.Running.N, b.Running.N); order != 0 {
		return order
	}
	if order := compareFraction(a.KVUsed.N, a.KVCapacity.N, b.KVUsed.N, b.KVCapacity.N); order != 0 {
		return order
	}
	return cmp.Compare(a.KVUsed.N, b.KVUsed.N)
}

// queueMillis is the report's queue time. A rate that is not finite measures
// nothing (engine-selection.md 5.4) and leaves the time unknown, which also
// keeps NaN out of the comparison.
func queueMillis(r *core.LoadReport) (float64, bool) {
	if math.IsNaN(r.PrefillRate) || math.IsInf(r.PrefillRate, 0) {
		return 0, false
	}
	return r.QueueMillis()
}

// compareFraction compares x/xcap with y/ycap exactly, by cross multiplication
// in 128 bits. Either capacity at zero makes a tie.
func compareFraction(x, xcap, y, ycap uint64) int {
	if xcap == 0 || ycap == 0 {
		return 0
	}
	leftHigh, leftLow := bits.Mul64(x, ycap)
	rightHigh, rightLow := bits.Mul64(y, xcap)
	if order := cmp.Compare(leftHigh, rightHigh); order != 0 {
		return order
	}
	return cmp.Compare(leftLow, rightLow)
}
