package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/callstream"
	"github.com/pointsman/pointsman/statesvc/callstream/callstreamtest"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// streamOf opens a stream of calls as any gRPC client does.
func (s *stage) streamOf(t testing.TB, header ...string) grpc.ClientStream {
	t.Helper()
	scheme, address, _ := strings.Cut(s.url, "://")
	how := insecure.NewCredentials()
	if scheme == "https" {
		how = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(how))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(context.Background(), header...), 20*time.Second)
	t.Cleanup(func() {
		cancel()
		_ = conn.Close()
	})
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{StreamName: "Calls", ServerStreams: true, ClientStreams: true}, callstream.Path)
	require.NoError(t, err)
	return stream
}

func send(t testing.TB, stream grpc.ClientStream, calls ...*wirepb.Call) {
	t.Helper()
	for _, c := range calls {
		require.NoError(t, stream.SendMsg(c))
	}
}

func receive(t testing.TB, stream grpc.ClientStream) *wirepb.CallReply {
	t.Helper()
	var reply wirepb.CallReply
	require.NoError(t, stream.RecvMsg(&reply))
	return &reply
}

// replies reads so many replies, by number.
func replies(t testing.TB, stream grpc.ClientStream, n int) map[uint32]*wirepb.CallReply {
	t.Helper()
	out := map[uint32]*wirepb.CallReply{}
	for range n {
		reply := receive(t, stream)
		require.NotContains(t, out, reply.GetNumber(), "one reply for each call")
		out[reply.GetNumber()] = reply
	}
	return out
}

// ended waits for the end of a stream without further replies.
func ended(t testing.TB, stream grpc.ClientStream) *status.Status {
	t.Helper()
	err := stream.RecvMsg(&wirepb.CallReply{})
	require.Error(t, err)
	if errors.Is(err, io.EOF) {
		return status.New(codes.OK, "")
	}
	return status.Convert(err)
}

func binds(number uint32, name, worker string) *wirepb.Call {
	return &wirepb.Call{Number: number, Bind: &wirepb.BindRequest{Context: 1, TimeoutMs: 10_000, Proposals: []*wirepb.Proposal{{Scope: scope(name), Worker: worker}}}}
}

// Calls of a stream are answered as they are done, not as they came, with what POST answers.
func TestServer_streamAnswersInAnyOrder(t *testing.T) {
	s, r := newReader(t, nil)
	stream := s.streamOf(t)
	asking := asks()
	asking.Scopes = []*wirepb.Scope{scope("x")}
	send(t, stream, &wirepb.Call{Number: 1, Observe: asking, Body: []byte("a prompt")})
	s.eventually(t, func() bool { return r.looks.Load() == 1 }, "the observe waits")
	send(t, stream, &wirepb.Call{Number: 2}, binds(3, "x", "a"))
	early := replies(t, stream, 2)
	require.Empty(t, early[2].GetRefused())
	require.Nil(t, early[2].GetObserved())
	require.Equal(t, map[string]string{"x": "a"}, bound(early[3].GetBound().GetBindings()))
	close(r.let)
	late := receive(t, stream)
	require.EqualValues(t, 1, late.GetNumber())
	require.EqualValues(t, len("a prompt"), late.GetObserved().GetTokens())
	require.Len(t, late.GetObserved().GetLookups(), 1)
	require.Equal(t, map[string]string{"x": "a"}, bound(late.GetObserved().GetBindings()))
	require.NoError(t, stream.CloseSend())
	require.Equal(t, codes.OK, ended(t, stream).Code())

	s.counted(t, "observes_total", "answered", 1)
	s.counted(t, "binds_total", "answered", 1)
	s.shows(t, `pointsman_state_http_requests_total{route="observe",status="200"} 1`,
		`pointsman_state_http_requests_total{route="bind",status="200"} 1`,
		`pointsman_state_http_requests_total{route="calls",status="200"} 1`, `pointsman_state_call_streams 0`)
}

