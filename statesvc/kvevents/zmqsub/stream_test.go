package zmqsub_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/stretchr/testify/require"
)

func TestStream_deliversInOrder(t *testing.T) {
	r := follow(t, false)
	r.reason(zmqsub.ReasonNoFeed)
	r.publish(texts(0, 300)...)
	r.holds(zmqsub.ReasonNone)
	require.EqualValues(t, 300, r.counts().Batches)
	require.EqualValues(t, 299, r.stream.Status().Last)
}

// Field report C15, trap 9: a late subscriber gets no history by itself, and an idle
// engine sends nothing that would show it.
func TestStream_lateSubscriberCatchesUpByReplay(t *testing.T) {
	for name, form := range map[string]zmqtest.Replays{"with topic": {}, "without": {NoTopic: true}} {
		t.Run(name, func(t *testing.T) {
			r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{}}
			r.pub.SetReplays(form)
			r.publish(texts(0, 2000)...)
			r.open(true)
			r.holds(zmqsub.ReasonNone)
			r.publish("more")
			r.holds(zmqsub.ReasonNone)
		})
	}
}

func TestStream_lateSubscriberWithoutReplayIsPartial(t *testing.T) {
	r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{}}
	r.publish(texts(0, 5)...)
	r.open(false)
	r.sent = nil
	r.publish(texts(5, 8)...)
	r.holds(zmqsub.ReasonLateJoin)
	r.sent = nil
	r.publish("clear")
	r.holds(zmqsub.ReasonNone)
}

func TestStream_bufferThatBeganLaterIsPartial(t *testing.T) {
	r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{}}
	r.publish(texts(0, 50)...)
	r.pub.Forget(20)
	r.open(true)
	r.sent = r.sent[20:]
	r.holds(zmqsub.ReasonLateJoin)
}

func TestStream_engineWithoutEventsHasAnEmptyCache(t *testing.T) {
	r := follow(t, true)
	r.holds(zmqsub.ReasonNone)
}

func TestStream_gapIsReplayed(t *testing.T) {
	r := follow(t, true)
	r.publish(texts(0, 5)...)
	r.holds(zmqsub.ReasonNone)
	r.lose(texts(5, 9)...)
	r.publish(texts(9, 12)...)
	r.holds(zmqsub.ReasonNone)
	_, resets := r.sink.has()
	require.Zero(t, resets)
}

// Batches lost at the end show only when somebody asks.
func TestStream_lossAtTheEndIsFoundWhileSilent(t *testing.T) {
	r := follow(t, true)
	r.publish(texts(0, 5)...)
	r.holds(zmqsub.ReasonNone)
	r.lose("lost")
	r.holds(zmqsub.ReasonNone)
}

func TestStream_gapWithoutReplayStaysUntilCleared(t *testing.T) {
	r := follow(t, false)
	r.publish(texts(0, 5)...)
	r.holds(zmqsub.ReasonNone)
	r.lose("lost", "lost too")
	r.sent = r.sent[:5]
	r.publish("after")
	r.holds(zmqsub.ReasonGap)
	require.EqualValues(t, 2, r.counts().Missing)
	require.EqualValues(t, 1, r.counts().Gaps)
	r.sent = nil
	r.publish("clear")
	r.holds(zmqsub.ReasonNone)
}

// Field report C16: a replay that ends early leaves the rest missing; what was lost comes
// back with a replay of everything once the engine gives it.
func TestStream_replayThatEndsEarlyIsRepeated(t *testing.T) {
	r := follow(t, true)
	r.publish(texts(0, 5)...)
	r.holds(zmqsub.ReasonNone)
	r.pub.SetReplays(zmqtest.Replays{Limit: 2})
	r.lose(texts(5, 10)...)
	r.publish(texts(10, 12)...)
	r.eventually("trust falls", func() bool { return r.stream.Status().Trust() == zmqsub.TrustPartial })
	r.pub.SetReplays(zmqtest.Replays{})
	r.holds(zmqsub.ReasonNone)
}

func TestStream_slowReplayGoesOn(t *testing.T) {
	r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{}}
	r.publish(texts(0, 40)...)
	r.pub.SetReplays(zmqtest.Replays{Delay: 10 * time.Millisecond})
	r.open(true)
	r.publish(texts(40, 60)...)
	r.holds(zmqsub.ReasonNone)
}

