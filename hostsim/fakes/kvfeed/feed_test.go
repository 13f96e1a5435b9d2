package kvfeed_test

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"
	"github.com/pointsman/pointsman/hostsim/fakes/kvfeed"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const host = "127.0.0.1"

type place struct{ pub, replay string }

func open(t *testing.T, cfg kvfeed.Config) (*kvfeed.Feed, place) {
	t.Helper()
	list, _, err := kvfeed.Listen(host, 0, 2)
	require.NoError(t, err)
	f := kvfeed.Open(cfg)
	f.Serve(list[0], list[1])
	t.Cleanup(f.Close)
	return f, place{"tcp://" + list[0].Addr().String(), "tcp://" + list[1].Addr().String()}
}

func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, 20*time.Second, time.Millisecond, what)
}

// subscribe is a SUB of the library, connected and known to the feed.
func subscribe(t *testing.T, f *kvfeed.Feed, at, topic string) zmq4.Socket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	sub := zmq4.NewSub(ctx)
	t.Cleanup(func() { cancel(); _ = sub.Close() })
	before := f.Subscribers()
	require.NoError(t, sub.Dial(at))
	require.NoError(t, sub.SetOption(zmq4.OptionSubscribe, topic))
	await(t, "subscribed", func() bool { return f.Subscribers() == before+1 })
	return sub
}

func seqOf(frame []byte) int64 { return int64(binary.BigEndian.Uint64(frame)) }

func receive(t *testing.T, sub zmq4.Socket) (seq int64, payload string) {
	t.Helper()
	m, err := sub.Recv()
	require.NoError(t, err)
	require.Len(t, m.Frames, 3)
	require.Equal(t, "kv", string(m.Frames[0]))
	return seqOf(m.Frames[1]), string(m.Frames[2])
}

func TestFeed_publishesInOrder(t *testing.T) {
	f, at := open(t, kvfeed.Config{Topic: "kv"})
	f.Publish([]byte("nobody is there"))
	one, all := subscribe(t, f, at.pub, "kv"), subscribe(t, f, at.pub, "")
	subscribe(t, f, at.pub, "other")
	f.Publish([]byte("a"))
	f.Lose(2)
	for _, p := range []string{"lost", "lost", "b"} {
		f.Publish([]byte(p))
	}
	f.Repeat(1)
	for _, sub := range []zmq4.Socket{one, all} {
		for _, want := range []struct {
			seq     int64
			payload string
		}{{1, "a"}, {4, "b"}, {4, "b"}} {
			seq, payload := receive(t, sub)
			require.Equal(t, want.seq, seq)
			require.Equal(t, want.payload, payload)
		}
	}
	require.EqualValues(t, 5, f.Next())
}

// replay asks as a DEALER and reads to the end marker.
func replay(t *testing.T, at string, start []byte) (seqs []int64, frames int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	dealer := zmq4.NewDealer(ctx)
	defer func() { _ = dealer.Close() }()
	require.NoError(t, dealer.Dial(at))
	require.NoError(t, dealer.SendMulti(zmq4.NewMsgFrom([]byte{}, start)))
	for {
		m, err := dealer.Recv()
		require.NoError(t, err)
		require.Empty(t, m.Frames[0])
		seq := seqOf(m.Frames[len(m.Frames)-2])
		if seq == -1 {
			require.Empty(t, m.Frames[len(m.Frames)-1])
			return seqs, len(m.Frames)
		}
		seqs = append(seqs, seq)
	}
}

func TestFeed_replays(t *testing.T) {
	for topic, frames := range map[bool]int{true: 4, false: 3} {
		f, at := open(t, kvfeed.Config{Topic: "kv", ReplayTopic: topic, Buffer: 4})
		f.Lose(3)
		for range 6 {
			f.Publish([]byte("p"))
		}
		f.SlowReplay(time.Millisecond)
		for name, c := range map[string]struct {
			start []byte
			want  []int64
		}{
			"older than the buffer": {binary.BigEndian.AppendUint64(nil, 0), []int64{2, 3, 4, 5}},
			"from the middle":       {binary.BigEndian.AppendUint64(nil, 4), []int64{4, 5}},
			"past the end":          {binary.BigEndian.AppendUint64(nil, 9), nil},
			"one byte":              {[]byte{5}, []int64{5}},
			"far too many":          {make([]byte, 20), []int64{2, 3, 4, 5}},
			"the greatest":          {binary.BigEndian.AppendUint64([]byte{1}, math.MaxUint64), nil},
		} {
			got, n := replay(t, at.replay, c.start)
			require.Equal(t, c.want, got, name)
			require.Equal(t, frames, n, name)
		}
	}
}

