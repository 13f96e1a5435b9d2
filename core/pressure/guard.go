package pressure

// Guard says when one engine is under so much more pressure than another one
// that a shared prefix is not worth waiting for (engine-selection.md 9.5).
type Guard struct {
	AbsTokens uint64   // waiting uncached tokens that must lie between the two
	AbsMillis *float64 // milliseconds of queue that must, where both are estimated; nil compares tokens only
	Rel       float64  // times the other's, which one must exceed as well
}

// More reports whether a is under clearly more pressure than b. Both must have a
// native report.
func (g *Guard) More(a, b Side) bool {
	if g.AbsMillis != nil {
		x, known := queueMillis(a.Report)
		y, knownToo := queueMillis(b.Report)
		if known && knownToo {
			return x-y > *g.AbsMillis && x > y*g.Rel
		}
	}
	x, y := a.Report.WaitingUncached.N, b.Report.WaitingUncached.N
	return x > y && x-y > g.AbsTokens && float64(x) > float64(y)*g.Rel
}
