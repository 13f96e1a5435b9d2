package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
)

// answer is a whole response.
type answer struct {
	status int
	header http.Header
	body   string
}

// engine names the engine that answered, empty when none did.
func (a answer) engine() string { return a.header.Get("x-fake-engine") }

// worker names the engine that the router sent the request to, empty when it does
// not say.
func (a answer) worker() string { return a.header.Get("x-pointsman-worker") }

// code is the router's machine code, empty when an engine answered.
func (a answer) code() string { return a.header.Get("x-router-error-code") }

func (r *rig) get(path string) answer { return r.do(http.MethodGet, path, nil, nil) }

func (r *rig) do(method, path string, header http.Header, body io.Reader) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, body)
	require.NoError(r.t, err)
	maps.Copy(req.Header, header)
	return r.send(req)
}

func (r *rig) send(req *http.Request) answer {
	r.t.Helper()
	resp, err := r.client.Do(req)
	require.NoError(r.t, err, "%s", r.log())
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err, "%s", r.log())
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// post sends a chat body as it is.
func (r *rig) post(body string) answer {
	r.t.Helper()
	return r.do(http.MethodPost, "/v1/chat/completions", jsonHeader(), strings.NewReader(body))
}

func jsonHeader() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// chat asks a model for a few tokens with a prompt of about that many bytes.
func (r *rig) chat(model string, promptBytes int) answer {
	r.t.Helper()
	return r.post(chatBody(model, promptBytes))
}

func chatBody(model string, promptBytes int) string {
	return fmt.Sprintf(`{"model":%q,"max_tokens":2,"messages":[{"role":"user","content":%q}]}`, model, strings.Repeat("word ", promptBytes/5))
}

// many runs n calls over a number of clients and counts what came of them by
// key.
func many(n, clients int, call func(i int) string) map[string]int {
	var (
		mu     sync.Mutex
		wg     sync.WaitGroup
		counts = map[string]int{}
		next   = make(chan int)
	)
	for range clients {
		wg.Go(func() {
			for i := range next {
				key := call(i)
				mu.Lock()
				counts[key]++
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return counts
}

// requireRefused checks an error answer of the router: status, code header and
// envelope.
func (r *rig) requireRefused(a answer, status int, code string) {
	r.t.Helper()
	require.Equal(r.t, status, a.status, "%s\n%s", a.body, r.log())
	require.Equal(r.t, code, a.code())
	require.Empty(r.t, a.engine())
	require.Equal(r.t, "application/json", a.header.Get("content-type"))
	var envelope struct {
		Error struct{ Type, Code, Message string }
	}
	require.NoError(r.t, json.Unmarshal([]byte(a.body), &envelope), a.body)
	require.Equal(r.t, code, envelope.Error.Code)
	require.NotEmpty(r.t, envelope.Error.Message)
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	require.Equal(r.t, kind, envelope.Error.Type)
	if status == http.StatusServiceUnavailable {
		require.Equal(r.t, "1", a.header.Get("retry-after"))
	}
}
