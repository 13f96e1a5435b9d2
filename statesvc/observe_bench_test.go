package statesvc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	gosync "sync"
	"syscall"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
	"github.com/stretchr/testify/require"
	"github.com/tinylib/msgp/msgp"
)

// observers is how many callers have a call open at a time.
const observers = 4

// BenchmarkObserve is /v1/observe of a whole service over loopback, as four filters call
// it: tokens with the tokenizer of qwen3, and a match in the index of an engine's KV
// events. cpu-us/call is the processor time of this process, the callers' part, which
// is small, included.
//
//	cold     no text was seen before
//	known    the conversation is known but for its last, short message
//	growing  a chat from its first turn to its last, turns of 1 KB
//
// BenchmarkObserve_stream is the same over a stream of each filter.
func BenchmarkObserve(b *testing.B) {
	stage := newObserving(b)
	chats(b, []int{4 << 10, 128 << 10}, func(b *testing.B, bodies func(caller int) func() string) {
		stage.measure(b, bodies, stage.message, stage.call)
	})
}

// chats measures calls with the bodies of each kind.
func chats(b *testing.B, sizes []int, measure func(b *testing.B, bodies func(caller int) func() string)) {
	for _, size := range sizes {
		for _, kind := range []struct {
			name  string
			calls func(caller, size int) func() string
		}{{"cold", coldChats}, {"known", knownChat}, {"growing", growingChats}} {
			b.Run(fmt.Sprintf("%dKB/%s", size>>10, kind.name), func(b *testing.B) {
				measure(b, func(caller int) func() string { return kind.calls(caller, size) })
			})
		}
	}
}

// observing is a service that knows a tokenizer and one engine's cache.
type observing struct{ addr, header string }

