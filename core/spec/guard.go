package spec

// Guard tunes the pressure guard of cache_aware, or is false for none.
type Guard struct {
	// Off is set by false in place of an object.
	Off bool `json:"-"`
	// AbsThresholdTokens is how many more waiting uncached tokens an engine must
	// have to be left. Default 1024.
	AbsThresholdTokens *uint64 `json:"abs_threshold_tokens"`
	// AbsThresholdMillis compares the milliseconds of both queues instead, where
	// both can be estimated. Default: tokens are compared.
	AbsThresholdMillis *float64 `json:"abs_threshold_ms"`
	// RelThreshold is how many times the other's queue it must exceed as well.
	// Default 1.5, above 1.
	RelThreshold *float64 `json:"rel_threshold"`
}

// turnOff reads false.
func (g *Guard) turnOff() { g.Off = true }

// switchable is an object that false may stand for.
type switchable interface{ turnOff() }
