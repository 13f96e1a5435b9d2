package engine

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller sends chats to an engine.
type caller struct {
	t      *testing.T
	client *http.Client
	server *Server
}

func newCaller(t *testing.T) *caller {
	t.Helper()
	s, err := Start(2)
	require.NoError(t, err)
	c := &caller{t, &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}, s}
	t.Cleanup(func() { c.client.CloseIdleConnections(); s.Stop() })
	return c
}

func (c *caller) chat(ctx context.Context, number int, how, body string) (status int, text string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.server.Addrs()[number]+"/v1/chat/completions", strings.NewReader(body))
	require.NoError(c.t, err)
	if how != "" {
		req.Header.Set(Header, how)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func TestEngine_fails_as_asked(t *testing.T) {
	c := newCaller(t)
	for _, tc := range []struct {
		how, body string
		status    int
		ending    string
		broken    bool
	}{
		{"", `{}`, 200, "}}", false},
		{"", `{"stream":true}`, 200, "data: [DONE]\n\n", false},
		{Status500, `{}`, 500, "}", false},
		{Status429, `{}`, 429, "}", false},
		{Cut, `{}`, 200, event, true},
	} {
		status, text, err := c.chat(t.Context(), 0, tc.how, tc.body)
		require.Equal(t, tc.broken, err != nil, "%q: %v", tc.how, err)
		require.Equal(t, tc.status, status, "%q", tc.how)
		require.True(t, strings.HasSuffix(text, tc.ending), "%q: %s", tc.how, text)
	}
}

func TestEngine_loses_a_request_once(t *testing.T) {
	c := newCaller(t)
	_, _, err := c.chat(t.Context(), 0, Lose+"1", `{}`)
	require.Error(t, err)
	status, _, err := c.chat(t.Context(), 1, Lose+"1", `{}`)
	require.NoError(t, err)
	require.Equal(t, 200, status)
	require.Equal(t, Counts{Received: 2, Lost: 1}, c.counts())
	require.Empty(t, c.server.once)
}

func TestEngine_ends_when_the_client_leaves(t *testing.T) {
	for _, how := range []string{Wait, Endless} {
		c := newCaller(t)
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			_, _, _ = c.chat(ctx, 0, how, `{}`)
		}()
		require.Eventually(t, func() bool { return c.counts().Open == 1 }, 10*time.Second, time.Millisecond)
		cancel()
		<-left
		require.Eventually(t, func() bool { return c.counts().Open == 0 }, 10*time.Second, time.Millisecond)
	}
}

func (c *caller) counts() Counts {
	resp, err := c.client.Get("http://" + c.server.Addrs()[1] + CountsPath)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	var counts Counts
	require.NoError(c.t, json.NewDecoder(resp.Body).Decode(&counts))
	return counts
}