// shows waits until the metrics have these lines.
func (s *stage) shows(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		s.eventually(t, func() bool { return strings.Contains(s.do(t, "GET", "/metrics", nil).body, line+"\n") }, line)
	}
}

// What POST refuses a stream refuses with the same code, and the next call is served.
func TestServer_streamRefusesCalls(t *testing.T) {
	s, r := newReader(t, func(c *config.Config) { c.Limits.MaxConcurrent = 8 }) // one for each call
	close(r.let)
	stream := s.streamOf(t)
	large := []byte(strings.Repeat("x", int(small.MaxObserveBodyBytes)+1))
	both := binds(4, "x", "a")
	both.Observe = asks()
	send(t, stream,
		&wirepb.Call{Number: 1, Observe: &wirepb.ObserveRequest{}},
		&wirepb.Call{Number: 2, Bind: &wirepb.BindRequest{Context: 1}},
		&wirepb.Call{Number: 3, Observe: asks(), Body: large},
		both,
		&wirepb.Call{Number: 5, Observe: &wirepb.ObserveRequest{Context: 1}, Body: large},
		&wirepb.Call{Number: 6, Observe: asks(), Body: large[1:]},
	)
	got := replies(t, stream, 6)
	for number, code := range map[uint32]string{1: "bad_request", 2: "bad_request", 3: "payload_too_large", 4: "bad_request", 5: "", 6: ""} {
		require.Equal(t, code, got[number].GetRefused(), number)
		require.Equal(t, code == "", got[number].GetObserved() != nil, number)
	}
	s.counted(t, "observes_total", "refused", 3)
	s.counted(t, "binds_total", "refused", 1)
	s.shows(t, `pointsman_state_http_requests_total{route="observe",status="413"} 1`, `pointsman_state_call_streams 1`)
}

// Calls of streams and requests share the slots.
func TestServer_streamIsRefusedEarly(t *testing.T) {
	s, r := newReader(t, func(c *config.Config) { c.Limits.MaxConcurrent = 1 })
	stream := s.streamOf(t)
	send(t, stream, &wirepb.Call{Number: 1, Observe: asks(), Body: []byte("x")})
	s.eventually(t, func() bool { return r.looks.Load() == 1 }, "the slot is taken")
	send(t, stream, &wirepb.Call{Number: 2, Observe: asks(), Body: []byte("y")}, binds(3, "x", "a"), &wirepb.Call{Number: 4})
	early := replies(t, stream, 3)
	require.Equal(t, "overloaded", early[2].GetRefused())
	require.Equal(t, "overloaded", early[3].GetRefused())
	require.Empty(t, early[4].GetRefused(), "a greeting takes no slot")
	close(r.let)
	require.NotNil(t, receive(t, stream).GetObserved())
	s.counted(t, "observes_total", "overloaded", 1)
	s.counted(t, "binds_total", "overloaded", 1)
}

// Each call is answered by its own time, late or not.
func TestServer_streamKeepsDeadlines(t *testing.T) {
	s := newStageWith(t, nil, func(o *server.Options) { o.Bindings = stuck{} })
	stream := s.streamOf(t)
	bind := binds(2, "x", "a")
	bind.Bind.TimeoutMs = 20
	send(t, stream, &wirepb.Call{Number: 1, Observe: &wirepb.ObserveRequest{Context: 1, TimeoutMs: 20, Scopes: []*wirepb.Scope{scope("x")}}}, bind)
	got := replies(t, stream, 2)
	require.NotNil(t, got[1].GetObserved())
	require.Empty(t, got[1].GetObserved().GetBindings())
	require.Equal(t, "bindings_unavailable", got[2].GetRefused())
	s.counted(t, "observes_total", "late", 1)
	s.counted(t, "binds_total", "late", 1)
}

