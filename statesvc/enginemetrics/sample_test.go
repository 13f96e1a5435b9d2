package enginemetrics_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/enginemetrics"
	"github.com/stretchr/testify/require"
)

// Pages are cut down to the lines that matter; names and labels are those of
// the recorded vLLM 0.32 pages and of SGLang.
const (
	vllmOne = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="tiny"} 8.0
vllm:num_requests_waiting{engine="0",model_name="tiny"} 6.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="tiny",reason="capacity"} 6.0
vllm:kv_cache_usage_perc{engine="0",model_name="tiny"} 0.5052631578947369
vllm:cache_config_info{block_size="16",engine="0",num_cpu_blocks="None",num_gpu_blocks="96"} 1.0
vllm:prompt_tokens_total{engine="0",model_name="tiny"} 505.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="tiny"} 2.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="tiny"} 5.0
process_start_time_seconds 1.79599820989e+09
`
	vllmTwo = `vllm:num_requests_running{engine="0"} 1
vllm:num_requests_running{engine="1"} 2
vllm:num_requests_waiting{engine="0"} 0
vllm:num_requests_waiting{engine="1"} 4
vllm:kv_cache_usage_perc{engine="0"} 0.25
vllm:kv_cache_usage_perc{engine="1"} 0.5
vllm:cache_config_info{block_size="16",engine="0",kv_cache_size_tokens="1536",num_gpu_blocks="192"} 1
vllm:cache_config_info{block_size="16",engine="1",kv_cache_size_tokens="1536",num_gpu_blocks="192"} 1
`
	sglangTwo = `sglang:num_running_reqs{dp_rank="0",engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 3
sglang:num_running_reqs{dp_rank="0",engine_type="unified",model_name="m",pp_rank="0",tp_rank="1"} 3
sglang:num_running_reqs{dp_rank="1",engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 4
sglang:num_queue_reqs{dp_rank="0",tp_rank="0"} 0
sglang:num_queue_reqs{dp_rank="1",tp_rank="0"} 2
sglang:num_used_tokens{dp_rank="0",tp_rank="0"} 100
sglang:num_used_tokens{dp_rank="1",tp_rank="0"} 200
sglang:max_total_num_tokens{dp_rank="0",tp_rank="0"} 65536
sglang:max_total_num_tokens{dp_rank="1",tp_rank="0"} 65536
sglang:token_usage{dp_rank="0",tp_rank="0"} 0.0015
`
)

func TestParse_report(t *testing.T) {
	k := core.Known
	cases := map[string]struct {
		page  string
		ranks int
		want  core.LoadReport
	}{
		"vllm: usage x blocks x block size": {vllmOne, 0, core.LoadReport{
			Running: k(8), Waiting: k(6), KVUsed: k(776), KVTotal: k(776), KVCapacity: k(1536),
		}},
		"vllm: sum over ranks, capacity of each rank once": {vllmTwo, 0, core.LoadReport{
			Running: k(3), Waiting: k(4), KVUsed: k(1152), KVTotal: k(1152), KVCapacity: k(3072),
		}},
		"vllm: blocks not yet known": {strings.ReplaceAll(vllmOne, `num_gpu_blocks="96"`, `num_gpu_blocks="None"`), 0, core.LoadReport{
			Running: k(8), Waiting: k(6),
		}},
		"vllm: a rank that lacks one metric makes it unknown": {
			strings.Replace(vllmTwo, "vllm:num_requests_waiting{engine=\"1\"} 4\n", "", 1), 0, core.LoadReport{
				Running: k(3), KVUsed: k(1152), KVTotal: k(1152), KVCapacity: k(3072),
			},
		},
		"vllm: readings that are no amounts are unknown": {
			"vllm:num_requests_running NaN\nvllm:num_requests_waiting -1\nvllm:kv_cache_usage_perc +Inf\n", 0, core.LoadReport{},
		},
		"vllm: an observed zero is known": {"vllm:num_requests_running 0\n", 0, core.LoadReport{Running: k(0)}},
		"sglang: sum over dp_rank, not over tp_rank": {sglangTwo, 2, core.LoadReport{
			Running: k(7), Waiting: k(2), KVUsed: k(300), KVCapacity: k(131072),
		}},
		"sglang: usage where used tokens are missing": {
			"sglang:num_running_reqs 1\nsglang:token_usage 0.5\nsglang:max_total_num_tokens 1000\n", 1,
			core.LoadReport{Running: k(1), KVUsed: k(500), KVCapacity: k(1000)},
		},
		"sglang: capacity 0 is unknown":                             {"sglang:num_running_reqs 1\nsglang:max_total_num_tokens 0\n", 0, core.LoadReport{Running: k(1)}},
		"sglang: fewer ranks than expected are never a partial sum": {sglangTwo, 3, core.LoadReport{}},
		"nothing known": {"go_goroutines 7\n", 0, core.LoadReport{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := enginemetrics.Parse([]byte(c.page), c.ranks)
			require.NoError(t, err)
			require.Empty(t, cmp.Diff(c.want, s.Report))
			require.False(t, s.Report.Native())
		})
	}
}

func TestParse_lifeEvidence(t *testing.T) {
	s, err := enginemetrics.Parse([]byte(vllmOne), 0)
	require.NoError(t, err)
	require.Equal(t, enginemetrics.DialectVLLM, s.Dialect)
	require.Equal(t, core.Known(1795998209890), s.StartMillis)
	require.Equal(t, map[string]float64{"vllm:prompt_tokens_total": 505, "vllm:request_success_total": 7}, s.Counters)

	s, err = enginemetrics.Parse([]byte(sglangTwo), 0)
	require.NoError(t, err)
	require.Equal(t, enginemetrics.DialectSGLang, s.Dialect)
	require.False(t, s.StartMillis.Known)
}

// A page is as good as its own load lines: what is wrong elsewhere does not
// blind the service, what is wrong in them is an error.
func TestParse_looksAtKnownLinesOnly(t *testing.T) {
	s, err := enginemetrics.Parse([]byte("!!! not a metric\n# TYPE vllm:num_requests_running nonsense\n"+vllmOne+"foo{ 1\n"), 0)
	require.NoError(t, err)
	require.Equal(t, core.Known(8), s.Report.Running)
	_, err = enginemetrics.Parse([]byte("vllm:num_requests_running{engine=\"0\" 8\n"), 0)
	require.Error(t, err)
	s, err = enginemetrics.Parse([]byte("vllm:num_requests_running 8"), 0)
	require.NoError(t, err)
	require.Equal(t, core.Known(8), s.Report.Running, "a last line without its end")
}

func FuzzParse(f *testing.F) {
	for _, page := range []string{vllmOne, vllmTwo, sglangTwo, "", "vllm:num_requests_running{"} {
		f.Add([]byte(page), 0)
	}
	f.Fuzz(func(t *testing.T, page []byte, ranks int) {
		s, err := enginemetrics.Parse(page, ranks)
		require.NotEqual(t, (s == nil), (err == nil))
		if s != nil {
			require.False(t, s.Report.Native())
		}
	})
}

func BenchmarkParse(b *testing.B) {
	page := []byte(vllmOne + strings.Repeat("vllm:time_to_first_token_seconds_bucket{engine=\"0\",le=\"0.1\",model_name=\"tiny\"} 5.0\n", 700))
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		_, err := enginemetrics.Parse(page, 0)
		require.NoError(b, err)
	}
}
