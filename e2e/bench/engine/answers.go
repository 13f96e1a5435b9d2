package engine

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// The fixed answers.
//
//nolint:gochecknoglobals // read-only
var (
	wholeAnswer = response("200 OK", "application/json", `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"`+Model+
		`","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":1,"total_tokens":101}}`)
	notFound  = response("404 Not Found", "text/plain", "not here")
	health    = response("200 OK", "text/plain", "")
	modelPage = response("200 OK", "application/json", `{"object":"list","data":[{"id":"`+Model+`","object":"model","created":1,"owned_by":"bench","root":"`+Model+`","max_model_len":131072}]}`)
	infoPage  = response("200 OK", "application/json", `{"model_path":"`+Model+`","served_model_name":"`+Model+`","tp_size":1,"dp_size":1,"max_running_requests":256,"max_total_num_tokens":500000,"version":"0.5.6"}`)
	loadPage  = response("200 OK", "text/plain", metrics)

	streamHead = []byte("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
	chunk      = frame(event())
	streamTail = []byte(string(frame("data: [DONE]\n\n")) + "0\r\n\r\n")
)

const metrics = `# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="` + Model + `"} 1
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="` + Model + `"} 0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="` + Model + `"} 0.25
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="4096"} 1
`

func response(status, contentType, body string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s", status, contentType, len(body), body)
}

// event is a streamed token of ChunkBytes bytes.
func event() string {
	const head = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"` + Model + `","choices":[{"index":0,"delta":{"content":"`
	const tail = `"},"finish_reason":null}]}` + "\n\n"
	return head + strings.Repeat("x", ChunkBytes-len(head)-len(tail)) + tail
}

func frame(data string) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(data), data) }

// page answers a GET.
func page(path string) []byte {
	switch path {
	case "/health", "/health_generate", "/ping":
		return health
	case "/v1/models":
		return modelPage
	case "/server_info", "/get_server_info", "/model_info", "/get_model_info":
		return infoPage
	case "/metrics":
		return loadPage
	}
	return notFound
}

// writeStream sends the chunks, each in a write of its own. The first follows
// the headers at once.
func writeStream(c net.Conn, interval time.Duration) error {
	if _, err := c.Write(streamHead); err != nil {
		return err
	}
	for i := range Chunks {
		if i > 0 && interval > 0 {
			time.Sleep(interval)
		}
		if _, err := c.Write(chunk); err != nil {
			return err
		}
	}
	_, err := c.Write(streamTail)
	return err
}
