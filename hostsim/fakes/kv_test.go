package fakes

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"github.com/tinylib/msgp/msgp"
)

// cachedBy is what a reply's usage says was found in the cache.
func cachedBy(t *testing.T, body string) int {
	t.Helper()
	v := gjson.Get(body, "usage.prompt_tokens_details.cached_tokens")
	require.True(t, v.Exists(), body)
	return int(v.Int())
}

func ids(from, n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(from + i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func completion(prompt string, more ...string) string {
	return `{"model":"demo","max_tokens":1,"prompt":` + prompt + strings.Join(more, "") + `}`
}

func TestKV_cachedTokensFollowTheLastTokenRule(t *testing.T) {
	for _, d := range []Dialect{VLLM, SGLang} {
		s := start(t, Config{Dialect: d, KV: &KVConfig{}})
		for i, c := range []struct {
			body string
			want int
		}{
			{completion(ids(1, 48)), 0},
			{completion(ids(1, 48)), 32},
			{completion(ids(1, 49)), 48},
			{completion(ids(1, 33)), 32},
			{completion(ids(1, 16)), 0},
			{completion(ids(2, 48)), 0},
			{completion(ids(1, 49), `,"cache_salt":"a"`), 0},
			{completion(ids(1, 49), `,"cache_salt":"a"`), 48},
			{completion(ids(1, 49), `,"cache_salt":"b"`), 0},
		} {
			found, err := s.Find(completionPath, []byte(c.body))
			require.NoError(t, err)
			require.Equal(t, []int{c.want}, found, "%s, request %d, asked before", d, i)
			require.Equal(t, c.want, cachedBy(t, s.post(completionPath, c.body).body), "%s, request %d", d, i)
		}
		require.Equal(t, 400, s.post(completionPath, completion(ids(1, 9), `,"cache_salt":""`)).status)
		require.Equal(t, "null", gjson.Get(start(t, Config{Dialect: d}).post(completionPath, completion(ids(1, 9))).body,
			"usage.prompt_tokens_details").Raw)
	}
}

// A chat that goes on finds what it said and what it was answered.
func TestKV_chatThatGoesOnHitsItsOwnAnswer(t *testing.T) {
	s := start(t, Config{KV: &KVConfig{}, BlockSize: 4, Adapters: []Adapter{{Name: "lora"}}})
	first := `{"role":"user","content":"hear me out now on that long tale"}`
	body := func(model, messages string) string {
		return `{"model":"` + model + `","max_tokens":20,"messages":[` + messages + `]}`
	}
	answer := gjson.Get(s.post(chatPath, body("demo", first)).body, "choices.0.message.content").Raw
	second := first + `,{"role":"assistant","content":` + answer + `},{"role":"user","content":"go on"}`
	tokens := len(gjson.Get(s.post("/tokenize", body("demo", first)).body, "tokens").Array())
	got := cachedBy(t, s.post(chatPath, body("demo", second)).body)
	require.Equal(t, (tokens+19)/4*4, got, "prompt and answer, but for its last token")
	require.Zero(t, cachedBy(t, s.post(chatPath, body("lora", second)).body), "an adapter has a cache of its own")
}

func TestKV_tokenizeIsWhatIsCounted(t *testing.T) {
	for _, d := range []Dialect{VLLM, SGLang} {
		s := start(t, Config{Dialect: d, KV: &KVConfig{}})
		chat := `{"model":"demo","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"hello there"},{"type":"image_url","image_url":{"url":"x"}}]}],"tools":[{"a":1}]}`
		listed := gjson.Get(s.post("/tokenize", chat).body, "count").Int()
		require.Equal(t, gjson.Get(s.post(chatPath, chat).body, "usage.prompt_tokens").Int(), listed)
		closed := strings.Replace(chat, `{`, `{"add_generation_prompt":false,`, 1)
		require.Equal(t, listed-replyOverhead, gjson.Get(s.post("/tokenize", closed).body, "count").Int())
	}
}

func TestKV_missingPrefillTimeIsSpentOnly(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	s := start(t, Config{Clock: clock, PrefillPerToken: time.Second, KV: &KVConfig{Chunk: 40}})
	step := func(body string, seconds ...int) {
		answer := s.background(t.Context(), completionPath, body)
		for _, n := range seconds {
			await(t, "prefill begins", func() bool { return clock.Sleepers() == 1 })
			clock.Advance(time.Duration(n)*time.Second - time.Millisecond)
			require.Equal(t, 1, clock.Sleepers())
			clock.Advance(time.Millisecond)
		}
		require.Equal(t, 200, take(t, answer).status)
	}
	step(completion(ids(1, 100)), 40, 40, 20)
	step(completion(ids(1, 100)), 4)
	require.Contains(t, s.get("/metrics").body, `vllm:prefix_cache_hits_total{engine="0",model_name="demo"} 96`)
	require.Contains(t, s.get("/metrics").body, `enable_prefix_caching="True"`)
}

func TestKV_resetAndFlush(t *testing.T) {
	for d, paths := range map[Dialect][]string{VLLM: {"/reset_prefix_cache"}, SGLang: {"/flush_cache"}} {
		s, clock := slow(t, Config{Dialect: d, KV: &KVConfig{}})
		running := s.background(t.Context(), completionPath, completion(ids(1, 40)))
		await(t, "prefill begins", func() bool { return clock.Sleepers() == 1 })
		for _, path := range paths {
			refused := s.post(path, "")
			if d == VLLM {
				require.JSONEq(t, `{"success":false}`, refused.body)
			} else {
				require.Equal(t, 400, refused.status)
			}
			clock.Advance(time.Hour)
			require.Equal(t, 200, take(t, running).status)
			require.Equal(t, 200, s.post(path, "").status)
		}
		again := s.background(t.Context(), completionPath, completion(ids(1, 40)))
		await(t, "prefill begins", func() bool { return clock.Sleepers() == 1 })
		clock.Advance(time.Hour)
		require.Zero(t, cachedBy(t, take(t, again).body))
		require.Equal(t, 404, start(t, Config{Dialect: d}).post(paths[0], "").status)
	}
}

func TestKV_generateHasACacheToo(t *testing.T) {
	s := start(t, Config{Dialect: SGLang, KV: &KVConfig{}, BlockSize: 4})
	body := `{"input_ids":` + ids(1, 20) + `,"sampling_params":{"max_new_tokens":9}}`
	first := s.post("/generate", body).body
	require.EqualValues(t, 0, gjson.Get(first, "meta_info.cached_tokens").Int())
	answer := gjson.Get(first, "output_ids").Raw
	longer := `{"input_ids":` + strings.TrimSuffix(ids(1, 20), "]") + "," + strings.TrimPrefix(answer, "[") + `}`
	require.EqualValues(t, 28, gjson.Get(s.post("/generate", longer).body, "meta_info.cached_tokens").Int())
}

func TestKV_configProblems(t *testing.T) {
	_, err := New(Config{KV: &KVConfig{HostBlocks: -1, Chunk: -1, Buffer: -1, Load: true}, Version: "new"})
	for _, want := range []string{"kv.host_blocks", "kv.chunk", "kv.buffer", "kv.load: only SGLang", "not a version"} {
		require.ErrorContains(t, err, want)
	}
	_, err = New(Config{Dialect: SGLang, KV: &KVConfig{ByteHashes: true}})
	require.ErrorContains(t, err, "SGLang has neither")
}

// listen subscribes to a port and is known to its publisher.
func listenTo(t *testing.T, s *site, port, rank int) zmq4.Socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	sub := zmq4.NewSub(ctx)
	t.Cleanup(func() { cancel(); _ = sub.Close() })
	require.NoError(t, sub.Dial(fmt.Sprint("tcp://127.0.0.1:", port+rank)))
	require.NoError(t, sub.SetOption(zmq4.OptionSubscribe, ""))
	if feed, ok := s.Feed(rank); ok && port == s.KVPorts().Events {
		await(t, "subscribed", func() bool { return feed.Subscribers() == 1 })
	}
	return sub
}

// batch receives one message and reads its payload as JSON.
func batch(t *testing.T, sub zmq4.Socket) (topic string, seq int64, payload gjson.Result) {
	t.Helper()
	m, err := sub.Recv()
	require.NoError(t, err)
	require.Len(t, m.Frames, 3)
	var text strings.Builder
	_, err = msgp.UnmarshalAsJSON(&text, m.Frames[2])
	require.NoError(t, err)
	return string(m.Frames[0]), int64(binary.BigEndian.Uint64(m.Frames[1])), gjson.Parse(text.String())
}

func kinds(payload gjson.Result) (list []string) {
	for _, e := range payload.Get("1").Array() {
		list = append(list, fmt.Sprint(e.Get("type").Str, len(e.Get("block_hashes").Array())))
	}
	return list
}

func TestKV_publishesWhatItDoes(t *testing.T) {
	s := start(t, Config{Ranks: 2, KV: &KVConfig{Publish: true}})
	ports := s.KVPorts()
	one := listenTo(t, s, ports.Events, 1)
	post := func(body string) {
		require.Equal(t, 200, s.post(completionPath, body, "X-Data-Parallel-Rank", "1").status)
	}
	post(completion(ids(1, 40)))
	topic, seq, payload := batch(t, one)
	require.Equal(t, "kv-events", topic)
	require.Zero(t, seq)
	require.Equal(t, []string{"BlockStored2"}, kinds(payload))
	require.EqualValues(t, 1, payload.Get("2").Int())

	post(completion(ids(1, 40))) // a hit without a new block says nothing
	require.Equal(t, 200, s.post("/reset_prefix_cache", "").status)
	require.Equal(t, 200, s.post("/reset_prefix_cache", "").status)
	post(completion(ids(1, 16)))
	_, seq, payload = batch(t, one)
	require.EqualValues(t, 1, seq)
	require.Equal(t, []string{"AllBlocksCleared0", "AllBlocksCleared0", "BlockStored1"}, kinds(payload), "late")

	sources := gjson.Parse(s.get("/kv_event_sources").body)
	require.Equal(t, fmt.Sprintf("tcp://*:%d", ports.Events+1), sources.Get("1.endpoint").Str)
	require.Equal(t, fmt.Sprintf("tcp://*:%d", ports.Replay), sources.Get("0.replay_endpoint").Str)
	require.EqualValues(t, 10_000, sources.Get("0.buffer_steps").Int())
}

func TestKV_aRestartBeginsAnewOnTheSamePorts(t *testing.T) {
	s := start(t, Config{Dialect: SGLang, KV: &KVConfig{Publish: true, NoReplay: true}})
	ports := s.KVPorts()
	require.Zero(t, ports.Replay)
	s.post(completionPath, completion(ids(1, 40)))
	s.Stop()
	_, ok := s.Feed(0)
	require.False(t, ok)
	require.NoError(t, s.Start(""))
	require.Equal(t, ports, s.KVPorts())
	sub := listenTo(t, s, ports.Events, 0)
	require.Zero(t, cachedBy(t, s.post(completionPath, completion(ids(1, 40))).body))
	_, seq, payload := batch(t, sub)
	require.Zero(t, seq)
	require.Equal(t, []string{"AllBlocksCleared0", "BlockStored2"}, kinds(payload), "a new tree says so first")
	info := gjson.Get(s.get("/server_info").body, "kv_events")
	require.EqualValues(t, ports.Events, info.Get("endpoint_port_base").Int())
	require.Equal(t, "*", info.Get("endpoint_host").Str)
	require.False(t, info.Get("replay_endpoint_port_base").Exists())
	require.EqualValues(t, 16, info.Get("block_size").Int())
}

func TestKV_slowStart(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	s := start(t, Config{Clock: clock, KV: &KVConfig{Publish: true, StartAfter: time.Minute}})
	port := s.KVPorts().Events
	_, err := dial(t, fmt.Sprint("127.0.0.1:", port))
	require.Error(t, err)
	s.post(completionPath, completion(ids(1, 40)))
	await(t, "it waits", func() bool { return clock.Sleepers() == 1 })
	clock.Advance(time.Minute)
	await(t, "it opens", func() bool {
		c, err := dial(t, fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			clock.Advance(retry)
			return false
		}
		return c.Close() == nil
	})
	feed, _ := s.Feed(0)
	require.EqualValues(t, 1, feed.Next(), "what came before is numbered")
}

func TestKV_loadFrames(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	s := start(t, Config{Dialect: SGLang, Clock: clock, PrefillBase: time.Hour, KV: &KVConfig{Load: true, Publish: true}})
	sub := listenTo(t, s, s.KVPorts().Load, 0)
	await(t, "subscribed", func() bool { return s.proc.Load().kv.ranks[0].load.Subscribers() == 1 })
	answer := s.background(t.Context(), completionPath, completion(ids(1, 40)))
	await(t, "the request and the load tick sleep", func() bool { return clock.Sleepers() == 2 })
	clock.Advance(loadTick)
	for _, why := range []string{"at once", "as a heartbeat"} {
		topic, _, payload := batch(t, sub)
		require.Equal(t, "load", topic)
		require.Equal(t, `["LoadStat",1,0,40,131072,0,0,40,16,0,3600000000]`, payload.Raw, why)
		await(t, "the load tick sleeps", func() bool { return clock.Sleepers() == 2 })
		clock.Advance(loadHeartbeat)
	}
	clock.Advance(time.Hour)
	require.Equal(t, 200, take(t, answer).status)
}

func TestKV_hostTierIsAnnounced(t *testing.T) {
	for d, want := range map[Dialect][]string{
		VLLM:   {"stored GPU 2 32", "stored CPU 2 0"},
		SGLang: {"cleared  0 0", "stored GPU 2 32", "stored CPU_PINNED 2 32"},
	} {
		s := start(t, Config{Dialect: d, KV: &KVConfig{Publish: true, HostBlocks: 10}})
		sub := listenTo(t, s, s.KVPorts().Events, 0)
		s.post(completionPath, completion(ids(1, 40)))
		_, _, payload := batch(t, sub)
		var got []string
		for _, e := range payload.Get("1").Array() {
			kind := map[string]string{"BlockStored": "stored", "AllBlocksCleared": "cleared"}[e.Get("type").Str]
			got = append(got, fmt.Sprint(kind, " ", e.Get("medium").Str, " ", len(e.Get("block_hashes").Array()), " ", len(e.Get("token_ids").Array())))
		}
		require.Equal(t, want, got)
	}
}

func TestKV_oldReleasesSayItTheirWay(t *testing.T) {
	s := start(t, Config{Version: "0.22.1", KV: &KVConfig{Publish: true}})
	sub := listenTo(t, s, s.KVPorts().Events, 0)
	body := s.post(completionPath, completion(ids(1, 40))).body
	require.Equal(t, "null", gjson.Get(body, "usage.prompt_tokens_details").Raw, "nothing cached, nothing said")
	_, _, payload := batch(t, sub)
	require.Equal(t, "BlockStored", payload.Get("1.0.0").Str, "an array")
	require.Equal(t, http.StatusNotFound, s.get("/kv_event_sources").status)
}
