package fakes

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func stringBody(s string) io.Reader { return strings.NewReader(s) }

func TestRefuse(t *testing.T) {
	s := start(t, Config{})
	addr := s.Addr()
	require.Equal(t, 200, s.get("/health").status) // leaves an idle connection behind
	for range 3 {
		require.NoError(t, s.Refuse(true))
		require.NoError(t, s.Refuse(true))
		_, err := dial(t, addr)
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
		_, err = s.do(t.Context(), http.MethodPost, chatPath, hello) // fails on the idle connection or on a new one
		require.Error(t, err)
		require.NoError(t, s.Refuse(false))
		require.Equal(t, addr, s.Addr())
		require.Equal(t, 200, s.post(chatPath, hello).status)
	}
	require.NoError(t, s.Refuse(true))
	s.Stop()
	require.NoError(t, s.Start(""))
	require.Equal(t, 200, s.get("/health").status)
}

func TestRefuseLetsRunningRequestsEnd(t *testing.T) {
	s, clock := slow(t, Config{})
	running := s.background(t.Context(), chatPath, hello)
	s.awaitLoad(1, 0)
	require.NoError(t, s.Refuse(true))
	await(t, "request sleeps", func() bool { return clock.Sleepers() == 1 })
	clock.Advance(time.Hour)
	require.Equal(t, 200, take(t, running).status)
	require.NoError(t, s.Heal())
	require.Equal(t, 200, s.get("/health").status)
}

func TestStatus(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s := start(t, Config{Dialect: d})
		for code, kind := range map[int]string{500: "InternalServerError", 503: "ServiceUnavailableError", 429: "TooManyRequestsError"} {
			s.Status(code, 1500*time.Millisecond)
			r := s.post(chatPath, streamed(3, ""))
			require.Equal(t, code, r.status)
			require.Equal(t, "2", r.header.Get("Retry-After"))
			require.Contains(t, r.body, kind)
			require.Equal(t, 200, s.get("/health").status)
			require.Equal(t, 200, s.get("/metrics").status)
		}
		s.Status(503, 0)
		require.Empty(t, s.post(chatPath, hello).header.Get("Retry-After"))
		s.Status(0, 0)
		require.Equal(t, 200, s.post(chatPath, hello).status)
		require.EqualValues(t, 4, s.Counters().Failed)
	})
}

func TestHang(t *testing.T) {
	for _, scope := range []HangScope{HangInference, HangEverything} {
		s := start(t, Config{})
		s.Hang(scope)
		ctx, leave := context.WithCancel(t.Context())
		gone := s.background(ctx, chatPath, hello)
		stays := s.background(t.Context(), chatPath, hello)
		await(t, "both arrive", func() bool { return s.Counters().InFlight == 2 })
		leave()
		require.Error(t, take(t, gone).err)
		await(t, "one left", func() bool { return s.Counters().InFlight == 1 })

		probe := make(chan result, 1)
		go func() {
			r, err := s.do(t.Context(), http.MethodGet, "/health", "")
			probe <- result{r, err}
		}()
		if scope == HangInference {
			require.Equal(t, 200, take(t, probe).status)
		} else {
			require.Empty(t, probe)
		}
		require.Empty(t, stays)
		require.NoError(t, s.Heal())
		require.Equal(t, 200, take(t, stays).status)
		if scope == HangEverything {
			require.Equal(t, 200, take(t, probe).status)
		}
	}
}

func TestHangStallsStreamsAndStopEndsHungRequests(t *testing.T) {
	s := start(t, Config{DecodePerToken: time.Millisecond})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+chatPath, stringBody(streamed(30000, "")))
	require.NoError(t, err)
	res, err := s.client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.NoError(t, err)
	s.Hang(HangEverything)
	probe := s.background(t.Context(), chatPath, hello)
	await(t, "arrival", func() bool { return s.Counters().InFlight == 2 })
	s.Stop()
	_, err = io.ReadAll(res.Body)
	require.Error(t, err)
	require.Error(t, take(t, probe).err)
	require.EqualValues(t, 2, s.Counters().Aborted)
}

