package fakes

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	chatPath       = "/v1/chat/completions"
	completionPath = "/v1/completions"
	hello          = `{"model":"demo","messages":[{"role":"user","content":"hello there"}],"max_tokens":3}`
	helloTokens    = 2 + 2 + messageOverhead + replyOverhead
)

// site is a running engine and a client of its own.
type site struct {
	*Engine
	t      *testing.T
	client *http.Client
}

func start(t *testing.T, cfg Config) *site {
	t.Helper()
	e, err := New(cfg)
	require.NoError(t, err)
	require.NoError(t, e.Start(""))
	s := &site{Engine: e, t: t, client: newClient(t)}
	t.Cleanup(e.Stop)
	return s
}

func newClient(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (s *site) do(ctx context.Context, method, path, body string, headers ...string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, string(b)}, err
}

func (s *site) post(path, body string, headers ...string) reply {
	s.t.Helper()
	r, err := s.do(s.t.Context(), http.MethodPost, path, body, headers...)
	require.NoError(s.t, err)
	return r
}

func (s *site) get(path string) reply {
	s.t.Helper()
	r, err := s.do(s.t.Context(), http.MethodGet, path, "")
	require.NoError(s.t, err)
	return r
}

// background posts without waiting; the channel gives the result.
func (s *site) background(ctx context.Context, path, body string) <-chan result {
	out := make(chan result, 1)
	go func() {
		r, err := s.do(ctx, http.MethodPost, path, body)
		out <- result{r, err}
	}()
	return out
}

type result struct {
	reply
	err error
}

// await polls until cond holds.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !cond() {
		require.True(t, time.Now().Before(deadline), "never happened: %s", what)
		time.Sleep(time.Millisecond)
	}
}

func (s *site) awaitLoad(running, waiting int) {
	s.t.Helper()
	await(s.t, "load settles", func() bool {
		l, _ := s.Load()
		return l.Running == running && l.Waiting == waiting
	})
}

// take returns a background result, which must come soon.
func take(t *testing.T, c <-chan result) result {
	t.Helper()
	select {
	case r := <-c:
		return r
	case <-time.After(20 * time.Second):
		require.Fail(t, "no answer")
		return result{}
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	require.NoError(t, dec.Decode(&v), text)
	return v
}

// events splits a stream into its data objects; it must end with [DONE].
func events(t *testing.T, body string) []map[string]any {
	t.Helper()
	parts := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	require.Equal(t, "data: [DONE]", parts[len(parts)-1])
	var out []map[string]any
	for _, p := range parts[:len(parts)-1] {
		data, ok := strings.CutPrefix(p, "data: ")
		require.True(t, ok, p)
		out = append(out, object(t, data))
	}
	return out
}

// choice returns choices[0] of a reply or chunk.
func choice(t *testing.T, v map[string]any) map[string]any {
	t.Helper()
	list, ok := v["choices"].([]any)
	require.True(t, ok && len(list) > 0, "%v", v)
	return list[0].(map[string]any)
}

func dial(t *testing.T, addr string) (net.Conn, error) {
	t.Helper()
	var d net.Dialer
	return d.DialContext(t.Context(), "tcp", addr)
}
