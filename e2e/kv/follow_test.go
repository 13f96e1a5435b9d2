// Package kv holds what a fake engine says of its prefix cache against what the state
// service makes of it: two implementations that share nothing but the wire.
package kv

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

const patience = 20 * time.Second

// follower subscribes to a fake engine and predicts its hits from what that says.
type follower struct {
	t       *testing.T
	engine  *fakes.Engine
	sub     zmq4.Socket
	index   *kvindex.Index
	decoder engine.Decoder
	next    uint64
	result  kvindex.Result
}

var owner = kvindex.Owner{Worker: "fake"}

func follow(t *testing.T, cfg fakes.Config) *follower {
	t.Helper()
	e, err := fakes.New(cfg)
	require.NoError(t, err)
	require.NoError(t, e.Start(""))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	f := &follower{t: t, engine: e, sub: zmq4.NewSub(ctx), index: kvindex.New(kvindex.Config{Seed: 1})}
	t.Cleanup(func() { cancel(); _ = f.sub.Close(); e.Stop() })
	require.NoError(t, f.sub.Dial(fmt.Sprint("tcp://127.0.0.1:", e.KVPorts().Events)))
	require.NoError(t, f.sub.SetOption(zmq4.OptionSubscribe, ""))
	feed, ok := e.Feed(0)
	require.True(t, ok)
	require.Eventually(t, func() bool { return feed.Subscribers() == 1 }, patience, time.Millisecond)
	f.next = feed.Next()
	return f
}

// catchUp applies everything that the engine has said. A request's last words come
// before its slot is free.
func (f *follower) catchUp() {
	f.t.Helper()
	require.Eventually(f.t, func() bool { l, _ := f.engine.Load(); return l.Running == 0 }, patience, time.Millisecond)
	feed, _ := f.engine.Feed(0)
	for f.next < feed.Next() {
		m, err := f.sub.Recv()
		require.NoError(f.t, err)
		live, err := engine.Live(m.Frames)
		require.NoError(f.t, err)
		require.EqualValues(f.t, f.next, live.Seq)
		var b kvevents.Batch
		require.NoError(f.t, f.decoder.Decode(live.Payload, &b))
		require.False(f.t, b.Dropped.Any())
		f.index.ApplyBatch(owner, &b)
		f.next++
	}
}

func (f *follower) predict(p kvindex.Prompt) int {
	f.index.Match(p, &f.result)
	for _, m := range f.result.Matches {
		if m.Owner == owner {
			return m.Tokens
		}
	}
	return 0
}

// ask sends a prompt of token ids and gives what the engine had of it.
func (f *follower) ask(p kvindex.Prompt, output int) int {
	f.t.Helper()
	body := map[string]any{"model": "demo", "prompt": p.Tokens, "max_tokens": output}
	if p.Salt != "" {
		body["cache_salt"] = p.Salt
	}
	if p.LoRA != "" {
		body["model"] = p.LoRA
	}
	var reply struct {
		Usage struct {
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	require.NoError(f.t, json.Unmarshal([]byte(f.post("/v1/completions", body)), &reply))
	return reply.Usage.Details.Cached
}

func (f *follower) post(path string, body any) string {
	f.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(f.t, err)
	resp, err := http.Post(f.engine.URL()+path, "application/json", strings.NewReader(string(text)))
	require.NoError(f.t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	require.NoError(f.t, err)
	require.Equal(f.t, http.StatusOK, resp.StatusCode, "%s", b)
	return string(b)
}

// prompts draws prompts that share beginnings, end within blocks and between them, and
// are of several tenants.
func prompts(seed uint64, adapters bool) func() kvindex.Prompt {
	random := rand.New(rand.NewPCG(seed, 1))
	return func() kvindex.Prompt {
		p := kvindex.Prompt{Tokens: make([]uint32, 1+random.IntN(150))}
		family, turn := uint32(1000*random.IntN(2)), len(p.Tokens)/2+random.IntN(len(p.Tokens)/2+1)
		for i := range p.Tokens {
			p.Tokens[i] = family + uint32(i)
			if i > turn {
				p.Tokens[i] += 300 * uint32(random.IntN(2))
			}
		}
		p.Salt = []string{"", "", "tenant-a", "tenant-b"}[random.IntN(4)]
		if adapters {
			p.LoRA = []string{"", "", "adapter"}[random.IntN(3)]
		}
		return p
	}
}

// What the index predicts from the events is what the engine finds, request by request,
// in both dialects and both encodings, through evictions, tiers and resets.
func TestFake_hitsArePredictedFromItsEvents(t *testing.T) {
	adapter := []fakes.Adapter{{Name: "adapter"}}
	for name, cfg := range map[string]fakes.Config{
		"vllm":        {Adapters: adapter, KV: &fakes.KVConfig{}},
		"vllm bytes":  {Adapters: adapter, KV: &fakes.KVConfig{ByteHashes: true, HashSeed: "0"}},
		"vllm arrays": {Adapters: adapter, Version: "0.22.1", KV: &fakes.KVConfig{Chunk: 64}},
		"vllm host":   {Adapters: adapter, KV: &fakes.KVConfig{HostBlocks: 60}},
		"sglang":      {Adapters: adapter, Dialect: fakes.SGLang, KV: &fakes.KVConfig{}},
		"sglang page": {Adapters: adapter, Dialect: fakes.SGLang, BlockSize: 1, KV: &fakes.KVConfig{Chunk: 64}},
		"sglang host": {Adapters: adapter, Dialect: fakes.SGLang, KV: &fakes.KVConfig{HostBlocks: 60}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg.KV.Publish = true
			if cfg.BlockSize == 0 {
				cfg.BlockSize = 16
			}
			cfg.MaxModelLen, cfg.KVBlocks = 240, 480/cfg.BlockSize
			f := follow(t, cfg)
			next, hits := prompts(7, true), 0
			for i := range 300 {
				p := next()
				f.catchUp()
				want := f.predict(p)
				require.Equal(t, want, f.ask(p, 1+i%40), "request %d", i)
				if want > 0 {
					hits++
				}
				if i == 150 {
					f.reset()
				}
			}
			require.Greater(t, hits, 20, "the test is about hits")
			require.Positive(t, f.index.Stats().Clears)
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

// reset empties the engine. It says so with its next step only, so one request comes in
// between that finds nothing whatever is predicted.
func (f *follower) reset() {
	f.t.Helper()
	f.catchUp()
	path := "/reset_prefix_cache"
	if f.engine.Config().Dialect == fakes.SGLang {
		path = "/flush_cache"
	}
	f.post(path, map[string]any{})
	f.catchUp()
	p := kvindex.Prompt{Tokens: make([]uint32, 40)}
	require.Zero(f.t, f.ask(p, 1))
}