// Field report C17: what comes live while a replay is under way is delivered after it.
func TestStream_liveBatchesWaitForTheReplay(t *testing.T) {
	r := follow(t, true)
	r.publish(texts(0, 3)...)
	r.holds(zmqsub.ReasonNone)
	r.pub.SetReplays(zmqtest.Replays{Delay: 30 * time.Millisecond})
	r.lose(texts(3, 6)...)
	r.publish(texts(6, 8)...)
	r.holds(zmqsub.ReasonNone)
	require.Zero(t, r.counts().Missing)
}

// Field report C32: a clear within a replay.
func TestStream_clearWithinAReplay(t *testing.T) {
	r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{}}
	r.publish("store", "clear", "store again")
	r.open(true)
	r.sent = r.sent[1:]
	r.holds(zmqsub.ReasonNone)
}

// Trap 8: a socket at its high-water mark leaves batches out of a replay, and has them
// when it is asked again.
func TestStream_replayWithHoles(t *testing.T) {
	r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{}}
	r.publish(texts(0, 20)...)
	r.pub.SetReplays(zmqtest.Replays{Skip: 1})
	r.open(true)
	r.holds(zmqsub.ReasonNone)
	_, resets := r.sink.has()
	require.Zero(t, resets)
	require.Zero(t, r.counts().Missing)
}

// What is left out again and again is lost, and not asked for without end.
func TestStream_replayThatNeverHasIt(t *testing.T) {
	r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{}}
	r.publish(texts(0, 6)...)
	r.pub.SetReplays(zmqtest.Replays{Skip: -1})
	r.open(true)
	r.sent = []string{"batch 0", "batch 1", "batch 3", "batch 4"}
	r.holds(zmqsub.ReasonGap)
	require.EqualValues(t, 1, r.counts().Missing)
}

// A replay that does not fit is asked for in parts, and a sink that is slow loses nothing.
func TestStream_longReplayInParts(t *testing.T) {
	r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{slow: 50 * time.Microsecond}}
	r.publish(texts(0, 3000)...)
	r.open(true, func(o *zmqsub.Options) { o.Limits.QueueBytes = 2000 })
	r.holds(zmqsub.ReasonNone)
	require.Greater(t, len(r.pub.Asked()), 3)
	require.Zero(t, r.counts().ReplaysBad)
}

func TestStream_muteReplayIsGivenUp(t *testing.T) {
	r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{}}
	r.publish(texts(0, 4)...)
	r.pub.SetReplays(zmqtest.Replays{Mute: true})
	r.open(true)
	r.eventually("given up", func() bool { return r.counts().ReplaysBad > 0 })
	r.publish("live")
	r.eventually("the live batch", func() bool {
		got, _ := r.sink.has()
		return slices.Equal(got, []string{"live"}) && r.stream.Status().Trust() == zmqsub.TrustPartial
	})
	r.pub.SetReplays(zmqtest.Replays{})
	r.holds(zmqsub.ReasonNone)
}

// A new connection while the replay socket is silent for good: after a while its batches
// are taken, less trusted.
func TestStream_reconnectWithoutAnAnswer(t *testing.T) {
	r := follow(t, true)
	r.publish(texts(0, 3)...)
	r.holds(zmqsub.ReasonNone)
	r.pub.SetReplays(zmqtest.Replays{Mute: true})
	r.pub.Cut()
	r.reason(zmqsub.ReasonDisconnected)
	r.eventually("given up", func() bool {
		r.publish("more")
		return r.stream.Status().Reason == zmqsub.ReasonGap
	})
	r.pub.SetReplays(zmqtest.Replays{})
	r.holds(zmqsub.ReasonNone)
}

func TestStream_restart(t *testing.T) {
	for name, replays := range map[string]bool{"with replays": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			r := follow(t, replays)
			r.publish(texts(0, 20)...)
			r.holds(zmqsub.ReasonNone)
			r.pub.Kill()
			r.reason(zmqsub.ReasonDisconnected)
			require.Equal(t, zmqsub.TrustPartial, zmqsub.ReasonDisconnected.Trust())
			r.pub.Restart()
			r.eventually("subscribed again", func() bool { return r.pub.Subscribers() > 0 })
			r.sent = nil
			r.publish("new 0", "new 1")
			r.holds(zmqsub.ReasonNone)
			_, resets := r.sink.has()
			require.Equal(t, 1, resets)
			require.EqualValues(t, 1, r.counts().Restarts)
		})
	}
}

