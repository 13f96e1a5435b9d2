package zmqsub_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/stretchr/testify/require"
)

// greeting is what a ZMTP 3.0 peer with the NULL mechanism begins with.
func greeting() []byte {
	g := make([]byte, 64)
	g[0], g[9], g[10] = 0xff, 0x7f, 3
	copy(g[12:], "NULL")
	return g
}

// ready is a READY command with metadata.
func ready(metadata []byte) []byte {
	body := append([]byte("\x05READY"), metadata...)
	return append([]byte{4, byte(len(body))}, body...)
}

func socketType(name string) []byte {
	b := append([]byte{11}, "Socket-Type"...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
	return append(b, name...)
}

// TestStream_hostilePeers: whatever a peer says costs no more than its connection.
func TestStream_hostilePeers(t *testing.T) {
	pub := append(greeting(), ready(socketType("PUB"))...)
	huge := binary.BigEndian.AppendUint64([]byte{2}, 1<<63)
	for name, says := range map[string][]byte{
		"nothing":               nil,
		"HTTP":                  []byte("HTTP/1.1 400 Bad Request\r\n\r\n" + string(make([]byte, 64))),
		"old version":           append([]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 1}, make([]byte, 53)...),
		"no metadata":           append(greeting(), ready(nil)...),
		"cut metadata":          append(greeting(), ready([]byte{11})...),
		"long metadata":         append(greeting(), ready([]byte("\xffx"))...),
		"unknown socket":        append(greeting(), ready(socketType("NOSUCH"))...),
		"SUB socket":            append(greeting(), ready(socketType("SUB"))...),
		"huge READY":            append(greeting(), 6, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		"message before READY":  append(greeting(), 0, 1, 'x'),
		"empty command":         append(greeting(), 4, 0),
		"huge part":             append(bytes.Clone(pub), huge...),
		"huge command":          append(bytes.Clone(pub), append([]byte{6}, huge[1:]...)...),
		"parts without end":     append(bytes.Clone(pub), bytes.Repeat([]byte{1, 0}, 1000)...),
		"malformed commands":    append(bytes.Clone(pub), 4, 0, 4, 1, 200, 4, 5, 4, 'P', 'I', 'N', 'G'),
		"bytes without meaning": append(bytes.Clone(pub), bytes.Repeat([]byte{0xff}, 5000)...),
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer l.Close()
			met := make(chan struct{}, 1)
			served := make(chan struct{})
			go func() {
				defer close(served)
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_ = c.SetDeadline(time.Now().Add(100 * time.Millisecond))
					_, _ = c.Write(says)
					_, _ = io.Copy(io.Discard, c)
					_ = c.Close()
					select {
					case met <- struct{}{}:
					default:
					}
				}
			}()
			taken := &sink{}
			endpoint := "tcp://" + l.Addr().String()
			stream := zmqsub.Open(zmqsub.Options{Endpoint: endpoint, Replay: endpoint, Sink: taken, Logger: discard(), Limits: quick()})
			<-met
			<-met
			require.NotEqual(t, zmqsub.TrustFull, stream.Status().Trust())
			stream.Close()
			_ = l.Close()
			<-served
			got, _ := taken.has()
			require.Empty(t, got)
		})
	}
}

func TestFeed_lastMessageCounts(t *testing.T) {
	pub := zmqtest.Start(t, "load")
	got := make(chan string, 10)
	f := zmqsub.OpenFeed(zmqsub.FeedOptions{Endpoint: pub.Endpoint(), Topic: "load", MaxMessageBytes: 100, Logger: discard(), Take: func(p []byte) { got <- string(p) }})
	t.Cleanup(f.Close)
	r := &rig{T: t, pub: pub, sink: &sink{}}
	r.eventually("subscribed", func() bool { return pub.Subscribers() == 1 })
	pub.SendAs(7, []byte("seven"))
	pub.SendAs(3, []byte("three"))
	pub.SendAs(-1, []byte("end"))
	pub.Send([]byte("load"), []byte("x"))
	pub.Send([]byte("loads of"), make([]byte, 8), make([]byte, 1000))
	pub.Send([]byte("other"), make([]byte, 8), []byte("x"))
	pub.SendAs(0, []byte("zero"))
	for _, want := range []string{"seven", "three", "zero"} {
		require.Equal(t, want, <-got)
	}
	st := f.Status()
	require.True(t, st.Connected)
	require.EqualValues(t, 3, st.Counts.Batches)
	require.EqualValues(t, 1, st.Counts.BadFrames)
	require.EqualValues(t, 1, st.Counts.Oversized)
	pub.Kill()
	pub.Restart()
	r.eventually("again", func() bool { return pub.Subscribers() == 1 })
	pub.SendAs(0, []byte("again"))
	require.Equal(t, "again", <-got)
}
