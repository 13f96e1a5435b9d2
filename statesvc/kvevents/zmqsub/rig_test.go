package zmqsub_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps what was delivered since the last reset. Payloads are texts: one that begins
// with "clear" empties the cache, "bad" makes no sense, "big" has too much in it.
type sink struct {
	mu     sync.Mutex
	got    []string
	resets int
	closed bool
	late   int // calls after the end
	hold   chan struct{}
	slow   time.Duration // of each batch
}

func (s *sink) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note()
	s.got = nil
	s.resets++
}

func (s *sink) Batch(payload []byte) zmqsub.Outcome {
	if s.hold != nil {
		<-s.hold
	}
	time.Sleep(s.slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note()
	text := string(payload)
	var o zmqsub.Outcome
	switch {
	case strings.HasPrefix(text, "clear"):
		s.got, o.Cleared = nil, true
	case strings.HasPrefix(text, "bad"):
		o.Doubt = zmqsub.ReasonUndecodable
	case strings.HasPrefix(text, "big"):
		o.Doubt = zmqsub.ReasonTooLarge
	}
	s.got = append(s.got, text)
	return o
}

func (s *sink) note() {
	if s.closed {
		s.late++
	}
}

func (s *sink) has() ([]string, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got), s.resets
}

// quick are limits under which things happen fast.
func quick() zmqsub.Limits {
	return zmqsub.Limits{ReplayTimeout: 300 * time.Millisecond, ReplayTotal: 5 * time.Second, Check: 200 * time.Millisecond}
}

type rig struct {
	*testing.T
	pub    *zmqtest.Publisher
	sink   *sink
	stream *zmqsub.Stream
	sent   []string
}

// follow opens a stream of a publisher, with or without replays.
func follow(t *testing.T, replays bool, change ...func(*zmqsub.Options)) *rig {
	t.Helper()
	r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{}}
	r.open(replays, change...)
	return r
}

func (r *rig) open(replays bool, change ...func(*zmqsub.Options)) {
	o := zmqsub.Options{
		Endpoint: r.pub.Endpoint(), Topic: "kv", Sink: r.sink, Logger: discard(), Limits: quick(),
	}
	if replays {
		o.Replay = r.pub.Replay()
	}
	for _, c := range change {
		c(&o)
	}
	r.stream = zmqsub.Open(o)
	r.Cleanup(r.stream.Close)
	r.eventually("subscribed", func() bool { return r.pub.Subscribers() > 0 })
}

// publish publishes numbered texts, or the given ones.
func (r *rig) publish(texts ...string) {
	for _, text := range texts {
		r.sent = append(r.sent, text)
		r.pub.Publish([]byte(text))
	}
}

func (r *rig) lose(texts ...string) {
	for _, text := range texts {
		r.sent = append(r.sent, text)
		r.pub.Lose([]byte(text))
	}
}

func texts(from, to int) (list []string) {
	for i := from; i < to; i++ {
		list = append(list, fmt.Sprintf("batch %d", i))
	}
	return list
}

func (r *rig) eventually(what string, holds func() bool) {
	r.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !holds() {
		if time.Now().After(deadline) {
			got, resets := r.sink.has()
			st := zmqsub.Status{}
			if r.stream != nil {
				st = r.stream.Status()
			}
			require.Fail(r, what, "delivered %d, %d resets, %+v, asked %v", len(got), resets, st, r.pub.Asked())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// holds waits until exactly what the publisher sent in this life was delivered, and the
// reason is the given one.
func (r *rig) holds(reason zmqsub.Reason) {
	r.Helper()
	r.eventually("all, with reason "+reason.String(), func() bool {
		got, _ := r.sink.has()
		return slices.Equal(got, r.sent) && r.stream.Status().Reason == reason
	})
}

func (r *rig) reason(want zmqsub.Reason) {
	r.Helper()
	r.eventually("reason "+want.String(), func() bool { return r.stream.Status().Reason == want })
}

func (r *rig) counts() zmqsub.Counts { return r.stream.Status().Counts }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
