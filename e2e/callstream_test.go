package e2e

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

const (
	streamOpened = "pointsman_call_streams_total_outcome=opened"
	streamLost   = "pointsman_call_streams_total_outcome=lost"
	answered     = "pointsman_observes_total_outcome=answered"
	late         = "pointsman_observes_total_outcome=late"
	unanswered   = "pointsman_observes_total_outcome=unavailable"
	noStream     = "state.call_stream: no stream to the state service"
)

// streaming are settings of "state" with calls on a stream.
const streaming = patient + `,"call_stream":true`

// Calls that requests wait for go on one stream, and by HTTP requests while there is
// none: a state service that ends and starts again is noticed by nobody.
func TestCallStream(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			f := indexed(t, "").newLooking(t, h, frontSetup{sync: streaming})
			f.streamed(t, 1)
			f.bodyTooLargeForIt(t)
			f.herd(t)
			f.comesBack(t)
			f.awaitInflight(0)
		})
	}
}

// indexed are engines whose index is there.
func indexed(t *testing.T, service string) *backend {
	t.Helper()
	fleet, err := fakes.StartFleet(caching(fakes.VLLM, 4)...)
	require.NoError(t, err)
	t.Cleanup(fleet.StopAll)
	b := &backend{fleet: fleet, state: newStateWith(t, fleet, asking+service)}
	b.state.start()
	return b
}

// looking is a proxy whose requests are looked up.
type looking struct {
	*front
	asked    int64 // lookups so far
	answered int64 // of these
}

func (b *backend) newLooking(t *testing.T, h host, s frontSetup) *looking {
	t.Helper()
	s.models = cachePolicy("")
	l := &looking{front: b.newFront(t, h, s)}
	l.awaitWorkers()
	l.awaitLookups()
	l.awaitSyncs() // the proxy publishes its counters with a sync
	l.asked, l.answered = l.counted(), l.counter(answered)
	return l
}

func (l *looking) counted() int64 {
	return l.counter(answered) + l.counter(unanswered) + l.counter(late)
}

// ask sends a chat that is looked up, and is answered whatever becomes of that.
func (l *looking) ask(tag string) {
	l.asked++
	a := l.fresh([]byte(turnBody(l.t, wordy(tag, 200), "What is it?")))
	if a.status != http.StatusOK {
		l.t.Errorf("status %d: %s", a.status, a.body)
	}
}

// observe sends a few, and gives how many lookups had an answer.
func (l *looking) observe(n int, tag string) (known int64) {
	l.t.Helper()
	for i := range n {
		l.ask(fmt.Sprint(tag, i))
	}
	l.eventually(func() bool { return l.counted() == l.asked }, "not every lookup is counted")
	before := l.answered
	l.answered = l.counter(answered)
	return l.answered - before
}

// streamed shows that the stream opens and takes the calls of requests.
func (l *looking) streamed(t *testing.T, opened int64) {
	t.Helper()
	l.eventually(func() bool {
		l.ask(fmt.Sprint("first ", opened))
		return l.counter(streamOpened) == opened
	}, "no stream is opened")
	l.observe(1, fmt.Sprint("settled ", opened))
	stream, posts := l.state.streamCalls(), l.state.posts()
	require.EqualValues(t, 20, l.observe(20, fmt.Sprint("next ", opened)))
	require.Equal(t, stream+20, l.state.streamCalls())
	require.Equal(t, posts, l.state.posts(), "there are HTTP requests beside the stream")
}

// bodyTooLargeForIt shows that a large body is looked up by a request of its own.
func (l *looking) bodyTooLargeForIt(t *testing.T) {
	t.Helper()
	posts := l.state.posts()
	require.EqualValues(t, 1, l.observe(1, strings.Repeat("long", 100)))
	require.Equal(t, posts+1, l.state.posts())
}

// herd shows that more calls at once than a stream takes are answered all the same.
func (l *looking) herd(t *testing.T) {
	t.Helper()
	const requests = 2*wire.MaxCalls - 56 // of the 256 that the state service works on at once
	before := l.counter(answered)
	statuses := many(requests, requests, func(i int) string {
		return strconv.Itoa(l.fresh([]byte(turnBody(l.t, "", fmt.Sprint("Who is number ", i, "?")))).status)
	})
	require.Equal(t, map[string]int{"200": requests}, statuses)
	l.asked += requests
	l.eventually(func() bool { return l.counted() == l.asked }, "not every lookup is counted")
	l.answered = l.counter(answered)
	require.Equal(t, before+requests, l.answered)
}

// comesBack shows that requests go on while the state service is away, and on a stream
// again when it is back.
func (l *looking) comesBack(t *testing.T) {
	t.Helper()
	l.state.stop()
	require.Zero(t, l.observe(1, "away"))
	l.eventually(func() bool { return l.counter(streamLost) == 1 }, "the end of the stream is not counted")
	require.Contains(t, l.log(), noStream+": it was closed: the state service is not reached or about to stop")
	l.state.start()
	l.streamed(t, 2)
	l.eventually(func() bool { return strings.Contains(l.log(), "calls go to the state service on a stream again") }, "the log does not say so")
}

// A state service that takes what it is sent and answers nothing holds no request up for
// longer than its deadline and a tick, and its stream is given up.
func TestCallStream_of_a_service_that_hangs(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			b := indexed(t, unhurried)
			line := newValve(t, b.state.addr)
			f := b.newLooking(t, h, frontSetup{state: line.addr, sync: `,"call_stream":true`})
			f.eventually(func() bool {
				f.ask("first")
				return f.counter(streamOpened) == 1
			}, "no stream is opened")
			line.shut()
			f.eventually(func() bool {
				f.ask("hung") // and is answered
				return strings.Contains(f.log(), noStream+": it does not answer any more")
			}, "the stream is not given up")
			f.eventually(func() bool { return f.counter(late) > 0 }, "no request went on at its deadline: they waited for the end of the stream")
			line.open()
			f.eventually(func() bool {
				f.ask("again")
				return f.counter(streamOpened) == 2
			}, "no stream is opened when the service answers again")
			f.awaitInflight(0)
		})
	}
}

// A cluster that speaks HTTP/1.1 has no streams: calls are HTTP requests, and the log
// says what to do.
func TestCallStream_by_a_cluster_without_HTTP2(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			f := indexed(t, "").newLooking(t, h, frontSetup{sync: streaming, http1: true})
			require.EqualValues(t, 1, f.observe(1, "first"))
			f.eventually(func() bool { return strings.Contains(f.log(), noStream) }, "the log does not say that there is no stream")
			require.Contains(t, f.log(), "state.cluster must speak HTTP/2")
			require.EqualValues(t, 10, f.observe(10, "next"))
			require.Zero(t, f.counter(streamOpened))
			require.GreaterOrEqual(t, f.state.posts(), 11)
		})
	}
}

// streamCalls are the calls of requests that came to the state service on a stream.
func (s *stateService) streamCalls() int {
	return s.metric(`pointsman_state_streamed_calls_total{outcome="taken"}`)
}

// posts are those that came by HTTP requests.
func (s *stateService) posts() int {
	return s.calls("observe") + s.calls("bind") - s.streamCalls()
}
