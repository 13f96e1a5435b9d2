// Package admission refuses engines whose observed load has reached a cap.
//
// It answers one question about one engine. It does not rank engines, choose a
// replacement or reserve capacity: two requests may pass on the same
// observation (POLICY_DESIGN section 4). All values are immutable and safe for
// any use.
package admission

import (
	"fmt"

	"github.com/pointsman/pointsman/core"
)

// Names of the caps, as configuration writes them and rejections report them.
const (
	MaxRunningRequests      = "max_running_requests"
	MaxWaitingRequests      = "max_waiting_requests"
	MaxKVTokens             = "max_kv_tokens"
	MaxPendingPrefillTokens = "max_pending_prefill_tokens"
	MaxInflightRequests     = "max_inflight_requests"
)

// Limits are the caps of one policy on each of its engines. A nil cap is not
// checked, so the zero value admits everything. Caps are absolute: none
// defaults to a capacity that an engine reports.
type Limits struct {
	MaxRunningRequests      *uint64 `json:"max_running_requests,omitempty"`       // reported running requests
	MaxWaitingRequests      *uint64 `json:"max_waiting_requests,omitempty"`       // reported waiting requests
	MaxKVTokens             *uint64 `json:"max_kv_tokens,omitempty"`              // reported total KV tokens
	MaxPendingPrefillTokens *uint64 `json:"max_pending_prefill_tokens,omitempty"` // reported waiting uncached tokens
	MaxInflightRequests     *uint64 `json:"max_inflight_requests,omitempty"`      // requests sent and not finished
}

// Empty reports whether no cap is set, in which case Check needs no observation.
func (l Limits) Empty() bool { return l == Limits{} }

// Check compares one engine's metrics with the caps and reports the first cap
// that is reached, in the order of the fields of Limits. A cap admits while the
// metric is below it; an unknown metric is not checked (invariant I4). Check
// does not allocate.
func (l *Limits) Check(worker core.WorkerID, m core.Metrics) (core.Rejection, bool) {
	switch {
	case reached(l.MaxRunningRequests, m.Running):
		return core.Rejection{Worker: worker, Limit: MaxRunningRequests, Value: m.Running.N, Cap: *l.MaxRunningRequests}, false
	case reached(l.MaxWaitingRequests, m.Waiting):
		return core.Rejection{Worker: worker, Limit: MaxWaitingRequests, Value: m.Waiting.N, Cap: *l.MaxWaitingRequests}, false
	case reached(l.MaxKVTokens, m.KVTokens):
		return core.Rejection{Worker: worker, Limit: MaxKVTokens, Value: m.KVTokens.N, Cap: *l.MaxKVTokens}, false
	case reached(l.MaxPendingPrefillTokens, m.PendingPrefill):
		return core.Rejection{Worker: worker, Limit: MaxPendingPrefillTokens, Value: m.PendingPrefill.N, Cap: *l.MaxPendingPrefillTokens}, false
	case reached(l.MaxInflightRequests, core.Known(m.Inflight)):
		return core.Rejection{Worker: worker, Limit: MaxInflightRequests, Value: m.Inflight, Cap: *l.MaxInflightRequests}, false
	}
	return core.Rejection{}, true
}

func reached(limit *uint64, metric core.Count) bool {
	return limit != nil && metric.Known && metric.N >= *limit
}

// Validate lists every problem of the caps, each with its path below path. A
// zero cap is a problem: it would refuse every request for ever.
func (l Limits) Validate(path string) []error {
	var problems []error
	for _, c := range []struct {
		name  string
		limit *uint64
	}{
		{MaxRunningRequests, l.MaxRunningRequests},
		{MaxWaitingRequests, l.MaxWaitingRequests},
		{MaxKVTokens, l.MaxKVTokens},
		{MaxPendingPrefillTokens, l.MaxPendingPrefillTokens},
		{MaxInflightRequests, l.MaxInflightRequests},
	} {
		if c.limit != nil && *c.limit == 0 {
			problems = append(problems, fmt.Errorf("%s.%s: 0 admits nothing; use at least 1 or leave it out", path, c.name))
		}
	}
	return problems
}
