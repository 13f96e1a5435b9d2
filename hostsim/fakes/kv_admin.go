package fakes

import (
	"net/http"
	"strconv"

	"github.com/pointsman/pointsman/hostsim/fakes/kvwire"
)

// addKVRoutes adds what an engine with a prefix cache answers. SGLang has /flush_cache always; without a cache there is
// nothing to flush.
func (p *process) addKVRoutes(routes map[string]route) {
	if p.cfg.KV == nil {
		return
	}
	if p.cfg.Dialect == SGLang {
		routes["/flush_cache"] = route{[]string{http.MethodGet, http.MethodPost}, p.flushCache, false}
		return
	}
	routes["/reset_prefix_cache"] = route{[]string{http.MethodPost}, p.resetPrefixCache, false}
	if p.cfg.KV.Publish && p.sourcesKnown() {
		routes["/kv_event_sources"] = route{[]string{http.MethodGet}, p.kvEventSources, false}
	}
}

// sourcesKnown reports whether this release has /kv_event_sources: 0.32.0 does, 0.22.1 answers 404.
func (p *process) sourcesKnown() bool {
	r, err := kvwire.ParseRelease(p.cfg.Version)
	return err == nil && !r.UnfilledLast()
}

// flushCache answers SGLang's /flush_cache: a text, 400 when requests run.
func (p *process) flushCache(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	text := "Cache flushed.\nPlease check backend logs for more details. (When there are running or waiting requests, the operation will not be performed.)\n"
	if !p.kv.reset() {
		w.WriteHeader(http.StatusBadRequest)
		text = "Flush cache failed: requests are running.\n"
	}
	_, _ = w.Write([]byte(text))
}

// resetPrefixCache answers vLLM's: 200 either way.
func (p *process) resetPrefixCache(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]bool{"success": p.kv.reset()})
}

// eventSource is one rank's entry of /kv_event_sources; wildcards stay as they are.
type eventSource struct {
	Enabled        bool    `json:"enable_kv_cache_events"`
	Publisher      string  `json:"publisher"`
	Endpoint       string  `json:"endpoint"`
	ReplayEndpoint *string `json:"replay_endpoint"`
	BufferSteps    int     `json:"buffer_steps"`
	HWM            int     `json:"hwm"`
	MaxQueueSize   int     `json:"max_queue_size"`
	Topic          string  `json:"topic"`
}

func (p *process) kvEventSources(w http.ResponseWriter, _ *http.Request) {
	sources := map[string]eventSource{}
	for rank := range p.kv.ranks {
		s := eventSource{
			Enabled: true, Publisher: "zmq", Endpoint: anyHost(p.kv.ports.Events + rank), BufferSteps: p.kv.cfg.Buffer,
			HWM: p.kv.cfg.Queue, MaxQueueSize: 100_000, Topic: p.kv.cfg.Topic,
		}
		if !p.kv.cfg.NoReplay {
			replay := anyHost(p.kv.ports.Replay + rank)
			s.ReplayEndpoint = &replay
		}
		sources[strconv.Itoa(rank)] = s
	}
	writeJSON(w, http.StatusOK, sources)
}

func anyHost(port int) string { return "tcp://*:" + strconv.Itoa(port) }

// describe is the kv_events block of /server_info (fixtures/README.md section 5); nil when nothing is published. The host
// is a wildcard: a reader takes the one it reached the engine at.
func (k *prefixCache) describe(c Config) map[string]any {
	if k == nil || !k.cfg.Publish {
		return nil
	}
	block := map[string]any{
		"publisher": "zmq", "endpoint_host": "*", "endpoint_port_base": k.ports.Events, "topic": k.cfg.Topic,
		"block_size": c.BlockSize, "dp_size": c.Ranks,
	}
	if !k.cfg.NoReplay {
		block["replay_endpoint_port_base"] = k.ports.Replay
	}
	if k.cfg.Load {
		block["load_endpoint_port_base"], block["load_topic"] = k.ports.Load, kvwire.LoadTopic
	}
	return block
}

// appendCached appends what was found in the cache, as the dialect reports it: vLLM before 0.23 says nothing where that
// is nothing.
func (x *exchange) appendCached(b []byte) []byte {
	b = append(b, `,"prompt_tokens_details":`...)
	if x.kv == nil || x.cfg.Dialect == VLLM && !x.sourcesKnown() && x.call.cached == 0 {
		return append(b, "null"...)
	}
	b = append(b, `{"cached_tokens":`...)
	b = strconv.AppendInt(b, int64(x.call.cached), 10)
	if x.cfg.Dialect == VLLM && x.sourcesKnown() {
		b = append(b, `,"created_cache_tokens":null,"multimodal_tokens":null`...)
	}
	return append(b, '}')
}
