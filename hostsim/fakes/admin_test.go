package fakes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"
)

// scrape parses /metrics as Prometheus does and returns each sample by name and labels.
func scrape(t *testing.T, s *site) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(s.get("/metrics").body))
	require.NoError(t, err)
	samples := map[string]float64{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			labels := []string{}
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			value := m.GetGauge().GetValue()
			if family.GetType() == dto.MetricType_COUNTER {
				value = m.GetCounter().GetValue()
			}
			samples[name+"{"+strings.Join(labels, ",")+"}"] = value
		}
	}
	return samples
}

func TestVLLMMetrics(t *testing.T) {
	name := `we"ird\` + "\n"
	s := start(t, Config{
		Models: []string{name}, Slots: 1, BlockSize: 4, KVBlocks: 16, MaxModelLen: 64, DecodePerToken: time.Hour,
		StartTime: time.Unix(1_790_000_000, 250_000_000),
	})
	body := `{"prompt":"word word word","max_tokens":9}`
	require.Equal(t, 200, s.post(completionPath, `{"prompt":"word","max_tokens":1}`).status)
	s.background(t.Context(), completionPath, body)
	s.awaitLoad(1, 0)
	s.background(t.Context(), completionPath, body)
	s.awaitLoad(1, 1)
	got := scrape(t, s)
	labels := "{engine=0,model_name=" + name + "}"
	for sample, want := range map[string]float64{
		"process_start_time_seconds{}":          1_790_000_000.25,
		"vllm:num_requests_running" + labels:    1,
		"vllm:num_requests_waiting" + labels:    1,
		"vllm:kv_cache_usage_perc" + labels:     1.0 / 16,
		"vllm:prefix_cache_hits_total" + labels: 0,
		"vllm:prompt_tokens_total" + labels:     4,
		"vllm:generation_tokens_total" + labels: 1,
		"vllm:cache_config_info{block_size=4,enable_prefix_caching=False,engine=0,num_gpu_blocks=16}": 1,
		"vllm:request_success_total{engine=0,finished_reason=length,model_name=" + name + "}":         1,
	} {
		require.Contains(t, got, sample)
		require.InDelta(t, want, got[sample], 1e-9, sample)
	}
	require.JSONEq(t, `{"server_load":2}`, s.get("/load").body)
	s.Stop()
	require.NoError(t, s.Start(""))
	require.JSONEq(t, `{"server_load":0}`, s.get("/load").body)
	require.Equal(t, "text/plain; version=1.0.0; charset=utf-8", s.get("/metrics").header.Get("Content-Type"))
}

func TestSGLangMetricsAndLoads(t *testing.T) {
	for ranks, suffix := range map[int]string{1: "", 2: ",dp_rank=0"} {
		s, _ := slow(t, Config{Dialect: SGLang, Slots: 1, Ranks: ranks, KVBlocks: 100, MaxModelLen: 1600})
		for i := range 2 * ranks {
			s.background(t.Context(), chatPath, hello)
			await(t, "arrival", func() bool { l, _ := s.Load(); return l.Running+l.Waiting == i+1 })
		}
		got := scrape(t, s)
		labels := "{engine_type=unified,model_name=demo,pp_rank=0,tp_rank=0" + suffix + "}"
		for name, want := range map[string]float64{
			"num_running_reqs": 1, "num_queue_reqs": 1, "num_used_tokens": helloTokens,
			"token_usage": helloTokens / 1600.0, "max_total_num_tokens": 1600,
		} {
			require.InDelta(t, want, got["sglang:"+name+labels], 1e-9, name)
			require.Contains(t, got, "sglang:"+name+labels)
		}
		for sample := range got {
			require.NotContains(t, sample, "process_start_time")
		}

		v := object(t, s.get("/v1/loads?include=core,queues").body)
		loads := v["loads"].([]any)
		require.Len(t, loads, ranks)
		require.Subset(t, loads[ranks-1], map[string]any{
			"dp_rank": float64(ranks - 1), "num_running_reqs": 1.0, "num_waiting_reqs": 1.0, "num_waiting_uncached_tokens": float64(helloTokens),
			"num_used_tokens": float64(helloTokens), "max_total_num_tokens": 1600.0, "max_running_requests": 1.0,
		})
		require.Contains(t, loads[0], "queues")
		require.NotContains(t, loads[0], "memory")
		s.Stop()
	}
}

func TestLoadsQuery(t *testing.T) {
	s := start(t, Config{Dialect: SGLang, Ranks: 3})
	one := object(t, s.get("/v1/loads?dp_rank=2&include=all").body)["loads"].([]any)
	require.Len(t, one, 1)
	require.Equal(t, "cache_hit_rate decode_moments disaggregation dp_rank gen_throughput max_running_requests max_total_num_tokens memory "+
		"num_active_tokens num_prealloc_ready_tokens num_running_reqs num_total_tokens num_used_tokens num_waiting_reqs "+
		"num_waiting_uncached_tokens queues timestamp token_usage total_prefill_busy_us total_prefill_uncached_tokens utilization", keys(one[0]))
	for _, bad := range []string{"dp_rank=3", "dp_rank=-1", "dp_rank=x", "format=prometheus"} {
		require.Equal(t, 400, s.get("/v1/loads?"+bad).status, bad)
	}
}

func TestModels(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s := start(t, Config{Dialect: d, Models: []string{"base", "alias"}, Adapters: []Adapter{{Name: "lora"}}, MaxModelLen: 512})
		v := object(t, s.get("/v1/models").body)
		require.Equal(t, "list", v["object"])
		data := v["data"].([]any)
		require.Len(t, data, 3)
		require.Subset(t, data[0], map[string]any{"id": "base", "object": "model", "owned_by": d.String(), "parent": nil, "max_model_len": 512.0})
		require.Subset(t, data[2], map[string]any{"id": "lora", "parent": "base", "root": "adapters/lora"})
		require.JSONEq(t, fmt.Sprintf(`{"version":%q}`, s.Config().Version), s.get("/version").body)
	})
}

func TestServerInfo(t *testing.T) {
	s := start(t, Config{Dialect: SGLang, Role: Prefill, Ranks: 2, Models: []string{"m"}, BootstrapPort: 9000, BlockSize: 64})
	info := object(t, s.get("/server_info").body)
	require.Subset(t, info, map[string]any{
		"served_model_name": "m", "kv_events": nil, "disaggregation_mode": "prefill", "disaggregation_bootstrap_port": 9000.0,
		"dp_size": 2.0, "attn_dp_size": 2.0, "enable_http2": false, "speculative_algorithm": nil, "page_size": 64.0, "version": "0.5.23",
	})
	require.Equal(t, info, object(t, s.get("/get_server_info").body))
	plain := start(t, Config{Dialect: SGLang})
	require.Equal(t, "null", object(t, plain.get("/server_info").body)["disaggregation_mode"])
}

func TestTokenizeCountsWhatIsBilled(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s := start(t, Config{Dialect: d, MaxModelLen: 77})
		v := object(t, s.post("/tokenize", hello).body)
		require.InDelta(t, helloTokens, v["count"], 0)
		require.Len(t, v["tokens"], helloTokens)
		require.InDelta(t, 77, v["max_model_len"], 0)
		_, strs := v["token_strs"]
		require.Equal(t, d == VLLM, strs)
		v = object(t, s.post("/tokenize", `{"prompt":"word word other"}`).body)
		ids := v["tokens"].([]any)
		require.Len(t, ids, 4)
		require.Equal(t, ids[0], ids[1])
		require.NotEqual(t, ids[0], ids[2])
		require.Equal(t, 404, s.post("/tokenize", `{"model":"other","prompt":"x"}`).status)
		require.Equal(t, 400, s.post("/tokenize", `{}`).status)
		require.Equal(t, 400, s.post("/tokenize", `{"prompt":"x","messages":[]}`).status)
		require.Equal(t, 400, s.post("/tokenize", `{`).status)
	})
	g := start(t, Config{Dialect: SGLang})
	require.JSONEq(t, `[1,2]`, marshal(t, object(t, g.post("/v1/tokenize", `{"prompt":["word","words"]}`).body)["count"]))
}

func TestAbortRequest(t *testing.T) {
	s, clock := slow(t, Config{Dialect: SGLang, Slots: 1})
	with := func(rid, body string) string { return strings.Replace(body, "{", `{"rid":"`+rid+`",`, 1) }
	running := s.background(t.Context(), chatPath, with("a", hello))
	s.awaitLoad(1, 0)
	queued := s.background(t.Context(), chatPath, with("b", streamed(3, "")))
	s.awaitLoad(1, 1)
	other := s.background(t.Context(), chatPath, with("ab", hello))
	s.awaitLoad(1, 2)

	require.Equal(t, 200, s.post("/abort_request", `{"rid":"unknown"}`).status)
	require.Equal(t, 200, s.post("/abort_request", `{"rid":"b"}`).status)
	chunks := events(t, take(t, queued).body)
	require.Equal(t, "abort", choice(t, chunks[len(chunks)-1])["finish_reason"])
	s.awaitLoad(1, 1)
	require.Equal(t, 200, s.post("/abort_request", `{"rid":"a"}`).status)
	require.Equal(t, "abort", choice(t, object(t, take(t, running).body))["finish_reason"])
	s.awaitLoad(1, 0)
	await(t, "the other sleeps", func() bool { return clock.Sleepers() == 1 })
	require.Empty(t, other)
	require.Equal(t, 200, s.post("/abort_request", `{"abort_all":true}`).status)
	require.Equal(t, 200, take(t, other).status)
	await(t, "all end", func() bool { return s.Counters().InFlight == 0 })
	require.Equal(t, Counters{Received: 3, Aborted: 3, MaxConcurrent: 3}, s.Counters())
	for _, bad := range []string{``, `{}`, `{"rid":`} {
		require.Equal(t, 400, s.post("/abort_request", bad).status)
	}
}

func TestAbortEndsOrphans(t *testing.T) {
	s := start(t, Config{Dialect: SGLang, KeepOrphans: true, DecodePerToken: time.Millisecond})
	ctx, leave := context.WithCancel(t.Context())
	for _, rid := range []string{"a", "b"} {
		s.background(ctx, chatPath, strings.Replace(streamed(30_000, ""), "{", `{"rid":"`+rid+`",`, 1))
	}
	s.awaitLoad(2, 0)
	leave()
	await(t, "both go on", func() bool {
		records := s.Requests()
		return s.Counters().InFlight == 2 && len(records) == 2
	})
	require.Equal(t, 200, s.post("/abort_request", `{"rid":"a"}`).status)
	await(t, "one ends", func() bool { return s.Counters().InFlight == 1 })
	require.Equal(t, "a", s.Aborts()[0].Rid)
	s.Stop()
	require.Equal(t, Counters{Received: 2, Aborted: 2, MaxConcurrent: 2}, s.Counters())
	s.Reset()
	require.Empty(t, s.Aborts())
	require.ErrorContains(t, Config{KeepOrphans: true}.withDefaults().validate(), "keep_orphans: needs the dialect")
}

func TestAbortKeepsWhatWasSaid(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	s := start(t, Config{Dialect: SGLang, Clock: clock, DecodePerToken: time.Second, BlockSize: 4})
	answer := s.background(t.Context(), completionPath, `{"rid":"r","prompt":"word","max_tokens":10}`)
	await(t, "first block", func() bool { return clock.Sleepers() == 1 })
	clock.Advance(3 * time.Second)
	await(t, "second block", func() bool { l, _ := s.Load(); return l.UsedTokens == 5 && clock.Sleepers() == 1 })
	require.Equal(t, 200, s.post("/abort_request", `{"rid":"r"}`).status)
	v := object(t, take(t, answer).body)
	require.Equal(t, "abort", choice(t, v)["finish_reason"])
	require.Equal(t, 4, countTokens(choice(t, v)["text"].(string)))
	require.InDelta(t, 4, v["usage"].(map[string]any)["completion_tokens"], 0)
}

func TestSGLangPrefillAndDecodeRoles(t *testing.T) {
	body := `{"prompt":"word word","max_tokens":5,"bootstrap_host":"h","bootstrap_port":1,"bootstrap_room":7}`
	for _, role := range []Role{Prefill, Decode} {
		s := start(t, Config{Dialect: SGLang, Role: role})
		require.Equal(t, 400, s.post(completionPath, `{"prompt":"word"}`).status, "no room")
		require.Contains(t, s.get("/metrics").body, `engine_type="`+string(role)+`"`)
		v := object(t, s.post(completionPath, body).body)
		want := map[Role]float64{Prefill: 1, Decode: 5}[role]
		require.InDelta(t, want, v["usage"].(map[string]any)["completion_tokens"], 0)
	}
	s := start(t, Config{Dialect: SGLang, Role: Decode, PrefillBase: time.Hour})
	require.Equal(t, 200, s.post(completionPath, body).status, "decode spends no prefill time")
}

func TestVLLMHandOver(t *testing.T) {
	s := start(t, Config{Role: Prefill, Name: "p", BlockSize: 4, BootstrapPort: 15700})
	body := `{"prompt":[1,2,3,4,5],"max_tokens":1,"kv_transfer_params":{"do_remote_decode":true,"do_remote_prefill":false}}`
	v := object(t, s.post(completionPath, body).body)
	params := v["kv_transfer_params"].(map[string]any)
	require.Subset(t, params, map[string]any{
		"do_remote_prefill": true, "remote_engine_id": "p", "remote_host": "127.0.0.1", "remote_port": 15700.0, "remote_num_tokens": 5.0,
		"remote_request_id": v["id"],
	})
	require.Equal(t, []any{[]any{1.0, 2.0}}, params["remote_block_ids"])
	require.Nil(t, object(t, s.post(completionPath, `{"prompt":"x"}`).body)["kv_transfer_params"])

	d := start(t, Config{Role: Decode, PrefillBase: time.Hour})
	next := `{"prompt":[1,2,3,4,5],"max_tokens":2,"kv_transfer_params":` + marshal(t, params) + `}`
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := d.do(ctx, "POST", completionPath, next)
	require.NoError(t, err)
	require.Equal(t, 200, r.status)
}
