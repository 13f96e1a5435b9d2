package engineapi

import (
	"context"
	"fmt"

	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
)

// Loads reads SGLang's /v1/loads: one report per rank, of the same counts as the load
// reports it publishes (fixtures/README.md section 5). A rank that lacks one of the first
// counts is an error: it must not look idle.
func (c *Client) Loads(ctx context.Context) ([]engine.LoadStat, error) {
	var page struct {
		Loads []rankLoad `json:"loads"`
	}
	const path = "/v1/loads?include=core"
	if err := c.readJSON(ctx, path, &page); err != nil {
		return nil, err
	}
	if len(page.Loads) == 0 || len(page.Loads) > MaxRanks {
		return nil, fmt.Errorf("GET %s: %d ranks instead of 1 to %d", path, len(page.Loads), MaxRanks)
	}
	stats := make([]engine.LoadStat, 0, len(page.Loads))
	for i := range page.Loads {
		s, ok := page.Loads[i].stat()
		if !ok {
			return nil, fmt.Errorf("GET %s: entry %d lacks a count of requests or tokens", path, i)
		}
		stats = append(stats, s)
	}
	return stats, nil
}

// rankLoad is one entry; absent counts are nil.
type rankLoad struct {
	Rank            *uint32 `json:"dp_rank"`
	Running         *uint64 `json:"num_running_reqs"`
	Waiting         *uint64 `json:"num_waiting_reqs"`
	WaitingUncached *uint64 `json:"num_waiting_uncached_tokens"`
	KVUsed          *uint64 `json:"num_used_tokens"`
	KVTotal         *uint64 `json:"num_total_tokens"`
	KVCapacity      *uint64 `json:"max_total_num_tokens"`
	MaxRunning      *uint64 `json:"max_running_requests"`
	PrefillTokens   *uint64 `json:"total_prefill_uncached_tokens"`
	PrefillMicros   *uint64 `json:"total_prefill_busy_us"`
}

func (r *rankLoad) stat() (engine.LoadStat, bool) {
	if r.Running == nil || r.Waiting == nil || r.KVUsed == nil {
		return engine.LoadStat{}, false
	}
	s := engine.LoadStat{Running: *r.Running, Waiting: *r.Waiting, KVUsed: *r.KVUsed}
	if r.KVCapacity != nil {
		s.KVCapacity = *r.KVCapacity
	}
	if r.Rank != nil {
		s.Rank, s.RankKnown = *r.Rank, true
	}
	if r.WaitingUncached != nil && r.KVTotal != nil && r.MaxRunning != nil && r.PrefillTokens != nil && r.PrefillMicros != nil {
		s.HasNative = true
		s.Native = engine.NativeLoad{
			WaitingUncached: *r.WaitingUncached, KVTotal: *r.KVTotal, MaxRunning: *r.MaxRunning,
			PrefillTokens: *r.PrefillTokens, PrefillMicros: *r.PrefillMicros,
		}
	}
	return s, true
}
