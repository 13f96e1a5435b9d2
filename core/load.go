package core

// Count is an observed quantity that may be unknown. The zero value is unknown,
// never zero (invariant I4).
type Count struct {
	N     uint64
	Known bool
}

// Known makes an observed count.
func Known(n uint64) Count { return Count{N: n, Known: true} }

// LoadReport is what one engine says of its own load, summed over its ranks
// (engine-selection.md 5). Fields the engine did not report are unknown.
type LoadReport struct {
	Running         Count // requests being computed
	Waiting         Count // requests queued in the engine
	WaitingUncached Count // prompt tokens queued and not in its KV cache
	KVUsed          Count // KV tokens in use
	KVTotal         Count // KV tokens in use, reserved ones included
	KVCapacity      Count // KV tokens the engine can hold
	RunningCapacity Count // most requests the engine runs at once
	// PrefillRate is uncached prompt tokens per second, 0 when unknown.
	PrefillRate float64
}

// Native reports whether the report is complete in the sense of
// engine-selection.md 5.4: every load field known and both capacities above
// zero. Pressure compares engines by native reports only.
func (r *LoadReport) Native() bool {
	return r.Running.Known && r.Waiting.Known && r.WaitingUncached.Known &&
		r.KVUsed.Known && r.KVTotal.Known &&
		r.KVCapacity.Known && r.KVCapacity.N > 0 &&
		r.RunningCapacity.Known && r.RunningCapacity.N > 0
}

// QueueMillis estimates how long the engine needs to prefill what it has
// queued: 1000 * waiting uncached / prefill rate (engine-selection.md 5.4).
func (r *LoadReport) QueueMillis() (float64, bool) {
	if !r.WaitingUncached.Known || r.PrefillRate <= 0 {
		return 0, false
	}
	return 1000 * float64(r.WaitingUncached.N) / r.PrefillRate, true
}

// Metrics is the observation of one engine that admission checks. Inflight is
// always known; the rest is unknown without a fresh report (POLICY_DESIGN
// section 4).
type Metrics struct {
	Running        Count
	Waiting        Count
	KVTokens       Count
	PendingPrefill Count
	Inflight       uint64
}

// NewMetrics derives the admission metrics from a report, nil when there is no
// fresh one, and the in-flight count.
func NewMetrics(report *LoadReport, inflight uint64) Metrics {
	m := Metrics{Inflight: inflight}
	if report == nil {
		return m
	}
	m.Running, m.Waiting = report.Running, report.Waiting
	m.KVTokens, m.PendingPrefill = report.KVTotal, report.WaitingUncached
	return m
}