func TestServer_streamToken(t *testing.T) {
	s := newStage(t, func(c *config.Config) { c.Token, c.Discovery.HTTP.Token = "s3cret", "admin" })
	for _, header := range [][]string{nil, {"authorization", "Bearer wrong"}, {"authorization", "s3cret"}} {
		end := ended(t, s.streamOf(t, header...))
		require.Equal(t, codes.Unauthenticated, end.Code())
		require.Contains(t, end.Message(), "authorization: Bearer <token>")
	}
	for _, token := range []string{"s3cret", "admin"} {
		stream := s.streamOf(t, "authorization", "Bearer "+token)
		send(t, stream, &wirepb.Call{Number: 9})
		require.EqualValues(t, 9, receive(t, stream).GetNumber())
	}
	s.shows(t, `pointsman_state_http_requests_total{route="calls",status="401"} 3`)
}

func TestServer_streamsAreBounded(t *testing.T) {
	s := newStage(t, func(c *config.Config) { c.Limits.MaxContexts = 1 })
	first := s.streamOf(t)
	send(t, first, &wirepb.Call{Number: 1})
	receive(t, first)
	end := ended(t, s.streamOf(t))
	require.Equal(t, codes.ResourceExhausted, end.Code())
	require.Contains(t, end.Message(), "too many streams")
	send(t, first, &wirepb.Call{Number: 2})
	receive(t, first)
}

// A drain ends streams after the replies they owe, and a stop does not wait for their clients.
func TestServer_drainEndsStreams(t *testing.T) {
	s, r := newReader(t, nil)
	owing, idle := s.streamOf(t), s.streamOf(t)
	send(t, owing, &wirepb.Call{Number: 1, Observe: asks(), Body: []byte("slow")})
	send(t, idle, &wirepb.Call{Number: 1})
	receive(t, idle)
	s.eventually(t, func() bool { return r.looks.Load() == 1 }, "one reply is owed")
	s.Drain()
	require.Equal(t, codes.Unavailable, ended(t, idle).Code())
	require.Equal(t, codes.Unavailable, ended(t, s.streamOf(t)).Code(), "no new ones either")
	close(r.let)
	require.EqualValues(t, 4, receive(t, owing).GetObserved().GetTokens())
	end := ended(t, owing)
	require.Equal(t, codes.Unavailable, end.Code())
	require.Contains(t, end.Message(), "stops")
	s.shows(t, `pointsman_state_call_streams 0`)
}

// A stop does not wait for a client that keeps its connection and is owed nothing.
func TestServer_stopEndsIdleStreams(t *testing.T) {
	s := newStage(t, nil)
	c, err := callstreamtest.Dial(strings.TrimPrefix(s.url, "http://"), callstreamtest.Window)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.Send(callstreamtest.Frame(nil)))
	_, err = c.Receive()
	require.NoError(t, err)
	require.NoError(t, s.Stop(context.Background()))
	_, err = c.Receive()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, strconv.Itoa(int(codes.Unavailable)), c.Field("grpc-status"))
}

// broken is a store that panics.
type broken struct{ affinity.Store }

func (broken) Bind(context.Context, core.Instant, []affinity.Proposal) ([]core.WorkerID, error) {
	panic("a store that nobody thought of")
}

// A call that breaks is refused, and neither its stream nor its slot is lost.
func TestServer_streamSurvivesPanics(t *testing.T) {
	s := newStageWith(t, func(c *config.Config) { c.Limits.MaxConcurrent = 1 }, func(o *server.Options) { o.Bindings = broken{} })
	stream := s.streamOf(t)
	for n := range uint32(3) {
		send(t, stream, binds(n, "x", "a"))
		require.Equal(t, "internal_error", receive(t, stream).GetRefused())
		s.shows(t, fmt.Sprintf(`pointsman_state_http_requests_total{route="bind",status="500"} %d`, n+1))
	}
}

// A stop whose time is over cuts the streams that still owe something.
func TestServer_stopCutsStreams(t *testing.T) {
	s, r := newReader(t, nil)
	stream := s.streamOf(t)
	send(t, stream, &wirepb.Call{Number: 1, Observe: asks(), Body: []byte("slow")})
	s.eventually(t, func() bool { return r.looks.Load() == 1 }, "a reply is owed")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, s.Stop(ctx), context.Canceled)
	require.Equal(t, codes.Unavailable, ended(t, stream).Code())
}
