package callstream_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/callstream"
	"github.com/pointsman/pointsman/statesvc/callstream/callstreamtest"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

func receive(t testing.TB, c *callstreamtest.Client) *wirepb.CallReply {
	t.Helper()
	b, err := c.Receive()
	require.NoError(t, err)
	reply := &wirepb.CallReply{}
	require.NoError(t, proto.Unmarshal(b, reply))
	return reply
}

// requireEnd waits for the end of a stream that owes nothing.
func requireEnd(t *testing.T, r *rig, c *callstreamtest.Client, code codes.Code, says string) {
	t.Helper()
	_, err := c.Receive()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "application/grpc", c.Field("content-type"))
	require.Equal(t, strconv.Itoa(int(code)), c.Field("grpc-status"))
	require.Contains(t, c.Field("grpc-message"), says)
	require.Equal(t, code, <-r.ends)
}

// A stream outlasts what the server allows a request.
func TestStream_outlastsRequests(t *testing.T) {
	r := newRig(t)
	close(r.let)
	client := r.dial(t, callstreamtest.Window)
	for number := range uint32(3) {
		require.NoError(t, client.Send(observe(t, number+1, []byte("body"))))
		require.Equal(t, number+1, receive(t, client).GetNumber())
		time.Sleep(2 * shortly)
	}
	require.NoError(t, client.CloseSend())
	requireEnd(t, r, client, codes.OK, "")
}

// What is no call ends the stream, once the calls before it are answered.
func TestStream_endsWithWhatIsNoCall(t *testing.T) {
	for name, c := range map[string]struct {
		sent []byte
		code codes.Code
		says string
	}{
		"garbage in a frame": {callstreamtest.Frame([]byte("garbage")), codes.InvalidArgument, "not a call"},
		"no frame":           {[]byte("POST / HTTP/1.1\r\n\r\n"), codes.InvalidArgument, "not a gRPC message"},
		"compressed":         {[]byte{1, 0, 0, 0, 1, 0}, codes.Unimplemented, "without compression"},
		"too large":          {[]byte{0, 0, 1, 0, 1}, codes.ResourceExhausted, "larger than 65536 bytes"},
		"huge":               {[]byte{0, 255, 255, 255, 255}, codes.ResourceExhausted, "larger than"},
		"ends in a message":  {[]byte{0, 0, 0, 0, 9, 1}, codes.InvalidArgument, "within a message"},
		"ends in a prefix":   {[]byte{0, 0}, codes.InvalidArgument, "within a message"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			client := r.dial(t, callstreamtest.Window)
			require.NoError(t, client.Send(append(observe(t, 1, []byte("body")), c.sent...)))
			require.NoError(t, client.CloseSend())
			close(r.let)
			require.EqualValues(t, 4, receive(t, client).GetObserved().GetTokens())
			requireEnd(t, r, client, c.code, c.says)
		})
	}
}

func TestStream_takesTheLargestCall(t *testing.T) {
	r := newRig(t)
	close(r.let)
	c := r.dial(t, callstreamtest.Window)
	beside := len(observe(t, 1, make([]byte, message-100))) - (message - 100) - 5
	body := make([]byte, message-beside)
	require.Len(t, observe(t, 1, body), message+5)
	for range 20 { // more than the windows hold
		require.NoError(t, c.Send(observe(t, 1, body)))
		require.EqualValues(t, len(body), receive(t, c).GetObserved().GetTokens())
	}
	require.NoError(t, c.Send(observe(t, 1, make([]byte, len(body)+1))))
	requireEnd(t, r, c, codes.ResourceExhausted, "POST /v1/observe")
}

// Calls that come in pieces, or many at once, are told apart.
func TestStream_messagesInPieces(t *testing.T) {
	r := newRigWith(t, 101) // a place is free again soon after its reply
	close(r.let)
	c := r.dial(t, callstreamtest.Window)
	for _, b := range observe(t, 5, []byte("in pieces")) {
		require.NoError(t, c.Send([]byte{b}))
	}
	require.EqualValues(t, 9, receive(t, c).GetObserved().GetTokens())
	var many []byte
	for n := range uint32(100) {
		many = append(many, observe(t, n, make([]byte, n))...)
	}
	require.NoError(t, c.Send(many))
	seen := map[uint32]bool{}
	for range 100 {
		reply := receive(t, c)
		require.EqualValues(t, reply.GetNumber(), reply.GetObserved().GetTokens())
		seen[reply.GetNumber()] = true
	}
	require.Len(t, seen, 100)
	require.NoError(t, c.CloseSend())
	requireEnd(t, r, c, codes.OK, "")
}

