package engine

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	wholeAnswer = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"` + Model +
		`","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":1,"total_tokens":101}}`
	event = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"` + Model +
		`","choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}` + "\n\n"
	lastEvent  = "data: [DONE]\n\n"
	errorBody  = `{"object":"error","message":"as asked","type":"soak","code":0}`
	modelsPage = `{"object":"list","data":[{"id":"` + Model + `","object":"model","created":1,"owned_by":"soak","root":"` + Model + `","max_model_len":67108864}]}`
	loadPage   = `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="` + Model + `"} 1
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="` + Model + `"} 0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="` + Model + `"} 0.25
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="8192"} 1
`
)

// Streams have so many events. A stream that is cut has cutAfter, an endless one
// an event each pace.
const (
	events   = 8
	cutAfter = 3
	pace     = 5 * time.Millisecond
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	page := func(path, contentType, body string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, body)
		})
	}
	page("/health", "text/plain", "")
	page("/v1/models", "application/json", modelsPage)
	page("/metrics", "text/plain", loadPage)
	mux.HandleFunc("GET "+CountsPath, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(s.counts())
	})
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	return mux
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	s.received.Add(1)
	s.open.Add(1)
	defer s.open.Add(-1)
	var start [4 << 10]byte
	n, _ := io.ReadFull(r.Body, start[:])
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // the client went away
	}
	stream := strings.Contains(string(start[:n]), `"stream":true`)
	switch how := r.Header.Get(Header); {
	case strings.HasPrefix(how, Lose) && s.loseOnce(how):
		s.lost.Add(1)
		_ = reset(w)
	case how == Status500:
		fail(w, http.StatusInternalServerError)
	case how == Status429:
		fail(w, http.StatusTooManyRequests)
	case how == Wait:
		<-r.Context().Done()
	case how == Cut:
		if writeEvents(w, cutAfter) == nil {
			_ = reset(w)
		}
	case how == Endless:
		writeEndless(w, r)
	case stream:
		if writeEvents(w, events) == nil {
			_, _ = io.WriteString(w, lastEvent)
		}
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, wholeAnswer)
	}
}

func fail(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, errorBody)
}

// writeEvents writes each event at once.
func writeEvents(w http.ResponseWriter, n int) error {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for range n {
		if _, err := io.WriteString(w, event); err != nil {
			return err
		}
		if err := control.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func writeEndless(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for writeEvents(w, 1) == nil {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