// A subscriber that does not read loses what its queue does not hold; the others do not.
func TestFeed_dropsForASlowSubscriber(t *testing.T) {
	f, at := open(t, kvfeed.Config{Topic: "kv", Queue: 8})
	fast := subscribe(t, f, at.pub, "")
	slow, err := net.Dial("tcp", at.pub[len("tcp://"):])
	require.NoError(t, err)
	defer slow.Close() // it never says what it is: nothing waits for it
	const n = 500
	for i := range n {
		f.Publish(make([]byte, 10_000))
		seq, _ := receive(t, fast)
		require.EqualValues(t, i, seq)
	}
}

func TestFeed_restartsOnTheSamePorts(t *testing.T) {
	list, base, err := kvfeed.Listen(host, 0, 3)
	require.NoError(t, err)
	require.Len(t, list, 3)
	for i, l := range list {
		require.Equal(t, base+i, l.Addr().(*net.TCPAddr).Port)
	}
	f := kvfeed.Open(kvfeed.Config{})
	f.Serve(list[0], nil)
	_, _, err = kvfeed.Listen(host, base, 3)
	require.Error(t, err)
	f.Close()
	f.Close()
	late, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.Serve(late, nil)
	require.ErrorIs(t, late.Close(), net.ErrClosed, "it is closed already")
	list[1].Close()
	list[2].Close()
	list, again, err := kvfeed.Listen(host, base, 3)
	require.NoError(t, err)
	require.Equal(t, base, again)
	for _, l := range list {
		l.Close()
	}
	_, _, err = kvfeed.Listen(host, 0, 100_000)
	require.ErrorContains(t, err, "use fewer ranks")
}

func TestFeed_garbageIsNoHarm(t *testing.T) {
	f, at := open(t, kvfeed.Config{Topic: "kv", ReplayTopic: true})
	f.Publish([]byte("p"))
	greeting := "\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL" + strings.Repeat("\x00", 16+1+31)
	ready := func(kind string) string {
		body := "\x05READY\x0bSocket-Type\x00\x00\x00" + string(rune(len(kind))) + kind
		return "\x04" + string(rune(len(body))) + body
	}
	const huge = "\x02\x7f\xff\xff\xff\xff\xff\xff\xff"
	for addr, kind := range map[string]string{at.pub: "SUB", at.replay: "DEALER"} {
		for _, bytes := range []string{
			"GET / HTTP/1.1\r\n\r\n",
			greeting + "\x04\x09\x05READY\x0bS",
			greeting + ready(kind) + huge,
		} {
			c, err := net.Dial("tcp", addr[len("tcp://"):])
			require.NoError(t, err)
			_, err = c.Write([]byte(bytes))
			require.NoError(t, err)
			require.NoError(t, c.(*net.TCPConn).CloseWrite())
			_, err = io.Copy(io.Discard, c) // until the feed has had enough
			require.NoError(t, err)
			require.NoError(t, c.Close())
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	dealer := zmq4.NewDealer(ctx)
	defer func() { _ = dealer.Close() }()
	require.NoError(t, dealer.Dial(at.replay))
	require.NoError(t, dealer.SendMulti(zmq4.NewMsgFrom([]byte("no delimiter"))))
	require.NoError(t, dealer.SendMulti(zmq4.NewMsgFrom([]byte{}, []byte{0})))
	m, err := dealer.Recv()
	require.NoError(t, err)
	require.EqualValues(t, 0, seqOf(m.Frames[2]), "only the well-formed request is answered")
}
