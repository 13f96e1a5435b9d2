package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
)

// longStream asks for an answer that outlasts any test.
const longStream = `{"model":"m","stream":true,"max_tokens":8000,"messages":[{"role":"user","content":"hi"}]}`

// herd is a number of requests that are in flight together.
type herd struct {
	leave    func()       // the clients leave
	answered atomic.Int64 // requests whose answer has begun to arrive
	wg       sync.WaitGroup
	mu       sync.Mutex
	counts   map[string]int
}

// hold sends n requests with the body, all at once.
func (f *front) hold(n int, body string) *herd {
	ctx, cancel := context.WithCancel(context.Background())
	h := &herd{leave: cancel, counts: map[string]int{}}
	f.t.Cleanup(func() { cancel(); h.wg.Wait() })
	for range n {
		h.wg.Go(func() {
			key := f.follow(ctx, body, &h.answered)
			h.mu.Lock()
			defer h.mu.Unlock()
			h.counts[key]++
		})
	}
	return h
}

// outcomes waits for all requests and counts what became of them, in the words
// of rig.outcome.
func (h *herd) outcomes() map[string]int {
	h.wg.Wait()
	return h.counts
}

// follow sends one request and reads its answer to the end.
func (f *front) follow(ctx context.Context, body string, answered *atomic.Int64) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header = jsonHeader()
	resp, err := f.client.Do(req)
	if err != nil {
		return "cut"
	}
	defer resp.Body.Close()
	var first [1]byte
	if _, err := io.ReadFull(resp.Body, first[:]); err != nil {
		return "cut"
	}
	answered.Add(1)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "cut"
	}
	return nameOf(resp)
}

// leaveAfter opens a connection, sends the text and leaves. With await, it waits
// for that answer before it sends the rest. Every other client resets the
// connection instead of closing it.
func (f *front) leaveAfter(i int, head, await, rest string) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(15 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, head); err != nil {
		return err
	}
	if await != "" {
		got := make([]byte, len(await))
		if _, err := io.ReadFull(conn, got); err != nil {
			return err
		}
		if string(got) != await {
			return fmt.Errorf("the proxy answers %q, not %q", got, await)
		}
	}
	if _, err := io.WriteString(conn, rest); err != nil {
		return err
	}
	if i%2 == 0 {
		return conn.(*net.TCPConn).SetLinger(0)
	}
	return nil
}

// engineInflight counts the requests that are in the engines.
func (f *front) engineInflight() (n int) {
	for _, e := range f.fleet.Engines() {
		n += e.Counters().InFlight
	}
	return n
}

// toll is what the filter and the engines have counted.
type toll struct{ Routed, Released, Replaced, Received int64 }

func (f *front) toll() toll {
	t := toll{Routed: f.counter(countRouted), Released: f.counter(countReleased), Replaced: f.counter(countReplaced)}
	for _, e := range f.fleet.Engines() {
		t.Received += e.Counters().Received
	}
	return t
}

func (t toll) since(before toll) toll {
	return toll{t.Routed - before.Routed, t.Released - before.Released, t.Replaced - before.Replaced, t.Received - before.Received}
}

// requireSettled waits until nothing is in flight and the filter's books since
// before are closed: each routed request was released exactly once, and engines
// received each once, plus once for every request that the host's retry moved.
// The books must still say so several reports later.
func (f *front) requireSettled(before toll, routed, replaced int64) {
	f.t.Helper()
	want := toll{Routed: routed, Released: routed, Replaced: replaced, Received: routed + replaced}
	began := time.Now()
	f.awaitInflight(0)
	settled := time.Since(began)
	f.eventually(func() bool { return f.toll().since(before) == want && f.engineInflight() == 0 },
		"the books do not close: want %+v, got %v", want, lazy(func() string { return fmt.Sprintf("%+v", f.toll().since(before)) }))
	f.awaitSyncs()
	require.Equal(f.t, want, f.toll().since(before))
	counts, err := f.state.inflight()
	require.NoError(f.t, err)
	for id, n := range counts {
		require.Zero(f.t, n, "%s", id)
	}
	f.t.Logf("%+v, nothing in flight after %v", want, settled.Round(10*time.Millisecond))
}