// A stream works on so many calls at once, refuses more and answers greetings.
func TestStream_callsInFlightAreBounded(t *testing.T) {
	r := newRig(t)
	c := r.dial(t, callstreamtest.Window)
	for n := range uint32(inFlight + 2) {
		require.NoError(t, c.Send(observe(t, n, nil)))
	}
	require.NoError(t, c.Send(callstreamtest.Frame(encoded(t, &wirepb.Call{Number: 77}))))
	for range 2 {
		reply := receive(t, c)
		require.Equal(t, "overloaded", reply.GetRefused())
		require.GreaterOrEqual(t, reply.GetNumber(), uint32(inFlight))
	}
	greeted := receive(t, c)
	require.EqualValues(t, 77, greeted.GetNumber())
	require.Empty(t, greeted.GetRefused())
	close(r.let)
	for range inFlight {
		require.NotNil(t, receive(t, c).GetObserved())
	}
}

// A peer that does not take its replies is not read from in the end, which it notices by its
// window; other streams do not.
func TestStream_slowReader(t *testing.T) {
	r := newRig(t)
	close(r.let)
	slow := r.dial(t, 0)
	sent := make(chan error, 1)
	calls := bytes.Repeat(observe(t, 1, make([]byte, 32<<10)), 100)
	go func() { sent <- slow.Send(calls) }()
	other := r.dial(t, callstreamtest.Window)
	require.NoError(t, other.Send(observe(t, 2, []byte("quick"))))
	require.EqualValues(t, 5, receive(t, other).GetObserved().GetTokens())
	require.NoError(t, other.CloseSend())
	requireEnd(t, r, other, codes.OK, "")
	require.Eventually(t, func() bool { return r.Waiting() == inFlight }, 15*time.Second, time.Millisecond,
		"one reply is being written, and the others of the calls in flight and a refusal wait for it")
	require.Empty(t, sent, "not all was read")
	require.NoError(t, slow.Close())
	require.Error(t, <-sent)
	require.Equal(t, codes.Canceled, <-r.ends)
}

// A reply that cannot be encoded is a refusal, and the stream goes on.
func TestStream_repliesThatCannotBeSaid(t *testing.T) {
	r := newRig(t)
	close(r.let)
	c := r.dial(t, callstreamtest.Window)
	require.NoError(t, c.Send(observe(t, 8, []byte("unspeakable"))))
	reply := receive(t, c)
	require.EqualValues(t, 8, reply.GetNumber())
	require.Equal(t, "internal_error", reply.GetRefused())
	require.NoError(t, c.Send(observe(t, 9, []byte("body"))))
	require.EqualValues(t, 4, receive(t, c).GetObserved().GetTokens())
}

// The work for a client that is gone is given up.
func TestStream_clientVanishes(t *testing.T) {
	r := newRig(t)
	c := r.dial(t, callstreamtest.Window)
	for n := range uint32(inFlight) {
		require.NoError(t, c.Send(observe(t, n, nil)))
	}
	require.NoError(t, c.Send(callstreamtest.Frame(nil)))
	receive(t, c)
	require.NoError(t, c.Close())
	require.Equal(t, codes.Canceled, <-r.ends, "nobody lets the calls")
}

// What has come before a drain is answered.
func TestServer_drain(t *testing.T) {
	r := newRig(t)
	c := r.dial(t, callstreamtest.Window)
	for n := range uint32(inFlight) {
		require.NoError(t, c.Send(observe(t, n, nil)))
	}
	require.NoError(t, c.Send(callstreamtest.Frame(nil)))
	receive(t, c)
	r.Drain()
	r.Drain()
	require.NoError(t, c.Send(observe(t, 99, nil)), "it crosses the end")
	close(r.let)
	for range inFlight {
		require.NotNil(t, receive(t, c).GetObserved())
	}
	requireEnd(t, r, c, codes.Unavailable, "open the stream anew")
	late := r.dial(t, callstreamtest.Window)
	_, err := late.Receive()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, strconv.Itoa(int(codes.Unavailable)), late.Field("grpc-status"))
}

func TestServer_streamsAreBounded(t *testing.T) {
	r := newRig(t)
	for range 2 {
		c := r.dial(t, callstreamtest.Window)
		require.NoError(t, c.Send(callstreamtest.Frame(nil)))
		receive(t, c)
	}
	third := r.dial(t, callstreamtest.Window)
	_, err := third.Receive()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, strconv.Itoa(int(codes.ResourceExhausted)), third.Field("grpc-status"))
	require.Equal(t, "200", third.Field(":status"))
}

func TestSpeaks(t *testing.T) {
	request := func(major int, contentType string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, callstream.Path, nil)
		r.ProtoMajor = major
		r.Header.Set("Content-Type", contentType)
		return r
	}
	require.NoError(t, callstream.Speaks(request(2, "application/grpc")))
	require.NoError(t, callstream.Speaks(request(2, "application/grpc+proto")))
	require.ErrorContains(t, callstream.Speaks(request(1, "application/grpc")), "HTTP/2")
	for _, other := range []string{"", "application/grpc-web", "application/grpc+json", "application/x-protobuf"} {
		require.ErrorContains(t, callstream.Speaks(request(2, other)), "content-type", other)
	}
}
