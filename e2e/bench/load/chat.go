package load

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Chat makes a chat completion request whose body has the given size in bytes.
func Chat(model string, size int, stream bool) []byte {
	head := fmt.Sprintf(`{"model":%q,"stream":%v,"max_tokens":200,"temperature":0.7,"messages":[{"role":"system","content":"You answer briefly."},{"role":"user","content":"`, model, stream)
	const tail = `"}]}`
	prompt := strings.Repeat("lorem ipsum dolor sit amet ", size/27+1)[:max(1, size-len(head)-len(tail))]
	return Post(head + prompt + tail)
}

// Post makes a request to the chat path with the headers that clients of engines
// commonly send.
func Post(body string) []byte {
	return fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nhost: models.example\r\nuser-agent: bench\r\naccept: */*\r\nauthorization: Bearer 0123456789abcdef\r\n"+
		"content-type: application/json\r\ncontent-length: %d\r\n\r\n%s", len(body), body)
}

// InSession adds a session's header to a request.
func InSession(request []byte, session string) []byte {
	line, rest, _ := bytes.Cut(request, []byte("\r\n"))
	return fmt.Appendf(nil, "%s\r\nx-session-id: %s\r\n%s", line, session, rest)
}

// Poisson are n arrivals at a mean rate per second.
func Poisson(n int, rate float64, seed uint64) []time.Duration {
	random := rand.New(rand.NewPCG(seed, 0))
	at := make([]time.Duration, n)
	var now float64
	for i := range at {
		now += random.ExpFloat64() / rate
		at[i] = time.Duration(now * float64(time.Second))
	}
	return at
}
