package pyzmq_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a state service that follows one publisher, told of it as vLLM tells.
type rig struct {
	*testing.T
	*publisher
	engine *enginetest.Engine
	url    string
}

func follow(t *testing.T, p *publisher, withReplay bool) *rig {
	t.Helper()
	r := &rig{T: t, publisher: p, engine: enginetest.Start(t)}
	replay := "null"
	if withReplay {
		replay = fmt.Sprintf("%q", r.replay())
	}
	r.engine.Set(func(s *enginetest.State) {
		s.Sources = fmt.Sprintf(`{"0":{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":%q,"replay_endpoint":%s,"topic":"kv-events"}}`, r.endpoint(), replay)
	})
	cfg, err := config.Parse([]byte(fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
health: {interval_ms: 50}
kv: {check_ms: 300, replay_timeout_ms: 500}
shutdown: {drain_ms: 0}
fleet: {static: [{id: e, address: %q}]}
`, r.engine.Address())), func(string) string { return "" })
	require.NoError(t, err)
	s, err := statesvc.New(cfg, statesvc.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(func() {
		require.NoError(t, s.Stop(context.Background()))
		http.DefaultClient.CloseIdleConnections()
	})
	r.url = "http://" + s.Addr()
	return r
}

func (r *rig) get(path string, into any) {
	r.Helper()
	resp, err := http.Get(r.url + path)
	require.NoError(r, err)
	defer resp.Body.Close()
	require.Equal(r, http.StatusOK, resp.StatusCode)
	require.NoError(r, json.NewDecoder(resp.Body).Decode(into))
}

// overview is the part of /v1/index that matters here.
type overview struct {
	Index struct {
		Blocks int
	}
	Engines []struct {
		Trust, Reason string
		Streams       []struct {
			Last   int
			Counts map[string]uint64
			Events map[string]uint64
		}
	}
}

func (r *rig) overview() overview {
	r.Helper()
	var o overview
	r.get("/v1/index", &o)
	return o
}

func (r *rig) eventually(what string, holds func(o overview) bool) {
	r.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		o := r.overview()
		if holds(o) {
			return
		}
		require.True(r, time.Now().Before(deadline), "%s: %+v", what, o)
		time.Sleep(10 * time.Millisecond)
	}
}

func (r *rig) trusts(trust, reason string) {
	r.Helper()
	r.eventually("trust "+trust+" for "+reason, func(o overview) bool {
		return len(o.Engines) == 1 && o.Engines[0].Trust == trust && (reason == "" || o.Engines[0].Reason == reason)
	})
}

// converges waits until everything that the publisher numbered is applied with full trust,
// and holds the index against the publisher's own cache.
func (r *rig) converges() {
	r.Helper()
	truth := r.do(`{"do":"truth","most":300}`)
	r.eventually(fmt.Sprintf("batch %d", truth.Next-1), func(o overview) bool {
		return len(o.Engines) == 1 && o.Engines[0].Trust == "full" && len(o.Engines[0].Streams) == 1 && o.Engines[0].Streams[0].Last == truth.Next-1
	})
	for _, p := range truth.Paths {
		require.Equal(r, p.Depth, r.depth(p.Tokens), "a prompt of %d tokens", len(p.Tokens))
	}
}

// depth is the blocks that the engine is known to hold of a prompt.
func (r *rig) depth(tokens []uint32) int {
	r.Helper()
	body, err := json.Marshal(map[string]any{"tokens": tokens})
	require.NoError(r, err)
	resp, err := http.Post(r.url+"/v1/index/match", "application/json", bytes.NewReader(body))
	require.NoError(r, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(r, err)
	require.Equal(r, http.StatusOK, resp.StatusCode, "%s", text)
	var list struct{ Matches []struct{ Blocks int } }
	require.NoError(r, json.Unmarshal(text, &list))
	if len(list.Matches) == 0 {
		return 0
	}
	return list.Matches[0].Blocks
}

// One life of a publisher with all that can befall it, in both forms of replays and both
// encodings of events.
func TestPyzmq_converges(t *testing.T) {
	for name, c := range map[string]struct {
		form      int
		arguments []string
	}{"maps, replays with topic": {4, nil}, "arrays, replays without": {3, []string{"--arrays"}}} {
		t.Run(name, func(t *testing.T) {
			r := follow(t, publish(t, c.arguments...), true)
			form := fmt.Sprintf(`{"form":%d}`, c.form)
			r.how(form)
			r.steps(200)
			r.converges()

			t.Log("dropped batches, in the middle and at the end")
			r.lose(20)
			r.steps(20)
			r.lose(5)
			r.converges()

			t.Log("killed and begun anew")
			r.kill()
			r.trusts("partial", "disconnected")
			r.start()
			r.how(form)
			r.steps(50)
			r.converges()

			t.Log("replays that are slow")
			r.how(`{"delay":0.02}`)
			r.lose(50)
			r.steps(5)
			r.converges()

			t.Log("replays that break off, and are answered again")
			r.how(`{"delay":0,"limit":3}`)
			r.lose(30)
			r.steps(1)
			r.trusts("partial", "")
			r.how(`{"limit":0}`)
			r.converges()

			t.Log("no replay at all, and the buffer is gone: only a clear helps")
			r.how(`{"mute":true}`)
			r.lose(10)
			r.do(`{"do":"forget","keep":0}`)
			r.steps(3)
			r.how(`{"mute":false}`)
			r.trusts("partial", "gap")
			r.do(`{"do":"clear"}`)
			r.steps(20)
			r.converges()
		})
	}
}

// A socket that asks for a sign of life gets one: the connection outlives its patience,
// of which the silence here is many times as long.
func TestPyzmq_heartbeat(t *testing.T) {
	r := follow(t, publish(t, "--heartbeat"), true)
	r.steps(5)
	r.converges()
	began := time.Now()
	r.eventually("a while of silence", func(overview) bool { return time.Since(began) > 1500*time.Millisecond })
	r.steps(5)
	r.converges()
	require.EqualValues(t, 1, r.overview().Engines[0].Streams[0].Counts["connects"])
}

func TestPyzmq_lateSubscriber(t *testing.T) {
	p := publish(t)
	p.steps(1000)
	r := follow(t, p, true)
	r.converges()
	r.steps(10)
	r.converges()
}

func TestPyzmq_withoutReplay(t *testing.T) {
	r := follow(t, publish(t), false)
	r.trusts("none", "no_feed")
	r.steps(100)
	r.converges()
	r.lose(3)
	r.steps(3)
	r.trusts("partial", "gap")
	r.do(`{"do":"clear"}`)
	r.converges()
	r.kill()
	r.trusts("partial", "disconnected")
	r.start()
	r.awaitSubscription()
	r.do(`{"do":"clear"}`)
	r.steps(50)
	r.converges()
}

// awaitSubscription publishes until something arrives: a PUB socket sends nothing to a
// subscriber whose subscription has not arrived.
func (r *rig) awaitSubscription() {
	r.Helper()
	before := r.overview().Engines[0].Streams[0].Counts["batches"]
	r.eventually("the first batch arrives", func(o overview) bool {
		r.steps(1)
		return o.Engines[0].Streams[0].Counts["batches"] > before
	})
}

// Messages that no engine would send, from a real socket.
func TestPyzmq_badMessages(t *testing.T) {
	r := follow(t, publish(t), true)
	r.steps(10)
	r.converges()
	topic, seq := hex.EncodeToString([]byte("kv-events")), strings.Repeat("00", 8)
	for _, frames := range []string{
		`"` + topic + `"`,
		`"` + topic + `","` + seq + `"`,
		`"` + topic + `","` + seq + `","00","00"`,
		`"` + topic + `","00","00"`,
		`"` + topic + `","` + strings.Repeat("80", 8) + `","00"`,
		`"` + topic + `","",""`,
	} {
		r.do(`{"do":"send","frames":[%s]}`, frames)
	}
	r.steps(1)
	r.converges()
	r.eventually("counted", func(o overview) bool {
		c := o.Engines[0].Streams[0].Counts
		return c["bad_frames"] == 3 && c["bad_sequence"] == 3
	})
	// Batches in order that make no sense: the stream goes on, less trusted.
	next := r.do(`{"do":"truth","most":0}`).Next
	for i, payload := range []string{"c1", "93cb", "", "a3666f6f"} {
		r.do(`{"do":"send","frames":["%s","%016x","%s"]}`, topic, next+i, payload)
	}
	r.eventually("counted", func(o overview) bool {
		e := o.Engines[0].Streams[0].Events
		return e["not_msgpack"]+e["not_batch"] >= 4
	})
	// The publisher does not know them: the next look at it finds a process that is
	// another, and what it has.
	r.converges()
}

// crawl is a sink that is much slower than its publisher.
type crawl struct{ batches, resets atomic.Int64 }

func (c *crawl) Reset() { c.resets.Add(1) }

func (c *crawl) Batch([]byte) zmqsub.Outcome {
	time.Sleep(100 * time.Microsecond)
	c.batches.Add(1)
	return zmqsub.Outcome{}
}

// fixtures/README.md trap 8: a replay of thousands of batches, through sockets with the
// usual high-water marks, to a reader that takes long for each.
func TestPyzmq_longReplayToASlowReader(t *testing.T) {
	p := publish(t)
	p.do(`{"do":"bulk","n":6000}`)
	sink := &crawl{}
	s := zmqsub.Open(zmqsub.Options{Endpoint: p.endpoint(), Replay: p.replay(), Sink: sink, Logger: slog.New(slog.DiscardHandler)})
	defer s.Close()
	deadline := time.Now().Add(time.Minute)
	for sink.batches.Load() < 6000 || s.Reason() != zmqsub.ReasonNone {
		require.True(t, time.Now().Before(deadline), "%+v", s.Status())
		time.Sleep(10 * time.Millisecond)
	}
	require.EqualValues(t, 5999, s.Status().Last)
	require.Zero(t, s.Status().Counts.Missing)
	require.Zero(t, sink.resets.Load())
	t.Logf("%+v", s.Status().Counts)
}
