package hostsim

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// windowBytes is how far one side of a stream may run ahead of the other.
	windowBytes = 1 << 20
	// readBytes is the size of one read from a client or an upstream.
	readBytes = 64 << 10
	// lingerTime is how long a request body is still read and dropped after the answer, so that a client that writes
	// before it reads sees the answer and not a reset. It is Envoy's delayed_close_timeout.
	lingerTime = time.Second
)

// exchange is one request of a client on its way through the proxy. It is the Outlet of its stream. Three goroutines
// serve it: the handler writes to the client, pump reads the client's body, forward talks to the upstream.
type exchange struct {
	proxy  *Proxy
	worker *Worker
	stream *Stream // used on the worker's loop only
	client *http.Request
	// announced are the names of the trailers that the client said it will send.
	announced []string

	out  *outbox
	wg   sync.WaitGroup
	over chan struct{} // closed when the stream is done

	ctx    context.Context // of the upstream leg
	cancel context.CancelFunc
	pipe   *bodyPipe
	// answered is set when the response came out whole; used on the worker's loop only.
	answered bool
	// hold is closed while the client's body may be read on; it is replaced when the filter asks to wait.
	hold   chan struct{}
	holdMu sync.Mutex
}

func (p *Proxy) newExchange(w *Worker, r *http.Request) *exchange {
	x := &exchange{
		proxy: p, worker: w, client: r, out: newOutbox(), over: make(chan struct{}), pipe: newBodyPipe(),
		hold: make(chan struct{}),
	}
	close(x.hold)
	for name := range r.Trailer {
		x.announced = append(x.announced, name)
	}
	x.ctx, x.cancel = context.WithCancel(context.WithoutCancel(r.Context()))
	return x
}

// open begins the stream with the request's headers.
func (x *exchange) open(h *Headers, end bool) bool {
	return x.worker.Call(func() {
		x.stream = x.worker.OpenStream(x, StreamOptions{
			Source: x.client.RemoteAddr, Destination: localAddr(x.client), ClusterName: x.proxy.upstream.Name,
		})
		x.stream.RequestHeaders(h, end)
	})
}

// isOver reports whether the stream is done.
func (x *exchange) isOver() bool {
	select {
	case <-x.over:
		return true
	default:
		return false
	}
}

// reset tells the stream that the client has left.
func (x *exchange) reset() { x.worker.Call(func() { x.stream.Reset() }) }

// pump feeds the client's body to the stream until it ends, breaks, or nobody wants it any more.
func (x *exchange) pump() {
	defer x.wg.Done()
	buf := make([]byte, readBytes)
	for {
		n, err := x.client.Body.Read(buf)
		if x.isOver() {
			if err != nil {
				return
			}
			continue
		}
		if err != nil && err != io.EOF {
			x.reset()
			return
		}
		end := err == io.EOF
		x.feed(slices.Clone(buf[:n]), end)
		if end {
			return
		}
		x.waitForRoom()
	}
}

// feed gives the stream a chunk of the body. Like Envoy's HTTP/1 codec it gives the end apart from the last bytes.
func (x *exchange) feed(chunk []byte, end bool) {
	trailers := NewHeaders()
	if end {
		addFields(trailers, x.client.Trailer)
	}
	x.worker.Call(func() {
		if len(chunk) > 0 {
			x.stream.RequestData(chunk, false)
		}
		switch {
		case trailers.Len() > 0:
			x.stream.RequestTrailers(trailers)
		case end:
			x.stream.RequestData(nil, true)
		}
	})
}

// waitForRoom returns when the filter and the upstream take more, or the stream is over.
func (x *exchange) waitForRoom() {
	x.pipe.waitBelow(windowBytes)
	x.holdMu.Lock()
	hold := x.hold
	x.holdMu.Unlock()
	select {
	case <-hold:
	case <-x.over:
	}
}

// HoldRequest implements Outlet.
func (x *exchange) HoldRequest(hold bool) {
	x.holdMu.Lock()
	defer x.holdMu.Unlock()
	if hold {
		x.hold = make(chan struct{})
		return
	}
	close(x.hold)
}

// RequestHeaders implements Outlet. The upstream leg begins after the running operation, when all of the request that
// the filter held is in the pipe.
func (x *exchange) RequestHeaders(h *Headers, end bool) {
	sent := h.Clone()
	x.pipe.write(nil, end)
	x.wg.Add(1)
	if !x.worker.Do(func() { go x.forward(sent, end) }) {
		x.wg.Done()
	}
}

// RequestData implements Outlet.
func (x *exchange) RequestData(chunk []byte, end bool) { x.pipe.write(chunk, end) }

// RequestTrailers implements Outlet.
func (x *exchange) RequestTrailers(h *Headers) { x.pipe.endWith(h.Clone()) }

// ResponseHeaders implements Outlet.
func (x *exchange) ResponseHeaders(h *Headers, end bool) {
	x.answered = end
	x.out.put(outItem{headers: h.Clone(), bare: end})
}

// ResponseData implements Outlet.
func (x *exchange) ResponseData(chunk []byte, end bool) {
	x.answered = end
	if len(chunk) > 0 {
		x.out.put(outItem{data: chunk})
	}
}

// ResponseTrailers implements Outlet.
func (x *exchange) ResponseTrailers(h *Headers) {
	x.answered = true
	x.out.put(outItem{trailers: h.Clone()})
}

// ResetUpstream implements Outlet.
func (x *exchange) ResetUpstream() {
	x.cancel()
	x.pipe.abort()
}

// ResetDownstream implements Outlet. Done follows and cuts the connection.
func (x *exchange) ResetDownstream() {}

// Done implements Outlet.
func (x *exchange) Done() {
	close(x.over)
	x.pipe.abort()
	x.out.put(outItem{done: true, cut: !x.answered})
}

func localAddr(r *http.Request) string {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(interface{ String() string }); ok {
		return addr.String()
	}
	return ""
}

// clientHeaders translates a request's headers into a map: pseudo headers first, then the fields by name. The server
// has answered an Expect field by itself, as Envoy does.
func clientHeaders(r *http.Request) *Headers {
	path := r.RequestURI
	if !strings.HasPrefix(path, "/") && path != "*" {
		path = r.URL.RequestURI()
	}
	h := NewHeaders([2]string{":authority", r.Host}, [2]string{":path", path}, [2]string{":method", r.Method},
		[2]string{":scheme", "http"})
	addFields(h, r.Header)
	h.Del("expect")
	return h
}
