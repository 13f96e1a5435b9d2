package e2e

import (
	"bufio"
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

func fireEngines(n int) []fakes.Config {
	return fakes.Replicate(fakes.Config{
		Models: []string{"m"}, MaxModelLen: 1 << 20, Slots: 256,
		PrefillBase: 10 * time.Millisecond, DecodePerToken: time.Millisecond,
	}, n)
}

// load keeps clients busy with short chats until stop, and counts the answers by
// status and code.
type load struct {
	stop   func()
	counts func() map[string]int
}

func (r *rig) load(clients int) *load {
	ctx, cancel := context.WithCancel(context.Background())
	var (
		mu     sync.Mutex
		counts = map[string]int{}
		wg     sync.WaitGroup
	)
	for range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				key := r.outcome(chatBody("m", 50))
				mu.Lock()
				counts[key]++
				mu.Unlock()
			}
		})
	}
	stop := sync.OnceFunc(func() { cancel(); wg.Wait() })
	r.t.Cleanup(stop)
	return &load{stop: stop, counts: func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(counts)
	}}
}

// outcome sends a chat and names what became of it: "ok", the router's code, the
// status of any other refusal, or "cut" for an answer that broke off.
func (r *rig) outcome(body string) string {
	req, err := http.NewRequest(http.MethodPost, r.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header = jsonHeader()
	resp, err := r.client.Do(req)
	if err != nil {
		return "cut"
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return "cut"
	}
	return nameOf(resp)
}

// nameOf names a whole answer: "ok", the router's code, or the status of any
// other refusal.
func nameOf(resp *http.Response) string {
	switch code := resp.Header.Get("x-router-error-code"); {
	case resp.StatusCode == http.StatusOK:
		return "ok"
	case code != "":
		return code
	}
	return resp.Status
}

// With transport_retry an engine that is killed under load costs no request
// whose answer had not begun.
func TestDeath_with_transport_retry_costs_nothing(t *testing.T) {
	for _, version := range envoytest.Versions() {
		t.Run(version, func(t *testing.T) {
			h := host{version, version, envoytest.OverrideHost}
			r := newRig(t, h, setup{engines: fireEngines(4), filter: allModels, extra: `"transport_retry":true,`})
			l := r.load(16)
			for range 3 {
				r.eventually(func() bool { return r.engine(2).Counters().Received > 20 }, "no load")
				r.engine(2).Stop()
				r.eventually(func() bool { return !r.state.workers()["engine-2"].Healthy }, "not found down")
				require.NoError(t, r.engine(2).Start(""))
				r.eventually(func() bool { return r.state.workers()["engine-2"].Healthy }, "not found up")
				r.engine(2).Reset()
				r.eventually(func() bool { return r.engine(2).Counters().Received > 0 }, "a restarted engine serves nothing")
			}
			l.stop()
			counts := l.counts()
			require.Len(t, counts, 1, "%v", counts)
			require.Positive(t, counts["ok"])
			r.awaitInflight(0)
		})
	}
}

// A stream whose engine dies ends as a broken one.
func TestDeath_mid_stream_is_not_a_clean_end(t *testing.T) {
	for _, h := range hosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fireEngines(2), filter: allModels, extra: retryWhere(h)})
			for _, e := range r.fleet.Engines() {
				e.CutMidStream(5)
			}
			req, err := http.NewRequest(http.MethodPost, r.url+"/v1/chat/completions",
				strings.NewReader(`{"model":"m","stream":true,"max_tokens":50,"messages":[{"role":"user","content":"hi"}]}`))
			require.NoError(t, err)
			resp, err := r.client.Do(req)
			require.NoError(t, err)
			defer resp.Body.Close()
			require.Equal(t, http.StatusOK, resp.StatusCode)
			lines := bufio.NewScanner(resp.Body)
			for lines.Scan() {
				require.NotEqual(t, "data: [DONE]", lines.Text(), "an end was made up")
			}
			require.Error(t, lines.Err(), "the stream ended as if it were whole")
			r.awaitInflight(0)
		})
	}
}

func retryWhere(h host) string {
	if h.bootstrap == envoytest.OverrideHost {
		return `"transport_retry":true,`
	}
	return ""
}

// An engine that accepts and never answers, its health page included, gets no
// new request once the state service has seen three seconds of silence.
func TestDeath_a_hung_engine_is_left_alone(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fireEngines(3), filter: allModels})
			hung := r.engine(1)
			hung.Hang(fakes.HangEverything)
			began := time.Now()
			l := r.load(8) // all of them get stuck on the hung engine in time
			r.eventually(func() bool { return !r.state.workers()["engine-1"].Healthy }, "the hang is not seen")
			t.Logf("hang seen after %v", time.Since(began).Round(10*time.Millisecond))
			r.eventually(func() bool {
				before := hung.Counters().Received
				for range 30 {
					if !r.answeredWithin(time.Second) {
						return false
					}
				}
				return hung.Counters().Received == before
			}, "new requests go to a hung engine")
			require.NoError(t, hung.Heal())
			l.stop()
			require.Len(t, l.counts(), 1, "%v", l.counts())
			r.awaitInflight(0)
		})
	}
}

// answeredWithin sends a chat and reports whether it was answered in time.
func (r *rig) answeredWithin(limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/chat/completions", strings.NewReader(chatBody("m", 50)))
	require.NoError(r.t, err)
	req.Header = jsonHeader()
	resp, err := r.client.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// An engine that fails fast has the fewest requests in flight and must not
// attract them for that (field reports A30, B06).
func TestDeath_a_fast_failing_engine_attracts_nothing(t *testing.T) {
	const p2c = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two"}}}}]}}`
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fireEngines(4), filter: p2c})
			r.engine(0).Status(http.StatusInternalServerError, 0)
			counts := many(400, 8, func(int) string { return r.outcome(chatBody("m", 50)) })
			// Three failures open the breaker; requests sent meanwhile fail too.
			require.LessOrEqual(t, counts["500 Internal Server Error"], 3+8, "%v", counts)
			require.Equal(t, 400, counts["ok"]+counts["500 Internal Server Error"], "%v", counts)
		})
	}
}

// Backpressure is no failure: 429 and 503 reach the client as the engine sent
// them and never open the breaker (field report B02).
func TestDeath_backpressure_opens_no_breaker(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fireEngines(1), filter: allModels})
			for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
				r.engine(0).Status(status, time.Second)
				for range 20 {
					a := r.chat("m", 50)
					require.Equal(t, status, a.status)
					require.Equal(t, "engine-0", a.engine(), "the engine was not asked")
				}
			}
			require.NoError(t, r.engine(0).Heal())
			require.Equal(t, http.StatusOK, r.chat("m", 50).status)
		})
	}
}
