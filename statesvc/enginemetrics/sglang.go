package enginemetrics

import (
	"github.com/pointsman/pointsman/core"
	dto "github.com/prometheus/client_model/go"
)

// Names of SGLang's metrics. The rank label is "dp_rank"; tp_rank and pp_rank
// repeat the same scheduler.
const (
	sglangRunning  = "sglang:num_running_reqs"
	sglangQueue    = "sglang:num_queue_reqs"
	sglangUsed     = "sglang:num_used_tokens"
	sglangCapacity = "sglang:max_total_num_tokens"
	sglangUsage    = "sglang:token_usage"
	sglangRank     = "dp_rank"
)

var sglangNames = []string{sglangRunning, sglangQueue, sglangUsed, sglangCapacity, sglangUsage}

// sglangReport reads a page of SGLang. Its metrics do not tell the total with
// reserved tokens, so KVTotal stays unknown.
func sglangReport(families map[string]*dto.MetricFamily, expected int) core.LoadReport {
	set := ranksOf(families, sglangNames, sglangRank)
	capacity := byRank(families[sglangCapacity], sglangRank)
	used := set.sum(byRank(families[sglangUsed], sglangRank), expected)
	if families[sglangUsed] == nil {
		used = set.sum(product(byRank(families[sglangUsage], sglangRank), capacity), expected)
	}
	kv := set.sum(capacity, expected)
	if kv.N == 0 {
		kv = core.Count{} // 0 says that the capacity is unknown (engine-selection.md 5.2)
	}
	return core.LoadReport{
		Running:    set.sum(byRank(families[sglangRunning], sglangRank), expected),
		Waiting:    set.sum(byRank(families[sglangQueue], sglangRank), expected),
		KVUsed:     used,
		KVCapacity: kv,
	}
}
