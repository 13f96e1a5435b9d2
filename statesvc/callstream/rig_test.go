package callstream_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/callstream"
	"github.com/pointsman/pointsman/statesvc/callstream/callstreamtest"
	"github.com/pointsman/pointsman/statesvc/windowhold"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler answers an observe with the length of its body as tokens, once it is let.
type handler struct{ let chan struct{} }

func (h handler) Answer(ctx context.Context, c *callstream.Call) *wirepb.CallReply {
	if string(c.Body) == "unspeakable" {
		return &wirepb.CallReply{Observed: &wirepb.ObserveReply{Lookups: []*wirepb.Lookup{{Detail: "\xff"}}}}
	}
	select {
	case <-h.let:
		return &wirepb.CallReply{Observed: &wirepb.ObserveReply{Tokens: new(uint64(len(c.Body)))}}
	case <-ctx.Done():
		return &wirepb.CallReply{Refused: "gone"}
	}
}

func (h handler) Overloaded(*callstream.Call) *wirepb.CallReply {
	return &wirepb.CallReply{Refused: "overloaded"}
}

// rig is a server of streams, whose ends it tells.
type rig struct {
	*callstream.Server
	handler
	address string
	ends    chan codes.Code
}

// shortly is how long the server allows a request that is no stream.
const shortly = 100 * time.Millisecond

const (
	inFlight = 4
	message  = 64 << 10
)

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigWith(t, inFlight)
}

func newRigWith(t testing.TB, inFlight int) *rig {
	t.Helper()
	r := &rig{handler: handler{make(chan struct{})}, ends: make(chan codes.Code, 100)}
	r.Server = callstream.New(callstream.Options{Handler: r.handler, Streams: 2, InFlight: inFlight, Message: message})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, ReadTimeout: shortly, WriteTimeout: shortly, Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if st := r.Open(w, q); st != nil {
			r.ends <- st.Serve()
		}
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r.address = listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- server.Serve(windowhold.Listener(listener, 32<<10)) }()
	t.Cleanup(func() {
		r.Drain()
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return r
}

func (r *rig) dial(t testing.TB, window uint32) *callstreamtest.Client {
	t.Helper()
	c, err := callstreamtest.Dial(r.address, window)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// observe is a call as it stands on the wire.
func observe(t testing.TB, number uint32, body []byte) []byte {
	t.Helper()
	return callstreamtest.Frame(encoded(t, &wirepb.Call{Number: number, Observe: &wirepb.ObserveRequest{Context: 1}, Body: body}))
}
