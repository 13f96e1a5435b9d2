package fakes

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// serverInfo answers GET /server_info: the fields that routers read (engine-selection.md 10.1), under SGLang's names.
func (p *process) serverInfo(w http.ResponseWriter, _ *http.Request) {
	host, port, err := net.SplitHostPort(p.addr)
	if err != nil { // the address of a TCP listener always splits
		host = p.addr
	}
	portNumber, _ := strconv.Atoi(port)
	info := map[string]any{
		"model_path":                    "models/" + p.cfg.Models[0],
		"tokenizer_path":                "models/" + p.cfg.Models[0],
		"served_model_name":             p.cfg.Models[0],
		"host":                          host,
		"port":                          portNumber,
		"version":                       p.cfg.Version,
		"context_length":                p.cfg.MaxModelLen,
		"page_size":                     p.cfg.BlockSize,
		"max_running_requests":          p.cfg.Slots,
		"max_queued_requests":           nil,
		"max_total_num_tokens":          p.cfg.KVBlocks * p.cfg.BlockSize,
		"tp_size":                       1,
		"pp_size":                       1,
		"dp_size":                       p.cfg.Ranks,
		"attn_dp_size":                  p.cfg.Ranks,
		"disaggregation_mode":           string(p.cfg.Role),
		"disaggregation_bootstrap_port": p.cfg.BootstrapPort,
		"speculative_algorithm":         nil,
		"enable_http2":                  false,
		"kv_events":                     p.kv.describe(p.cfg),
	}
	if p.cfg.QueueLimit != 0 {
		info["max_queued_requests"] = max(p.cfg.QueueLimit, 0)
	}
	writeJSON(w, http.StatusOK, info)
}

// loads answers GET /v1/loads?dp_rank=&include=; the JSON format only.
func (p *process) loads(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if f := query.Get("format"); f != "" && f != "json" {
		p.writeError(w, badRequest("format", "format must be json, use /metrics for Prometheus"))
		return
	}
	only := -1
	if q := query.Get("dp_rank"); q != "" {
		n, err := strconv.Atoi(q)
		if err != nil || n < 0 || n >= len(p.ranks) {
			p.writeError(w, badRequest("dp_rank", "dp_rank must be a number from 0 to %d", len(p.ranks)-1))
			return
		}
		only = n
	}
	s := p.snapshot()
	entries := []map[string]any{}
	for rank, load := range s.ranks {
		if only < 0 || only == rank {
			entries = append(entries, p.loadEntry(s, rank, load, strings.Split(query.Get("include"), ",")))
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"timestamp": s.at.UTC().Format(time.RFC3339Nano), "version": p.cfg.Version,
		"accelerator": "fake", "num_accelerators": len(p.ranks), "loads": entries,
	})
}

// loadEntry is one rank's entry: the core section and those asked for. Totals are of the whole process, as of rank 0.
func (p *process) loadEntry(s snapshot, rank int, load Load, include []string) map[string]any {
	capacity := p.cfg.KVBlocks * p.cfg.BlockSize
	entry := map[string]any{
		"timestamp": float64(s.at.UnixMicro()) / 1e6, "dp_rank": rank,
		"num_running_reqs": load.Running, "num_waiting_reqs": load.Waiting,
		"num_waiting_uncached_tokens": load.WaitingTokens, "num_used_tokens": load.UsedTokens,
		"num_total_tokens": load.UsedTokens + load.WaitingTokens, "num_active_tokens": load.UsedTokens,
		"num_prealloc_ready_tokens": 0, "max_total_num_tokens": capacity, "max_running_requests": p.cfg.Slots,
		"token_usage": float64(load.UsedTokens) / float64(capacity), "gen_throughput": 0.0, "cache_hit_rate": 0.0,
		"utilization": float64(load.Running) / float64(p.cfg.Slots), "total_prefill_uncached_tokens": 0,
		"total_prefill_busy_us": 0, "decode_moments": nil,
	}
	if rank == 0 {
		entry["total_prefill_uncached_tokens"] = s.prompt
		entry["total_prefill_busy_us"] = s.prefillBusy.Microseconds()
	}
	for _, section := range include {
		if section == "memory" || section == "all" {
			entry["memory"] = map[string]any{"weight_gb": 0, "kv_cache_gb": 0, "graph_gb": 0, "token_capacity": capacity}
		}
		if section == "queues" || section == "all" {
			entry["queues"] = map[string]int{"waiting": load.Waiting, "grammar": 0, "paused": 0, "retracted": 0, "prealloc_ready": 0}
		}
		if section == "disagg" || section == "all" {
			entry["disaggregation"] = map[string]any{"mode": string(p.cfg.Role)}
		}
	}
	return entry
}

// abortRequest answers POST /abort_request {"rid", "abort_all"}: 200 and nothing else, whether or not it found one.
func (p *process) abortRequest(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, RecordedBody))
	if err != nil || !gjson.ValidBytes(body) {
		p.writeError(w, invalidBody("body", "give a JSON object with rid or abort_all"))
		return
	}
	root := gjson.ParseBytes(body)
	rid, all := root.Get("rid").String(), root.Get("abort_all").Bool()
	if rid == "" && !all {
		p.writeError(w, invalidBody("body.rid", "give rid, or abort_all"))
		return
	}
	p.rec.noteAbort(rid, r.Header)
	p.inflight.abort(rid, all)
	w.WriteHeader(http.StatusOK)
}