func TestCutMidStream(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s := start(t, Config{Dialect: d})
		whole := len(events(t, s.post(completionPath, streamed(4, "")).body)) + 1 // with [DONE]
		for cut := range whole {
			s.CutMidStream(cut)
			raw := rawPost(t, s.Addr(), completionPath, streamed(4, ""))
			require.Equal(t, cut, strings.Count(raw.text, "data: "), "cut after %d", cut)
			require.Equal(t, cut > 0, strings.HasPrefix(raw.text, "HTTP/1.1 200 OK"))
			require.NotContains(t, raw.text, "[DONE]")
			require.NotContains(t, raw.text, "\r\n0\r\n")
			require.ErrorIs(t, raw.err, syscall.ECONNRESET)
		}
		s.CutMidStream(whole)
		require.Len(t, events(t, s.post(completionPath, streamed(4, "")).body), whole-1)
		s.CutMidStream(0)
		require.Equal(t, 200, s.post(completionPath, hello1).status, "only streams are cut")
		s.CutMidStream(-1)
		require.Len(t, events(t, s.post(completionPath, streamed(4, "")).body), whole-1)
		await(t, "recorded", func() bool { return s.Counters().InFlight == 0 })
		require.EqualValues(t, whole, s.Counters().Failed)
		load, _ := s.Load()
		require.Zero(t, load)
	})
}

const hello1 = `{"prompt":"hello","max_tokens":1}`

type rawReply struct {
	text string
	err  error
}

// rawPost reads everything that comes back on a connection, and the error that ends it.
func rawPost(t *testing.T, addr, path, body string) rawReply {
	t.Helper()
	conn, err := dial(t, addr)
	require.NoError(t, err)
	defer conn.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+path, stringBody(body))
	require.NoError(t, err)
	require.NoError(t, req.Write(conn))
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	text, err := io.ReadAll(bufio.NewReader(conn))
	return rawReply{string(text), err}
}

func TestSlowBy(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	s := start(t, Config{Clock: clock, DecodePerToken: time.Second, PrefillBase: time.Second})
	for factor, want := range map[float64]time.Duration{3: 6 * time.Second, 0.5: time.Second, 0: 2 * time.Second} {
		s.SlowBy(factor)
		s.Reset()
		answer := s.background(t.Context(), completionPath, `{"prompt":"word","max_tokens":2}`)
		var r result
		for len(answer) == 0 {
			if clock.Sleepers() == 1 {
				clock.Advance(500 * time.Millisecond)
			}
			time.Sleep(100 * time.Microsecond)
		}
		r = take(t, answer)
		require.NoError(t, r.err)
		rec := s.Requests()[0]
		require.Equal(t, want, rec.End.Sub(rec.Start), "factor %v", factor)
	}
}

func TestHealthy(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s := start(t, Config{Dialect: d})
		require.Equal(t, 200, s.get("/health").status)
		s.Healthy(false)
		require.Equal(t, 503, s.get("/health").status)
		require.Equal(t, 200, s.post(chatPath, hello).status)
		s.Healthy(true)
		require.Equal(t, 200, s.get("/health").status)
	})
}

// Every switch is thrown while clients come, go and read; nothing may race, leak or stay in a slot.
func TestSwitchesUnderTraffic(t *testing.T) {
	s := start(t, Config{
		Dialect: SGLang, Slots: 3, QueueLimit: 4, Ranks: 2, PrefillBase: time.Millisecond, DecodePerToken: 100 * time.Microsecond,
	})
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+n%20)*time.Millisecond)
				body := streamed(8, "")
				if (n+i)%2 == 0 {
					body = hello
				}
				_, _ = s.do(ctx, http.MethodPost, chatPath, body)
				_, _ = s.do(ctx, http.MethodGet, "/metrics", "")
				_, _ = s.do(ctx, http.MethodPost, "/abort_request", `{"abort_all":true}`)
				cancel()
				s.Requests()
			}
		})
	}
	for range 5 {
		s.Hang(HangEverything)
		s.CutMidStream(3)
		s.SlowBy(2)
		s.Status(503, time.Second)
		s.Healthy(false)
		require.NoError(t, s.Refuse(true))
		require.NoError(t, s.Heal())
		reached := s.Counters().Received + 5
		await(t, "traffic", func() bool { return s.Counters().Received >= reached })
		s.Stop()
		require.NoError(t, s.Start(""))
		s.Reset()
	}
	close(stop)
	clients.Wait()
	await(t, "all ended", func() bool { return s.Counters().InFlight == 0 })
	load, _ := s.Load()
	require.Zero(t, load)
}
