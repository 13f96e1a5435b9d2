package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

// service is a state service that knows nothing of its engines but their addresses.
type service struct {
	*testing.T
	url string
}

func serve(t *testing.T, engines map[string]*fakes.Engine) *service {
	t.Helper()
	text := "version: 1\nlisten: 127.0.0.1:0\nhealth: {interval_ms: 50}\nload: {interval_ms: 50}\nintrospect: {interval_ms: 200}\n" +
		"kv: {check_ms: 300}\nshutdown: {drain_ms: 0}\nfleet:\n  static:\n"
	for name, e := range engines {
		text += fmt.Sprintf("    - {id: %s, address: %q}\n", name, e.Addr())
	}
	cfg, err := config.Parse([]byte(text), func(string) string { return "" })
	require.NoError(t, err)
	s, err := statesvc.New(cfg, statesvc.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	return &service{T: t, url: "http://" + s.Addr()}
}

// get reads a page of the service.
func (s *service) get(path string, into any) {
	s.Helper()
	resp, err := http.Get(s.url + path)
	require.NoError(s, err)
	defer resp.Body.Close()
	require.Equal(s, http.StatusOK, resp.StatusCode)
	require.NoError(s, json.NewDecoder(resp.Body).Decode(into))
}

// applied waits until all that an engine has said is in the index, with full trust.
func (s *service) applied(name string, e *fakes.Engine) {
	s.Helper()
	require.Eventually(s, func() bool { l, _ := e.Load(); return l.Running == 0 }, patience, time.Millisecond)
	feed, ok := e.Feed(0)
	require.True(s, ok)
	var view struct {
		Engines []struct {
			Trust, Reason string
			Streams       []struct{ Last int64 }
		}
	}
	deadline := time.Now().Add(patience)
	for {
		s.get("/v1/index?worker="+name, &view)
		if v := view.Engines[0]; v.Trust == "full" && v.Streams[0].Last == int64(feed.Next())-1 {
			return
		}
		require.True(s, time.Now().Before(deadline), "%s: %+v of %d", name, view, feed.Next())
		time.Sleep(2 * time.Millisecond)
	}
}

// predict is the tokens of a prompt that the service believes an engine to hold.
func (s *service) predict(name string, p kvindex.Prompt) int {
	s.Helper()
	body, err := json.Marshal(map[string]any{"tokens": p.Tokens, "salt": p.Salt, "lora": p.LoRA})
	require.NoError(s, err)
	resp, err := http.Post(s.url+"/v1/index/match", "application/json", bytes.NewReader(body))
	require.NoError(s, err)
	defer resp.Body.Close()
	require.Equal(s, http.StatusOK, resp.StatusCode)
	var list struct {
		Matches []struct {
			Worker string
			Tokens int
		}
	}
	require.NoError(s, json.NewDecoder(resp.Body).Decode(&list))
	for _, m := range list.Matches {
		if m.Worker == name {
			return m.Tokens
		}
	}
	return 0
}

// The service finds the sockets of a vLLM and an SGLang by asking, follows both, loses
// messages and a process with them, and knows of every request what it will hit.
func TestService_knowsWhatEnginesHold(t *testing.T) {
	engines := map[string]*fakes.Engine{}
	for name, cfg := range map[string]fakes.Config{
		"vllm":   {KV: &fakes.KVConfig{Publish: true}},
		"sglang": {Dialect: fakes.SGLang, KV: &fakes.KVConfig{Publish: true, Load: true}},
	} {
		cfg.BlockSize, cfg.MaxModelLen, cfg.KVBlocks = 16, 240, 30
		e, err := fakes.New(cfg)
		require.NoError(t, err)
		require.NoError(t, e.Start(""))
		t.Cleanup(e.Stop)
		engines[name] = e
	}
	s := serve(t, engines)
	for name, e := range engines {
		f := &follower{t: t, engine: e}
		next, hits := prompts(11, false), 0
		for i := range 80 {
			if i == 40 {
				address := e.Addr()
				e.Stop()
				require.NoError(t, e.Start(address))
			}
			p := next()
			s.applied(name, e)
			want := s.predict(name, p)
			require.Equal(t, want, f.ask(p, 1+i%40), "%s, request %d", name, i)
			if want > 0 {
				hits++
			}
		}
		require.Greater(t, hits, 10, name)
	}
	var list struct {
		Workers []struct {
			ID   string
			Load map[string]uint64
		}
	}
	require.Eventually(t, func() bool {
		s.get("/v1/workers", &list)
		for _, w := range list.Workers {
			if w.ID == "sglang" {
				_, native := w.Load["waiting_uncached"]
				return native
			}
		}
		return false
	}, patience, 10*time.Millisecond, "load frames of SGLang")
}
