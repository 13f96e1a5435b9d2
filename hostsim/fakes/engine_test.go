package fakes

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slow is an engine whose requests stay in prefill until the test advances the clock.
func slow(t *testing.T, cfg Config) (*site, *ManualClock) {
	t.Helper()
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	cfg.Clock = clock
	cfg.PrefillBase = time.Hour
	return start(t, cfg), clock
}

func TestStopKillsAndStartIsANewProcess(t *testing.T) {
	s, _ := slow(t, Config{Slots: 1, StartTime: time.Unix(1_700_000_000, 500_000_000)})
	addr := s.Addr()
	require.Regexp(t, `^127\.0\.0\.1:\d+$`, addr)
	require.Equal(t, "http://"+addr, s.URL())
	require.Error(t, s.Start(""), "already started")
	running := s.background(t.Context(), chatPath, hello)
	s.awaitLoad(1, 0)
	queued := s.background(t.Context(), chatPath, hello)
	s.awaitLoad(1, 1)
	before := startTime(t, s)
	require.InDelta(t, 1_700_000_000.5, before, 1e-6)

	s.Stop()
	require.Error(t, take(t, running).err)
	require.Error(t, take(t, queued).err)
	_, err := dial(t, addr)
	require.Error(t, err)
	_, up := s.Load()
	require.False(t, up)
	require.Equal(t, Counters{Received: 2, Aborted: 2, MaxConcurrent: 2}, s.Counters())
	s.Stop()

	require.NoError(t, s.Start(""))
	require.Equal(t, addr, s.Addr())
	load, up := s.Load()
	require.True(t, up)
	require.Zero(t, load)
	require.Greater(t, startTime(t, s), before)
	require.Contains(t, s.get("/metrics").body, `reason="abort",model_name="demo"} 0`)
}

func TestRestartsDifferInStartTime(t *testing.T) {
	s, _ := slow(t, Config{})
	first := startTime(t, s)
	for range 3 {
		s.Stop()
		require.NoError(t, s.Start(s.Addr()))
		next := startTime(t, s)
		require.Greater(t, next, first)
		reported, ok := s.StartTime()
		require.True(t, ok)
		require.InDelta(t, next, float64(reported.UnixMicro())/1e6, 1e-3)
		first = next
	}
}

