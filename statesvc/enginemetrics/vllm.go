package enginemetrics

import (
	"strconv"

	"github.com/pointsman/pointsman/core"
	dto "github.com/prometheus/client_model/go"
)

// Names of vLLM 0.32, recorded in the fixtures. The rank label is "engine".
const (
	vllmRunning = "vllm:num_requests_running"
	vllmWaiting = "vllm:num_requests_waiting"
	vllmUsage   = "vllm:kv_cache_usage_perc"
	vllmCache   = "vllm:cache_config_info"
	vllmRank    = "engine"
)

var vllmNames = []string{vllmRunning, vllmWaiting, vllmUsage, vllmCache}

// vllmReport reads a page of vLLM. Its KV usage counts every allocated block,
// so it is both the tokens in use and the total with reserved ones.
func vllmReport(families map[string]*dto.MetricFamily, expected int) core.LoadReport {
	set := ranksOf(families, vllmNames, vllmRank)
	capacity := vllmCapacity(families[vllmCache])
	used := set.sum(product(byRank(families[vllmUsage], vllmRank), capacity), expected)
	return core.LoadReport{
		Running:    set.sum(byRank(families[vllmRunning], vllmRank), expected),
		Waiting:    set.sum(byRank(families[vllmWaiting], vllmRank), expected),
		KVUsed:     used,
		KVTotal:    used,
		KVCapacity: set.sum(capacity, expected),
	}
}

// vllmCapacity gives the KV tokens each rank can hold. kv_cache_size_tokens is
// taken where it is a number: num_gpu_blocks of a page with several ranks is
// the sum over them, repeated at each (fixture dp2-bs16). Releases without that
// label give blocks times block size.
func vllmCapacity(f *dto.MetricFamily) perRank {
	out := perRank{}
	for _, m := range f.GetMetric() {
		if size, ok := positive(label(m, "kv_cache_size_tokens")); ok {
			out[label(m, vllmRank)] = size
			continue
		}
		blocks, okBlocks := positive(label(m, "num_gpu_blocks"))
		size, okSize := positive(label(m, "block_size"))
		if okBlocks && okSize {
			out[label(m, vllmRank)] = blocks * size
		}
	}
	return out
}

func positive(text string) (float64, bool) {
	n, err := strconv.ParseUint(text, 10, 53)
	return float64(n), err == nil && n > 0
}
