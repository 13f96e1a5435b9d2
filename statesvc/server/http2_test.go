package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/callstream"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// overHTTP2 makes a stage's client speak HTTP/2 without TLS.
func (s *stage) overHTTP2(t *testing.T) *stage {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s.client.CloseIdleConnections()
	s.client = &http.Client{Transport: &http.Transport{Protocols: protocols}, Timeout: 20 * time.Second}
	t.Cleanup(s.client.CloseIdleConnections)
	resp, err := s.client.Get(s.url + "/healthz")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 2, resp.ProtoMajor)
	return s
}

// The calls are the same over HTTP/2, their bounds too.
func TestServer_overHTTP2(t *testing.T) {
	s, r := newReader(t, nil)
	close(r.let)
	s.overHTTP2(t)
	a := s.do(t, "POST", "/v1/sync", encoded(wire.SyncRequest{Context: 1, Seq: 4, Workers: one("a", 5)}), contentType, protobuf)
	require.Equal(t, http.StatusOK, a.status)
	reply, err := wire.DecodeSyncReply([]byte(a.body))
	require.NoError(t, err)
	require.True(t, reply.Full)
	require.EqualValues(t, 5, s.board.Workers()[1].Inflight)
	require.EqualValues(t, 6, observed(t, s.call(t, asks(), "prompt")).GetTokens())
	require.Equal(t, map[string]string{"x": "a"}, s.bind(t, &wirepb.Proposal{Scope: scope("x"), Worker: "a"}))

	large := strings.Repeat("x", int(small.MaxObserveBodyBytes)+1)
	requireEnvelope(t, s.call(t, asks(), large), 413, "payload_too_large")
	requireEnvelope(t, s.do(t, "POST", "/v1/sync", []byte(large), contentType, protobuf), 413, "payload_too_large")
	var headers []string
	for i := range 20 {
		headers = append(headers, fmt.Sprintf("x-h%d", i), "1")
	}
	requireEnvelope(t, s.do(t, "GET", "/v1/workers", nil, headers...), 431, "too_many_headers")
	require.EqualValues(t, 5, observed(t, s.call(t, asks(), "again")).GetTokens())
}

func TestServer_headerBytesAreBoundedOverHTTP2(t *testing.T) {
	s := newStage(t, nil).overHTTP2(t)
	req, err := http.NewRequest("GET", s.url+"/v1/workers", nil)
	require.NoError(t, err)
	req.Header.Set("x-long", strings.Repeat("x", 16<<10))
	resp, err := s.client.Do(req)
	if err != nil {
		require.ErrorContains(t, err, "larger than peer's advertised limit", "the client heeds it")
		return
	}
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 431, resp.StatusCode)
}

// One connection can ask for all the slots and no more.
func TestServer_slotsAreBoundedOverHTTP2(t *testing.T) {
	s, r := newReader(t, func(c *config.Config) { c.Limits.MaxConcurrent = 2 })
	s.overHTTP2(t)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { observed(t, s.call(t, asks(), fmt.Sprint(i))) })
	}
	s.eventually(t, func() bool { return r.looks.Load() == 2 }, "both slots are taken")
	requireEnvelope(t, s.call(t, asks(), "third"), 503, "overloaded")
	close(r.let)
	wg.Wait()
}

// A connection that says nothing, or not what it speaks, is closed in a bounded time.
func TestServer_silentConnectionsAreClosed(t *testing.T) {
	s := newStage(t, nil)
	for _, said := range []string{"", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\nhost: x\r\n"} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			require.NoError(t, conn.SetDeadline(time.Now().Add(60*time.Second)))
			_, err = conn.Write([]byte(said))
			require.NoError(t, err)
			for b := make([]byte, 1024); err == nil; {
				_, err = conn.Read(b)
			}
			var timedOut net.Error
			require.False(t, errors.As(err, &timedOut) && timedOut.Timeout(), "closed, not left hanging")
		})
	}
}

// Who comes to the stream's path by other means is told what to do.
func TestServer_streamIsForGRPC(t *testing.T) {
	s := newStage(t, nil)
	grpcType := []string{contentType, "application/grpc"}
	a := s.do(t, "POST", callstream.Path, nil, grpcType...)
	requireEnvelope(t, a, 505, "grpc_only")
	require.Contains(t, a.body, "needs HTTP/2")
	requireEnvelope(t, s.endless(t, callstream.Path, grpcType...), 505, "grpc_only")
	s.overHTTP2(t)
	requireEnvelope(t, s.do(t, "POST", callstream.Path, nil, contentType, protobuf), 415, "grpc_only")
	requireEnvelope(t, s.do(t, "GET", callstream.Path, nil, grpcType...), 405, "method_not_allowed")
	requireEnvelope(t, s.do(t, "POST", callstream.Path+"s", nil, grpcType...), 404, "not_found")

	guarded := newStage(t, func(c *config.Config) { c.Token = "s3cret" })
	requireEnvelope(t, guarded.do(t, "POST", callstream.Path, nil, grpcType...), 401, "unauthorized")
}

// Over TLS the client and the server agree on HTTP/2, and HTTP/1.1 is served as well.
func TestServer_overTLS(t *testing.T) {
	lent := httptest.NewTLSServer(nil)
	certificates := lent.TLS.Certificates
	lent.Close()
	r := &reader{let: make(chan struct{})}
	close(r.let)
	s := newStageWith(t, nil, func(o *server.Options) {
		o.Prompts, o.TLS = r, &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12}
	})
	s.url = strings.Replace(s.url, "http://", "https://", 1)
	header := base64.RawURLEncoding.EncodeToString(marshal(t, asks()))
	for major, http2 := range map[int]bool{1: false, 2: true} {
		transport := &http.Transport{ForceAttemptHTTP2: http2, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		req, err := http.NewRequestWithContext(context.Background(), "POST", s.url+wire.ObservePath, bytes.NewReader([]byte("prompt")))
		require.NoError(t, err)
		req.Header.Set(wire.ObserveHeader, header)
		resp, err := transport.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, major, resp.ProtoMajor)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		transport.CloseIdleConnections()
	}
	stream := s.streamOf(t)
	send(t, stream, &wirepb.Call{Number: 3, Observe: asks(), Body: []byte("prompt")})
	require.EqualValues(t, 6, receive(t, stream).GetObserved().GetTokens())
}

// endless is do with a body that does not end before the answer, as streams are.
func (s *stage) endless(t *testing.T, path string, header ...string) answer {
	t.Helper()
	body, ends := io.Pipe()
	defer ends.Close()
	return s.send(t, http.MethodPost, path, body, header...)
}