func newObserving(b testing.TB) *observing {
	b.Helper()
	dir := filepath.Dir(tokenizetest.File(b, "qwen3", "tokenizer.json"))
	events, engine := zmqtest.Start(b, "kv"), enginetest.Start(b)
	engine.Set(func(s *enginetest.State) { s.Models = enginetest.Models("m") })
	s := start(b, fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
shutdown: {drain_ms: 0}
fleet: {static: [{id: e1, address: %q, models: [m], kv: {events: %q, replay: %q, topic: kv}}]}
tokenize: {models: {m: {dir: %q, engine: vllm, trust: true}}}
`, engine.Address(), events.Endpoint(), events.Replay(), dir))
	o := &observing{addr: s.Addr(), header: observeHeader(10_000)}
	for deadline := time.Now().Add(20 * time.Second); events.Subscribers() == 0; time.Sleep(time.Millisecond) {
		require.True(b, time.Now().Before(deadline))
	}
	events.Publish(holding(tokensOf(b, dir, sharedChat(128<<10))))
	question := knownChat(0, 128<<10)()
	for deadline := time.Now().Add(20 * time.Second); !o.hits(b, question); time.Sleep(10 * time.Millisecond) {
		require.True(b, time.Now().Before(deadline), "the index does not hear of the engine's cache")
	}
	return o
}

// observeHeader asks for tokens and the index, to be answered in so many milliseconds.
func observeHeader(timeout uint32) string {
	return base64.RawURLEncoding.EncodeToString(wire.AppendObserveRequest(nil, &wire.ObserveRequest{
		Context: 1, Model: "m", Asked: "m", Path: "/v1/chat/completions", TimeoutMillis: timeout, Tokens: true, Sources: []string{"local"},
	}))
}

// ask makes one call, whose answer has to be one.
func (o *observing) ask(b testing.TB, header, body string) *wire.ObserveReply {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+o.addr+wire.ObservePath, strings.NewReader(body))
	require.NoError(b, err)
	req.Header.Set("Content-Type", wire.ContentType)
	req.Header.Set(wire.ObserveHeader, header)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(b, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(b, err)
	require.Equal(b, http.StatusOK, resp.StatusCode, "%s", text)
	reply, err := wire.DecodeObserveReply(text)
	require.NoError(b, err)
	return reply
}

// hits reports whether an answer has the tokens and an engine that holds some.
func (o *observing) hits(b testing.TB, body string) bool {
	b.Helper()
	reply := o.ask(b, o.header, body)
	return reply.Tokens.Known && len(reply.Lookups) == 1 && reply.Lookups[0].Outcome == wire.LookupHit
}

// measure lets every caller send its share of the calls, and reports what they took.
func (o *observing) measure(b *testing.B, bodies func(caller int) func() string, message func(body string) []byte, call func(*testing.B, [][]byte) []time.Duration) {
	messages := make([][][]byte, observers)
	for i := range messages {
		next := bodies(i)
		for range (b.N + observers - 1) / observers {
			messages[i] = append(messages[i], message(next()))
		}
	}
	times := make([][]time.Duration, observers)
	var callers gosync.WaitGroup
	b.ResetTimer()
	before := cpuTime(b)
	for i := range observers {
		callers.Go(func() { times[i] = call(b, messages[i]) })
	}
	callers.Wait()
	spent := cpuTime(b) - before
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(times...)))
	b.ReportMetric(float64(spent.Nanoseconds())/1e3/float64(len(all)), "cpu-us/call")
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds())/1e3, "p50-us")
	b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds())/1e3, "p99-us")
}

func (o *observing) message(body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nhost: x\r\ncontent-type: %s\r\n%s: %s\r\ncontent-length: %d\r\n\r\n%s",
		wire.ObservePath, wire.ContentType, wire.ObserveHeader, o.header, len(body), body)
}

// call sends messages over one connection. A failure ends it.
func (o *observing) call(b *testing.B, messages [][]byte) (times []time.Duration) {
	c, err := net.Dial("tcp", o.addr)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	for _, message := range messages {
		began := time.Now()
		if _, err = c.Write(message); err == nil {
			err = good(r)
		}
		if err != nil {
			b.Error(err)
			return times
		}
		times = append(times, time.Since(began))
	}
	return times
}

func good(r *bufio.Reader) error {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return err
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// turnBytes is the size of a message.
const turnBytes = 1 << 10

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func chatOf(messages []chatMessage) string {
	text, _ := json.Marshal(map[string]any{"model": "m", "messages": messages}) // text always encodes
	return string(text)
}

// turn is a message that nothing else is like.
func turn(r *rand.Rand, i int) chatMessage {
	words := strings.Fields("where the long river bends north a keeper counts boats each morning and writes their names into the harbour book before noon")
	var b bytes.Buffer
	for fmt.Fprintf(&b, "%d. ", r.Uint64()); b.Len() < turnBytes; {
		b.WriteString(words[r.IntN(len(words))] + " ")
	}
	return chatMessage{[]string{"user", "assistant"}[i%2], b.String()[:turnBytes]}
}

func turnsOf(r *rand.Rand, size int) (list []chatMessage) {
	for i := range max(1, size/turnBytes) {
		list = append(list, turn(r, i))
	}
	return list
}

func coldChats(caller, size int) func() string {
	r := rand.New(rand.NewPCG(uint64(caller), uint64(time.Now().UnixNano())))
	return func() string { return chatOf(turnsOf(r, size)) }
}

// sharedChat is what all known chats begin with.
func sharedChat(size int) []chatMessage { return turnsOf(rand.New(rand.NewPCG(1, 1)), size) }

func knownChat(caller, size int) func() string {
	list, n := sharedChat(size-turnBytes), 0
	return func() string {
		n++
		return chatOf(append(slices.Clip(list), chatMessage{"user", fmt.Sprintf("Question %d of %d?", n, caller)}))
	}
}

func growingChats(caller, size int) func() string {
	r := rand.New(rand.NewPCG(uint64(caller), uint64(time.Now().UnixNano())))
	var list []chatMessage
	return func() string {
		if len(list) >= size/turnBytes {
			list = nil
		}
		list = append(list, turn(r, 0))
		body := chatOf(list)
		list = append(list, turn(r, 1))
		return body
	}
}

// tokensOf are a chat's tokens.
func tokensOf(b testing.TB, dir string, messages []chatMessage) []uint32 {
	b.Helper()
	local, err := tokenize.OpenLocal(dir, render.VLLM, 0)
	require.NoError(b, err)
	m := tokenize.New(tokenize.Options{Name: "m", Local: local, Trust: true, SampleEvery: -1})
	defer m.Close()
	t, err := m.Tokens(context.Background(), chat.DialectChat, chatOf(messages))
	require.NoError(b, err)
	return t.IDs
}

// holding is a batch of events that stores tokens in blocks of 16 (vLLM's map form).
func holding(tokens []uint32) []byte {
	const block = 16
	blocks := len(tokens) / block
	out := msgp.AppendArrayHeader(nil, 2)
	out = msgp.AppendArrayHeader(msgp.AppendFloat64(out, 1), 1)
	out = msgp.AppendMapHeader(out, 5)
	out = msgp.AppendString(msgp.AppendString(out, "type"), "BlockStored")
	out = msgp.AppendArrayHeader(msgp.AppendString(out, "block_hashes"), uint32(blocks))
	for i := range blocks {
		out = msgp.AppendUint64(out, uint64(i)+1)
	}
	out = msgp.AppendNil(msgp.AppendString(out, "parent_block_hash"))
	out = msgp.AppendArrayHeader(msgp.AppendString(out, "token_ids"), uint32(blocks*block))
	for _, t := range tokens[:blocks*block] {
		out = msgp.AppendUint32(out, t)
	}
	return msgp.AppendInt(msgp.AppendString(out, "block_size"), block)
}
