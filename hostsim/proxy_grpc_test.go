package hostsim_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pointsman/pointsman/hostsim"
)

// rawCodec passes messages as they are.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

func (rawCodec) Name() string { return "raw" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// newTalker is a gRPC server whose streams talk does.
func newTalker(t testing.TB, talk func(s grpc.ServerStream) error) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}), grpc.MaxRecvMsgSize(64<<20),
		grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error { return talk(s) }))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-ended)
	})
	return l.Addr().String()
}

// shout answers each message by itself in capitals, until the guest ends the stream.
func shout(s grpc.ServerStream) error {
	_ = s.SendHeader(metadata.Pairs("x-mark", "here"))
	for {
		var message []byte
		if err := s.RecvMsg(&message); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if strings.HasPrefix(string(message), "bye") {
			return status.Error(codes.Unavailable, string(message))
		}
		message = []byte(strings.ToUpper(string(message)))
		if err := s.SendMsg(&message); err != nil {
			return err
		}
	}
}

// talkTo starts a proxy with one VM whose guest may open streams to the cluster "state".
func talkTo(t testing.TB, state hostsim.Cluster) (do func(steps ...string), logs *lockedLogs, p *hostsim.Proxy) {
	t.Helper()
	logs = &lockedLogs{}
	state.Name = "state"
	url, p := startProxy(t, func(c *hostsim.ProxyConfig) {
		c.VMs, c.Logger = 1, logs.logger()
		c.Clusters = append(engines(newEngine(t, "a", nil)), state)
	})
	return func(steps ...string) {
		resp, _ := post(t, url, "headers:"+strings.Join(steps, " headers:"), http.NoBody)
		require.Equal(t, 200, resp.StatusCode)
	}, logs, p
}

func TestProxy_streamsOverHTTP2(t *testing.T) {
	do, logs, _ := talkTo(t, hostsim.Cluster{Endpoints: []string{newTalker(t, shout)}, HTTP2: true})
	saw := func(text string) { t.Helper(); eventually(t, func() bool { return logs.has(text) }) }
	do("open:state", "send:0=one", "send:0=two")
	saw("stream 0: initial 3 here")
	saw("stream 0: message ONE")
	saw("stream 0: message TWO")
	do("openplain:state", "send:1=three", "send:0=four")
	saw("stream 1: message THREE")
	saw("stream 0: message FOUR")
	// Far above the windows of HTTP/2, both ways.
	do("sendbig:1=3000000", "send:0=five")
	saw("stream 1: message 3000000 bytes")
	saw("stream 0: message FIVE")
	do("close:0")
	saw("stream 0: closed 0 ")
	do("send:1=bye-bye")
	saw("stream 1: trailing 2 14")
	saw("stream 1: closed 14 bye-bye")
	do("close:1")
}

func TestProxy_streamsThatFindNobody(t *testing.T) {
	plain := newEngine(t, "plain", func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		http.Error(w, "no such thing", http.StatusNotFound)
	})
	quits := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	quits.Config.Protocols = &http.Protocols{}
	quits.Config.Protocols.SetUnencryptedHTTP2(true)
	quits.Start()
	t.Cleanup(quits.Close)
	tests := []struct {
		name  string
		state hostsim.Cluster
		want  string
	}{
		{"dead", hostsim.Cluster{Endpoints: []string{deadAddress(t)}, HTTP2: true}, "closed 14 upstream connect error"},
		{"dead HTTP/1.1", hostsim.Cluster{Endpoints: []string{deadAddress(t)}}, "closed 14 upstream connect error"},
		{"HTTP/1.1", hostsim.Cluster{Endpoints: []string{plain}}, "closed 12 "},
		{"HTTP/1.1 spoken to in HTTP/2", hostsim.Cluster{Endpoints: []string{plain}, HTTP2: true}, "closed 14 upstream connect error"},
		{"HTTP/2 spoken to in HTTP/1.1", hostsim.Cluster{Endpoints: []string{newTalker(t, shout)}}, "closed 14 upstream connect error"},
		{"breaks off", hostsim.Cluster{Endpoints: []string{quits.URL}, HTTP2: true}, "closed 13 "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			do, logs, _ := talkTo(t, tt.state)
			do("open:state", "send:0=one")
			eventually(t, func() bool { return logs.has(tt.want) })
			require.True(t, logs.has("stream 0: initial"), logs.all())
			require.True(t, logs.has("stream 0: trailing"), logs.all())
		})
	}
}

func TestProxy_streamsEndWithTheProxy(t *testing.T) {
	ended := make(chan error, 2)
	address := newTalker(t, func(s grpc.ServerStream) error {
		err := shout(s)
		ended <- err
		return err
	})
	do, logs, p := talkTo(t, hostsim.Cluster{Endpoints: []string{address}, HTTP2: true})
	do("open:state", "send:0=one", "open:state", "send:1=two")
	eventually(t, func() bool { return logs.has("message ONE") && logs.has("message TWO") })
	do("cancel:1")
	require.Equal(t, codes.Canceled, status.Code(<-ended))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, p.Stop(ctx))
	require.Equal(t, codes.Canceled, status.Code(<-ended))
	require.False(t, logs.has("closed"), "the guest hears nothing of what it or the host cancelled")
}

func TestProxy_calloutsOverHTTP2(t *testing.T) {
	state := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Proto+" "+r.URL.Path+" "+string(b))
	}))
	state.Config.Protocols = &http.Protocols{}
	state.Config.Protocols.SetUnencryptedHTTP2(true)
	state.Start()
	t.Cleanup(state.Close)
	do, logs, _ := talkTo(t, hostsim.Cluster{Endpoints: []string{state.URL}, HTTP2: true})
	do("pause", "call:state=5000")
	require.True(t, logs.has("status 200, body HTTP/2.0 /pick question"), logs.all())
}