// A process that published more than the one before does not run backwards.
func TestStream_restartThatOvertook(t *testing.T) {
	r := follow(t, true)
	r.publish(texts(0, 3)...)
	r.holds(zmqsub.ReasonNone)
	r.pub.Kill()
	r.reason(zmqsub.ReasonDisconnected)
	r.pub.Restart()
	r.sent = nil
	r.lose("new 0", "new 1", "new 2", "new 3", "new 4")
	r.holds(zmqsub.ReasonNone)
}

// A process that published nothing yet empties what was known.
func TestStream_restartThatIsSilent(t *testing.T) {
	r := follow(t, true)
	r.publish(texts(0, 3)...)
	r.holds(zmqsub.ReasonNone)
	r.pub.Kill()
	r.reason(zmqsub.ReasonDisconnected)
	r.pub.Restart()
	r.sent = nil
	r.holds(zmqsub.ReasonNone)
	_, resets := r.sink.has()
	require.Equal(t, 1, resets)
}

// A restart that others noticed counts once, whoever was first.
func TestStream_renewed(t *testing.T) {
	r := follow(t, false)
	r.publish(texts(0, 3)...)
	r.holds(zmqsub.ReasonNone)
	r.pub.Kill()
	r.reason(zmqsub.ReasonDisconnected)
	r.sent = nil
	r.stream.Renewed()
	r.eventually("forgotten", func() bool { got, resets := r.sink.has(); return len(got) == 0 && resets == 1 })
	r.pub.Restart()
	r.eventually("subscribed", func() bool { return r.pub.Subscribers() > 0 })
	r.publish("new 0", "new 1")
	r.holds(zmqsub.ReasonNone)
	r.pub.SendAs(0, []byte("newer 0"))
	r.sent = []string{"newer 0"}
	r.holds(zmqsub.ReasonNone)
	r.stream.Renewed()
	r.pub.SendAs(1, []byte("newer 1"))
	r.sent = append(r.sent, "newer 1")
	r.holds(zmqsub.ReasonNone)
	require.EqualValues(t, 2, r.counts().Restarts)
	require.Equal(t, zmqsub.ReasonNone, r.stream.Reason())
}

func TestStream_brokenConnectionLosesNothing(t *testing.T) {
	r := follow(t, true)
	r.publish(texts(0, 10)...)
	r.holds(zmqsub.ReasonNone)
	r.pub.Cut()
	r.lose(texts(10, 20)...)
	r.holds(zmqsub.ReasonNone)
	_, resets := r.sink.has()
	require.Zero(t, resets)
}

func TestStream_duplicatesAreIgnored(t *testing.T) {
	r := follow(t, false)
	r.publish(texts(0, 5)...)
	r.holds(zmqsub.ReasonNone)
	for i, text := range texts(0, 5) {
		r.pub.SendAs(int64(i), []byte(text))
	}
	r.publish("next")
	r.holds(zmqsub.ReasonNone)
	require.EqualValues(t, 5, r.counts().Duplicates)
}

func TestStream_endMarkerResets(t *testing.T) {
	r := follow(t, false)
	r.publish(texts(0, 5)...)
	r.holds(zmqsub.ReasonNone)
	r.pub.SendAs(-1, nil)
	r.sent = nil
	r.holds(zmqsub.ReasonNoFeed)
}

func TestStream_doubtsOfTheSink(t *testing.T) {
	r := follow(t, true)
	for text, reason := range map[string]zmqsub.Reason{"bad": zmqsub.ReasonUndecodable, "big": zmqsub.ReasonTooLarge} {
		r.publish(text, "good")
		r.holds(reason)
		r.sent = nil
		r.publish("clear " + text)
		r.holds(zmqsub.ReasonNone)
	}
}

