package fakes

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// snapshot is everything the load endpoints report, at one instant.
type snapshot struct {
	at           time.Time
	ranks        []Load
	prompt       int64
	output       int64
	stopped      int64
	length       int64
	aborted      int64
	shed         int64
	prefillBusy  time.Duration
	openRequests int64
}

func (p *process) snapshot() snapshot {
	t := &p.totals
	s := snapshot{
		at: p.cfg.Clock.Now(), prompt: t.promptTokens.Load(), output: t.outputTokens.Load(),
		stopped: t.stopped.Load(), length: t.lengthEnded.Load(), aborted: t.aborted.Load(), shed: t.shed.Load(),
		prefillBusy: time.Duration(t.prefillBusy.Load()), openRequests: t.openRequests.Load(),
	}
	for _, r := range p.ranks {
		s.ranks = append(s.ranks, r.load())
	}
	return s
}

// metrics answers GET /metrics in the Prometheus text format of the dialect.
func (p *process) metrics(w http.ResponseWriter, _ *http.Request) {
	var text exposition
	contentType := "text/plain; version=1.0.0; charset=utf-8" // as vLLM 0.32.0 sends it
	if p.cfg.Dialect == VLLM {
		p.vllmMetrics(&text, p.snapshot())
	} else {
		contentType = "text/plain; version=0.0.4; charset=utf-8"
		p.sglangMetrics(&text, p.snapshot())
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(text.b.Len()))
	_, _ = w.Write([]byte(text.b.String()))
}

// exposition writes metric families.
type exposition struct{ b strings.Builder }

// family starts a family; its samples follow.
func (e *exposition) family(name, kind, help string) {
	e.b.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes one sample. Labels are a list of name, value, name, value.
func (e *exposition) sample(name string, value float64, labels ...string) {
	e.b.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		e.b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		e.b.WriteString(labels[i] + `="` + labelEscape.Replace(labels[i+1]) + `"`)
	}
	if len(labels) > 0 {
		e.b.WriteString("}")
	}
	e.b.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// labelEscape escapes a label value as the text format asks for. It is never written to.
var labelEscape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)

// vllmMetrics has a gauge per rank; counters are those of the whole process and stand under rank 0.
func (p *process) vllmMetrics(e *exposition, s snapshot) {
	e.family("process_start_time_seconds", "gauge", "Start time of the process, Unix seconds.")
	e.sample("process_start_time_seconds", float64(p.start.UnixMicro())/1e6)
	perRank := func(name, kind, help string, value func(Load) float64) {
		e.family(name, kind, help)
		for rank, load := range s.ranks {
			e.sample(name, value(load), "engine", strconv.Itoa(rank), "model_name", p.names.first)
		}
	}
	perRank("vllm:num_requests_running", "gauge", "Requests that run.", func(l Load) float64 { return float64(l.Running) })
	perRank("vllm:num_requests_waiting", "gauge", "Requests that wait.", func(l Load) float64 { return float64(l.Waiting) })
	perRank("vllm:kv_cache_usage_perc", "gauge", "Share of KV blocks in use, 1 is all.",
		func(l Load) float64 { return float64(l.UsedBlocks) / float64(p.cfg.KVBlocks) })
	counter := func(name, help string, value int64) {
		e.family(name, "counter", help)
		e.sample(name, float64(value), "engine", "0", "model_name", p.names.first)
	}
	counter("vllm:prefix_cache_queries_total", "Tokens looked up in the prefix cache.", s.prompt)
	counter("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache.", p.kv.hits())
	counter("vllm:prompt_tokens_total", "Prompt tokens processed.", s.prompt)
	counter("vllm:generation_tokens_total", "Tokens generated.", s.output)
	e.family("vllm:request_success_total", "counter", "Requests that ended, by reason.")
	for _, end := range []struct {
		reason string
		count  int64
	}{{"stop", s.stopped}, {"length", s.length}, {"abort", s.aborted}} {
		e.sample("vllm:request_success_total", float64(end.count),
			"engine", "0", "finished_reason", end.reason, "model_name", p.names.first)
	}
	e.family("vllm:cache_config_info", "gauge", "KV cache configuration, as labels.")
	for rank := range s.ranks {
		e.sample("vllm:cache_config_info", 1, "block_size", strconv.Itoa(p.cfg.BlockSize), "enable_prefix_caching", map[bool]string{true: "True", false: "False"}[p.kv != nil],
			"engine", strconv.Itoa(rank), "num_gpu_blocks", strconv.Itoa(p.cfg.KVBlocks))
	}
}

// sglangMetrics has no process_start_time_seconds: SGLang exports in Prometheus' multi-process mode.
func (p *process) sglangMetrics(e *exposition, s snapshot) {
	capacity := float64(p.cfg.KVBlocks * p.cfg.BlockSize)
	perRank := func(name, help string, value func(Load) float64) {
		e.family(name, "gauge", help)
		for rank, load := range s.ranks {
			e.sample(name, value(load), p.sglangLabels(rank)...)
		}
	}
	perRank("sglang:num_running_reqs", "Requests that run.", func(l Load) float64 { return float64(l.Running) })
	perRank("sglang:num_queue_reqs", "Requests that wait.", func(l Load) float64 { return float64(l.Waiting) })
	perRank("sglang:num_used_tokens", "KV tokens in use.", func(l Load) float64 { return float64(l.UsedTokens) })
	perRank("sglang:token_usage", "Share of KV tokens in use.", func(l Load) float64 { return float64(l.UsedTokens) / capacity })
	perRank("sglang:max_total_num_tokens", "KV token capacity.", func(Load) float64 { return capacity })
	counter := func(name, help string, value int64) {
		e.family(name, "counter", help)
		e.sample(name, float64(value), p.sglangLabels(0)...)
	}
	counter("sglang:prompt_tokens_total", "Prompt tokens processed.", s.prompt)
	counter("sglang:generation_tokens_total", "Tokens generated.", s.output)
	counter("sglang:num_requests_total", "Requests that ended.", s.stopped+s.length)
}

// sglangLabels are those of a rank's sample; dp_rank is there only with data parallelism.
func (p *process) sglangLabels(rank int) []string {
	engineType := "unified"
	if p.cfg.Role != Plain {
		engineType = string(p.cfg.Role)
	}
	labels := []string{"engine_type", engineType, "model_name", p.names.first, "pp_rank", "0", "tp_rank", "0"}
	if p.cfg.Ranks > 1 {
		labels = append(labels, "dp_rank", strconv.Itoa(rank))
	}
	return labels
}