func startTime(t *testing.T, s *site) float64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^process_start_time_seconds (\S+)$`).FindStringSubmatch(s.get("/metrics").body)
	require.Len(t, m, 2)
	v, err := strconv.ParseFloat(m[1], 64)
	require.NoError(t, err)
	return v
}

func TestStartOnATakenAddress(t *testing.T) {
	s := start(t, Config{})
	other, err := New(Config{Name: "other"})
	require.NoError(t, err)
	require.ErrorContains(t, other.Start(s.Addr()), "give a free address")
}

func TestShutdownLetsRequestsEnd(t *testing.T) {
	s, clock := slow(t, Config{})
	running := s.background(t.Context(), chatPath, hello)
	s.awaitLoad(1, 0)
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(t.Context()) }()
	await(t, "listener closed", func() bool {
		c, err := dial(t, s.Addr())
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	await(t, "request sleeps", func() bool { return clock.Sleepers() == 1 })
	clock.Advance(time.Hour)
	r := take(t, running)
	require.NoError(t, r.err)
	require.Equal(t, 200, r.status)
	require.NoError(t, <-done)
}

func TestShutdownKillsWhenItsContextEnds(t *testing.T) {
	s, _ := slow(t, Config{})
	running := s.background(t.Context(), chatPath, hello)
	s.awaitLoad(1, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Shutdown(ctx), context.Canceled)
	require.Error(t, take(t, running).err)
}

func TestQueueIsFIFOAndGaugesAreTrue(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s, clock := slow(t, Config{Dialect: d, Slots: 2, BlockSize: 4, KVBlocks: 1000, MaxModelLen: 1000})
		var answers []<-chan result
		for i := range 5 {
			answers = append(answers, s.background(t.Context(), chatPath, hello))
			s.awaitLoad(min(i+1, 2), max(i-1, 0))
		}
		load, _ := s.Load()
		require.Equal(t, Load{Running: 2, Waiting: 3, WaitingTokens: 3 * helloTokens, UsedTokens: 2 * helloTokens, UsedBlocks: 6}, load)
		require.Equal(t, 5, s.Counters().InFlight)
		for left := 5; left > 0; left -= 2 {
			await(t, "running requests sleep", func() bool { return clock.Sleepers() == min(left, 2) })
			clock.Advance(time.Hour)
			for range min(left, 2) {
				require.Equal(t, 200, take(t, answers[0]).status)
				answers = answers[1:]
			}
			s.awaitLoad(min(left-2, 2)*b2i(left > 2), max(left-4, 0))
		}
		load, _ = s.Load()
		require.Zero(t, load)
		require.Equal(t, Counters{Received: 5, Completed: 5, MaxConcurrent: 5}, s.Counters())
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestQueueLimit(t *testing.T) {
	for limit, waiting := range map[int]int{2: 2, -1: 0} {
		s, _ := slow(t, Config{Slots: 1, QueueLimit: limit})
		for i := range 1 + waiting {
			s.background(t.Context(), chatPath, hello)
			s.awaitLoad(1, i)
		}
		r := s.post(chatPath, hello)
		require.Equal(t, 503, r.status)
		require.Contains(t, r.body, "ServiceUnavailableError")
		s.awaitLoad(1, waiting)
		s.Stop()
	}
}

func TestKVBlocksLimitWhatRuns(t *testing.T) {
	s, clock := slow(t, Config{Slots: 10, BlockSize: 10, KVBlocks: 10, MaxModelLen: 100})
	big := s.background(t.Context(), completionPath, `{"prompt":"word word word word word","max_tokens":85}`)
	s.awaitLoad(1, 0)
	next := s.background(t.Context(), completionPath, `{"prompt":"word","max_tokens":15}`)
	s.awaitLoad(1, 1)
	small := s.background(t.Context(), completionPath, `{"prompt":"word","max_tokens":2}`)
	s.awaitLoad(1, 2) // one block is free, but the head of the queue needs two
	await(t, "first sleeps", func() bool { return clock.Sleepers() == 1 })
	clock.Advance(time.Hour)
	require.Equal(t, 200, take(t, big).status)
	s.awaitLoad(2, 0)
	await(t, "others sleep", func() bool { return clock.Sleepers() == 2 })
	clock.Advance(time.Hour)
	require.Equal(t, 200, take(t, next).status)
	require.Equal(t, 200, take(t, small).status)
}

func TestDecodeTimeAndKVGrowth(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	s := start(t, Config{Clock: clock, DecodePerToken: time.Second, PrefillPerToken: time.Second, BlockSize: 4})
	sleepUntil := func(d time.Duration) {
		await(t, "request sleeps", func() bool { return clock.Sleepers() == 1 })
		clock.Advance(d)
	}
	answer := s.background(t.Context(), completionPath, `{"prompt":"word word","max_tokens":3,"stream":true}`)
	sleepUntil(time.Second) // half of prefill
	require.Equal(t, 1, clock.Sleepers())
	sleepUntil(time.Second)
	used := func(tokens, blocks int) {
		await(t, "KV grows", func() bool { l, _ := s.Load(); return l.UsedTokens == tokens && l.UsedBlocks == blocks })
	}
	used(3, 1)
	sleepUntil(time.Second)
	used(4, 1)
	sleepUntil(time.Second)
	r := take(t, answer)
	require.NoError(t, r.err)
	require.Len(t, events(t, r.body), 3)
	rec := s.Requests()[0]
	require.Equal(t, 4*time.Second, rec.End.Sub(rec.Start))
	require.Equal(t, 3, rec.OutputTokens)
}

func TestDisconnectFreesTheSlot(t *testing.T) {
	bothDialects(t, func(t *testing.T, d Dialect) {
		s, clock := slow(t, Config{Dialect: d, Slots: 1})
		ctx, leave := context.WithCancel(t.Context())
		prefill := s.background(ctx, chatPath, hello)
		s.awaitLoad(1, 0)
		qctx, leaveQueue := context.WithCancel(t.Context())
		queued := s.background(qctx, chatPath, hello)
		s.awaitLoad(1, 1)
		last := s.background(t.Context(), chatPath, hello)
		s.awaitLoad(1, 2)

		leaveQueue()
		require.Error(t, take(t, queued).err)
		s.awaitLoad(1, 1)
		leave()
		require.Error(t, take(t, prefill).err)
		s.awaitLoad(1, 0)
		await(t, "the last one runs", func() bool { return clock.Sleepers() == 1 })
		clock.Advance(time.Hour)
		require.Equal(t, 200, take(t, last).status)
		await(t, "all end", func() bool { return s.Counters().InFlight == 0 })
		require.Equal(t, Counters{Received: 3, Completed: 1, Aborted: 2, MaxConcurrent: 3}, s.Counters())
	})
}

func TestDisconnectMidStream(t *testing.T) {
	s := start(t, Config{DecodePerToken: time.Hour})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+chatPath, stringBody(streamed(5, "")))
	require.NoError(t, err)
	res, err := s.client.Do(req)
	require.NoError(t, err)
	_, err = res.Body.Read(make([]byte, 100))
	require.NoError(t, err, "the first chunk comes while the second is an hour away")
	s.awaitLoad(1, 0)
	leave()
	_ = res.Body.Close()
	s.awaitLoad(0, 0)
	await(t, "recorded", func() bool { return s.Requests()[0].Outcome == Aborted })
}

func TestDisconnectWhileUploading(t *testing.T) {
	s := start(t, Config{})
	conn, err := dial(t, s.Addr())
	require.NoError(t, err)
	_, err = conn.Write([]byte("POST " + chatPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"))
	require.NoError(t, err)
	await(t, "arrival", func() bool { return s.Counters().InFlight == 1 })
	require.NoError(t, conn.Close())
	await(t, "abort", func() bool { return s.Counters().Aborted == 1 })
	require.Equal(t, "{", string(s.Requests()[0].Body))
}

func TestRanksHaveTheirOwnSlots(t *testing.T) {
	s, _ := slow(t, Config{Ranks: 2, Slots: 1})
	s.background(t.Context(), chatPath, hello)
	s.awaitLoad(1, 0)
	s.background(t.Context(), chatPath, hello)
	s.awaitLoad(2, 0)
	s.background(t.Context(), chatPath, hello)
	s.awaitLoad(2, 1)
	require.Contains(t, s.get("/metrics").body, `vllm:num_requests_waiting{engine="0",model_name="demo"} 1`)
	require.Contains(t, s.get("/metrics").body, `vllm:num_requests_waiting{engine="1",model_name="demo"} 0`)
	s.Stop()
}