// Sequence numbers that run backwards for ever fence the stream.
func TestStream_backwardsForEver(t *testing.T) {
	r := follow(t, true)
	for i := range 500 {
		r.pub.SendAs(int64(100_000-i), []byte{byte(i), byte(i >> 8)})
	}
	r.reason(zmqsub.ReasonBackwards)
	require.Equal(t, zmqsub.TrustNone, zmqsub.ReasonBackwards.Trust())
	r.eventually("fenced", func() bool { return r.counts().Fenced > 400 })
	require.Less(t, r.counts().Restarts, uint64(10))
	require.Less(t, len(r.pub.Asked()), 20)
	got, _ := r.sink.has()
	require.Empty(t, got)
}

func TestStream_unusableMessagesAreCounted(t *testing.T) {
	r := follow(t, true, func(o *zmqsub.Options) { o.Limits.MaxMessageBytes = 1000 })
	r.publish("first")
	seq := make([]byte, 8)
	topic := []byte("kv-events")
	r.pub.Send(topic, seq)
	r.pub.Send(topic, seq, nil, nil)
	r.pub.Send(topic)
	r.pub.Send(topic, seq[:7], []byte("x"))
	r.pub.Send(topic, bytes.Repeat([]byte{0xff}, 7), []byte("x"))
	r.pub.Send(topic, []byte{0x80, 0, 0, 0, 0, 0, 0, 0}, []byte("x"))
	r.pub.Send([]byte("other"), []byte{0, 0, 0, 0, 0, 0, 0, 1}, []byte("x"))
	r.holds(zmqsub.ReasonNone)
	r.pub.Publish(make([]byte, 5000))
	r.publish("last")
	r.holds(zmqsub.ReasonTooLarge)
	c := r.counts()
	require.EqualValues(t, 3, c.BadFrames)
	require.EqualValues(t, 3, c.BadSequence)
	require.EqualValues(t, 1, c.BadTopic)
	require.EqualValues(t, 1, c.Oversized)
	require.EqualValues(t, 1, c.Connects, "the connection survives all that")
}

func TestStream_tooManyPartsBreakTheConnection(t *testing.T) {
	r := follow(t, true)
	r.publish("first")
	r.holds(zmqsub.ReasonNone)
	r.pub.Send(make([][]byte, 40)...)
	r.publish("second")
	r.holds(zmqsub.ReasonNone)
	r.eventually("connected anew", func() bool { return r.counts().Connects == 2 })
}

// A flood meets the bound of the queue and is a gap, which is repaired.
func TestStream_overflowIsAGap(t *testing.T) {
	r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{hold: make(chan struct{})}}
	r.open(true, func(o *zmqsub.Options) { o.Limits.QueueMessages = 10 })
	r.publish(texts(0, 500)...)
	r.eventually("overflow", func() bool { return r.counts().Overflows > 400 })
	require.LessOrEqual(t, r.stream.Status().Queued, 12)
	close(r.sink.hold)
	r.holds(zmqsub.ReasonNone)
}

// Nothing is delivered after Close has returned, however much is queued.
func TestStream_closeFences(t *testing.T) {
	r := follow(t, true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 3000 {
			r.pub.Publish([]byte{byte(i), byte(i >> 8)})
		}
	}()
	r.eventually("some", func() bool { return r.counts().Batches > 50 })
	r.stream.Close()
	r.sink.mu.Lock()
	r.sink.closed = true
	r.sink.mu.Unlock()
	<-done
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	require.Zero(t, r.sink.late)
}

func TestStream_endpointThatIsNotThere(t *testing.T) {
	pub := zmqtest.Start(t, "")
	pub.Kill()
	r := &rig{T: t, pub: pub, sink: &sink{}}
	r.stream = zmqsub.Open(zmqsub.Options{Endpoint: pub.Endpoint(), Sink: r.sink, Logger: discard(), Limits: quick()})
	t.Cleanup(r.stream.Close)
	r.eventually("tried again", func() bool { return r.counts().DialErrors > 2 })
	r.reason(zmqsub.ReasonConnecting)
	require.NotEmpty(t, r.stream.Status().Error)
	pub.Restart()
	r.eventually("found", func() bool { return r.pub.Subscribers() > 0 })
	r.publish("hello")
	r.holds(zmqsub.ReasonNone)
}
