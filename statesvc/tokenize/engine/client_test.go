package engine_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize/engine"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T, h http.HandlerFunc, opts engine.Options) *engine.Client {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	if opts.HTTP == nil {
		opts.HTTP = server.Client()
	}
	if opts.BaseURL == nil {
		opts.BaseURL = func() (string, bool) { return server.URL, true }
	}
	c := engine.New(opts)
	t.Cleanup(c.Close)
	return c
}

func TestQuestionsKeepTheClientsJSON(t *testing.T) {
	tests := map[string]struct {
		dialect chat.Dialect
		body    string
		want    string
	}{
		"chat": {
			chat.DialectChat, `{"messages":[{"role" : "user","content":"x"}],"model":"m","temperature":1}`,
			`{"model":"m","messages":[{"role" : "user","content":"x"}]}`,
		},
		"order of a tool (D01)": {
			chat.DialectChat, `{"model":"m","tools":[{"z":1,"a":2}],"messages":[],"chat_template_kwargs":{"b":1,"a":2}}`,
			`{"model":"m","messages":[],"tools":[{"z":1,"a":2}],"chat_template_kwargs":{"b":1,"a":2}}`,
		},
		"text": {
			chat.DialectCompletions, `{"model":"m","prompt":"x\u00e9"}`,
			`{"model":"m","prompt":"x\u00e9"}`,
		},
		"settings": {
			chat.DialectChat, `{"model":"m","messages":[],"add_generation_prompt":false,"continue_final_message":true,"tools":[]}`,
			`{"model":"m","messages":[],"add_generation_prompt":false,"continue_final_message":true}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := prompt.Read(tt.dialect, tt.body)
			require.NoError(t, err)
			got, err := engine.Question(&p, render.VLLM)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			require.True(t, gjson.Valid(got))
		})
	}
}

func TestQuestionsToSGLang(t *testing.T) {
	p, err := prompt.Read(chat.DialectChat, `{"model":"m","messages":[],"tools":[1],"tool_choice":"none","reasoning_effort":"low",`+
		`"add_generation_prompt":false,"continue_final_message":true}`)
	require.NoError(t, err)
	got, err := engine.Question(&p, render.SGLang)
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"m","messages":[],"tools":[1],"continue_final_message":true,"reasoning_effort":"low","tool_choice":"none"}`, got)
}

func TestWhatCannotBeAsked(t *testing.T) {
	for _, body := range []string{
		`{"model":"m","messages":[],"documents":[{}]}`, `{"model":"m","messages":[],"tools":[{}],"tool_choice":"none"}`,
		`{"model":"m","messages":[{"role":"assistant","reasoning_content":"x"}]}`,
		`{"model":"m","messages":[],"truncate_prompt_tokens":5}`, `{"model":"m","messages":[],"reasoning_effort":"low"}`,
	} {
		p, err := prompt.Read(chat.DialectChat, body)
		require.NoError(t, err)
		_, err = engine.Question(&p, render.VLLM)
		var not *engine.NotAskableError
		require.ErrorAs(t, err, &not, body)
	}
	p, err := prompt.Read(chat.DialectCompletions, `{"model":"m","prompt":["a","b"]}`)
	require.NoError(t, err)
	_, err = engine.Question(&p, render.VLLM)
	require.ErrorContains(t, err, "2 sequences")
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		want       []uint32
		err        string
	}{
		{"vLLM", `{"count":3,"max_model_len":1024,"tokens":[9707,11,1879],"token_strs":null}`, 200, []uint32{9707, 11, 1879}, ""},
		{"SGLang", `{"tokens":[9707,11,1879],"count":3,"max_model_len":1024}`, 200, []uint32{9707, 11, 1879}, ""},
		{"empty", `{"tokens":[],"count":0}`, 200, []uint32{}, ""},
		{"count", `{"tokens":[1],"count":2}`, 200, nil, "counts 2"},
		{"lists", `{"tokens":[[1],[2]],"count":2}`, 200, nil, "cannot unmarshal"},
		{"text", `{"tokens":["a"]}`, 200, nil, "cannot unmarshal"},
		{"negative", `{"tokens":[-1]}`, 200, nil, "cannot unmarshal"},
		{"no tokens", `{}`, 200, nil, "no tokens"},
		{"no JSON", `<html>`, 200, nil, "invalid character"},
		{"deep", strings.Repeat("[", 60_000), 200, nil, "not understood"},
		{"refused", `{"error":{}}`, 400, nil, "status 400"},
		{"away", ``, 503, nil, "status 503"},
		{"huge", `{"tokens":[` + strings.Repeat("1,", 1<<20) + `1]}`, 200, nil, "more than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}, engine.Options{})
			ids, err := c.Tokenize(t.Context(), "{}")
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, ids)
		})
	}
}

func TestEqualQuestionsAreOneCall(t *testing.T) {
	var calls atomic.Int32
	release := make(chan struct{})
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		<-release
		_, _ = io.WriteString(w, `{"tokens":[1]}`)
	}, engine.Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ids, err := c.Tokenize(t.Context(), `{"prompt":"x"}`)
			if err != nil || len(ids) != 1 {
				t.Error(ids, err)
			}
		})
	}
	require.Eventually(t, func() bool { return calls.Load() == 1 }, 15*time.Second, time.Millisecond)
	close(release)
	wg.Wait()
	require.LessOrEqual(t, calls.Load(), int32(8))
}

func TestCallsAreBounded(t *testing.T) {
	release, entered := make(chan struct{}), make(chan struct{}, 2)
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
		_, _ = io.WriteString(w, `{"tokens":[1]}`)
	}, engine.Options{MaxCalls: 2})
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { _, _ = c.Tokenize(t.Context(), fmt.Sprint(i)) })
	}
	<-entered
	<-entered
	_, err := c.Tokenize(t.Context(), "third")
	require.ErrorIs(t, err, engine.ErrBusy)
	close(release)
	wg.Wait()
}

func TestACallersDeadlineIsKept(t *testing.T) {
	left := make(chan struct{})
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(left)
	}, engine.Options{Timeout: time.Minute})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := c.Tokenize(ctx, "{}")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	select {
	case <-left:
	case <-time.After(15 * time.Second):
		t.Fatal("the call goes on with nobody waiting")
	}
}

func TestCloseEndsCalls(t *testing.T) {
	entered := make(chan struct{})
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(entered)
		<-r.Context().Done()
	}, engine.Options{Timeout: time.Minute})
	failed := make(chan error, 1)
	go func() {
		_, err := c.Tokenize(context.Background(), "{}")
		failed <- err
	}()
	<-entered
	c.Close()
	require.ErrorIs(t, <-failed, context.Canceled)
	_, err := c.Tokenize(t.Context(), "{}")
	require.ErrorIs(t, err, engine.ErrClosed)
}

func TestNoEngine(t *testing.T) {
	c := client(t, nil, engine.Options{BaseURL: func() (string, bool) { return "", false }})
	_, err := c.Tokenize(t.Context(), "{}")
	require.ErrorIs(t, err, engine.ErrNoEngine)
}
