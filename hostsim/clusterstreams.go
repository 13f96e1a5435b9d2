package hostsim

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
)

// streamBacklog is how many messages of one stream may wait for the guest before its connection is read no further.
const streamBacklog = 64

// clusterStreams carries gRPC streams over HTTP to the hosts of a proxy's clusters. Safe for concurrent use.
type clusterStreams struct {
	clusters map[string]*cluster
	running  sync.WaitGroup
}

func newClusterStreams(clusters map[string]*cluster) *clusterStreams {
	return &clusterStreams{clusters: clusters}
}

// HasCluster implements GRPCTransport.
func (t *clusterStreams) HasCluster(name string) bool { return t.clusters[name] != nil }

// Open implements GRPCTransport.
func (t *clusterStreams) Open(call GRPCCall, deliver func(GRPCEvent)) GRPCStream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &clusterStream{out: newGRPCOutbox(), cancel: cancel, deliver: deliver, room: make(chan struct{}, streamBacklog)}
	t.running.Go(func() {
		defer s.Cancel()
		s.run(ctx, t.clusters[call.Cluster], call)
	})
	return s
}

// wait returns when no stream runs any more. VMs cancel theirs when they close.
func (t *clusterStreams) wait() { t.running.Wait() }

// clusterStream is one stream at work.
type clusterStream struct {
	out     *grpcOutbox
	cancel  func()
	deliver func(GRPCEvent)
	room    chan struct{} // holds a token for each message that waits for the guest
}

// Send implements GRPCStream.
func (s *clusterStream) Send(message []byte, last bool) { s.out.put(message, last) }

// CloseSend implements GRPCStream.
func (s *clusterStream) CloseSend() { s.out.end() }

// Cancel implements GRPCStream.
func (s *clusterStream) Cancel() {
	s.cancel()
	_ = s.out.Close()
}

// run makes the request and delivers all that comes of it.
func (s *clusterStream) run(ctx context.Context, cl *cluster, call GRPCCall) {
	host, err := cl.walk(call.Metadata).next()
	if err != nil {
		s.localReply("no healthy upstream")
		return
	}
	transport := cl.streamTransport(s.out)
	resp, err := transport.RoundTrip(cl.streamRequest(host, call, s.out).WithContext(ctx))
	switch {
	case ctx.Err() != nil:
		if err == nil {
			_ = resp.Body.Close()
		}
	case err == nil:
		defer resp.Body.Close()
		s.answer(ctx, resp)
	case connectFailed(err):
		s.localReply(connectFailureText)
	default:
		s.localReply(noHeadersText + "connection termination")
	}
}

// answer delivers what the host answers (Envoy's AsyncStreamImpl).
func (s *clusterStream) answer(ctx context.Context, resp *http.Response) {
	headers := responseHeaders(resp)
	_, hasStatus := headers.First(grpcStatusHeader)
	bare := resp.ContentLength == 0
	switch {
	case bare && (resp.StatusCode == http.StatusOK || hasStatus):
		s.deliver(GRPCEvent{Kind: GRPCInitialMetadata})
		s.finish(headers)
	case resp.StatusCode != http.StatusOK:
		s.deliver(GRPCEvent{Kind: GRPCInitialMetadata})
		s.fail(statusOfHTTP(resp.StatusCode), "")
	default:
		s.deliver(GRPCEvent{Kind: GRPCInitialMetadata, Metadata: headers})
		s.messages(ctx, resp)
	}
}

// messages delivers messages, and what ends them.
func (s *clusterStream) messages(ctx context.Context, resp *http.Response) {
	for {
		message, err := readGRPCMessage(resp.Body, DefaultCalloutLimit)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && len(resp.Trailer) > 0:
			trailers := NewHeaders()
			addFields(trailers, resp.Trailer)
			s.finish(trailers)
			return
		case errors.Is(err, io.EOF):
			s.fail(grpcUnknown, "")
			return
		case errors.Is(err, errGRPCTooLarge):
			s.fail(grpcResourceExhausted, err.Error())
			return
		default:
			s.fail(grpcInternal, "")
			return
		}
		select {
		case s.room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		s.deliver(GRPCEvent{Kind: GRPCMessage, Message: message, Taken: func() { <-s.room }})
	}
}

// finish is the end that the trailers tell.
func (s *clusterStream) finish(trailers *Headers) {
	s.deliver(GRPCEvent{Kind: GRPCTrailingMetadata, Metadata: trailers})
	reason, _ := trailers.First(grpcMessageHeader) // as it came: Envoy does not decode it
	s.deliver(GRPCEvent{Kind: GRPCClosed, Status: statusOfTrailers(trailers), Reason: reason})
}

// fail is an end without trailers.
func (s *clusterStream) fail(status uint32, reason string) {
	s.deliver(GRPCEvent{Kind: GRPCTrailingMetadata})
	s.deliver(GRPCEvent{Kind: GRPCClosed, Status: status, Reason: reason})
}

// localReply is what the guest sees when no host answered: Envoy makes up an answer of gRPC.
func (s *clusterStream) localReply(text string) {
	s.deliver(GRPCEvent{Kind: GRPCInitialMetadata})
	s.finish(NewHeaders([2]string{":status", "200"}, [2]string{"content-type", "application/grpc"},
		[2]string{grpcStatusHeader, strconv.Itoa(grpcUnavailable)}, [2]string{grpcMessageHeader, text}))
}

// Names of the fields that end a gRPC stream.
const (
	grpcStatusHeader  = "grpc-status"
	grpcMessageHeader = "grpc-message"
)

// statusOfTrailers reads the status: unknown where there is none, and Envoy's -1 where it is no code.
func statusOfTrailers(h *Headers) uint32 {
	text, ok := h.First(grpcStatusHeader)
	if !ok {
		return grpcUnknown
	}
	if n, err := strconv.ParseUint(text, 10, 32); err == nil && n <= grpcUnauthenticated {
		return uint32(n)
	}
	return 1<<32 - 1
}

// statusOfHTTP translates the status of an answer that is none of gRPC (gRPC's http-grpc-status-mapping).
func statusOfHTTP(code int) uint32 {
	switch code {
	case http.StatusBadRequest:
		return grpcInternal
	case http.StatusUnauthorized:
		return grpcUnauthenticated
	case http.StatusForbidden:
		return grpcPermissionDenied
	case http.StatusNotFound:
		return grpcUnimplemented
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return grpcUnavailable
	}
	return grpcUnknown
}

// streamTransport is what a stream goes over. net/http waits for the end of a request's body before it says that an
// HTTP/1.1 connection broke, so such a stream has a connection of its own, which takes the body's end along.
func (c *cluster) streamTransport(body io.Closer) *http.Transport {
	if c.HTTP2 {
		return c.transport
	}
	t := c.transport.Clone()
	t.DisableKeepAlives = true
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := c.transport.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &streamConn{conn, body}, nil
	}
	return t
}

// streamConn is an HTTP/1.1 connection that closes the body of its only request when it is closed.
type streamConn struct {
	net.Conn
	body io.Closer
}

// Close implements net.Conn.
func (c *streamConn) Close() error {
	return errors.Join(c.body.Close(), c.Conn.Close())
}

// streamRequest is the request of a stream, whose body is what the guest sends.
func (c *cluster) streamRequest(host endpoint, call GRPCCall, body io.ReadCloser) *http.Request {
	req := c.request(attempt{host: host, headers: call.Metadata, body: body, length: -1})
	req.Header.Set("Te", "trailers")
	return req
}
