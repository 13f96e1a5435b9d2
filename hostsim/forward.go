package hostsim

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"
)

// forward sends the request to a host of the cluster, trying others while none can be reached, and feeds the response
// to the stream.
func (x *exchange) forward(h *Headers, bodyless bool) {
	defer x.wg.Done()
	c := x.proxy.upstream
	hosts := c.walk(h)
	var unreached error
	for try := 1; ; try++ {
		host, err := hosts.next()
		switch {
		case err != nil && unreached != nil:
			x.fail(ConnectFailure, unreached)
			return
		case err != nil:
			x.proxy.warnNoHost(h)
			x.fail(NoHealthyUpstream, err)
			return
		}
		x.chosen(host.address, try)
		resp, err := x.try(c, host, h, bodyless, try)
		switch {
		case err == nil:
			x.respond(resp)
			return
		case x.ctx.Err() != nil:
			return
		case !connectFailed(err):
			x.fail(ConnectionTermination, err)
			return
		case try > c.Retries:
			x.fail(ConnectFailure, err)
			return
		}
		unreached = err
	}
}

// noHostEvery is how often a proxy says that its cluster has no host for a request.
const noHostEvery = 10 * time.Second

// warnNoHost says why a request is answered with 503, once in a while: a client may ask again and again.
func (p *Proxy) warnNoHost(h *Headers) {
	at, last := time.Now().UnixNano(), p.noHostAt.Load()
	if last != 0 && at-last < int64(noHostEvery) || !p.noHostAt.CompareAndSwap(last, at) {
		return
	}
	path, _ := h.First(":path")
	named, ok := h.First(p.upstream.EndpointHeader)
	why := "the filter named no host for it"
	if ok {
		why = "no entry of the endpoint header is a host of the cluster"
	}
	p.log.Warn("no upstream for a request, answered with 503: "+why+", and the cluster has none to fall back to",
		"cluster", p.upstream.Name, "path", path, "header", p.upstream.EndpointHeader, "named", named)
}

func (x *exchange) try(c *cluster, host endpoint, h *Headers, bodyless bool, try int) (*http.Response, error) {
	a := attempt{host: host, headers: h, body: http.NoBody, connected: func(address string) { x.chosen(address, try) }}
	if !bodyless {
		a.length = contentLength(h)
		a.trailer = x.announcedTrailers()
		a.getBody = func() (io.ReadCloser, error) {
			r, err := x.pipe.reader()
			return &trailingBody{ReadCloser: r, pipe: x.pipe, trailer: a.trailer}, err
		}
		var err error
		if a.body, err = a.getBody(); err != nil {
			return nil, err
		}
	}
	return c.send(x.ctx, a)
}

// announcedTrailers are the fields that the client announced, and those that are there already.
func (x *exchange) announcedTrailers() http.Header {
	there := x.pipe.trailer()
	if len(x.announced) == 0 && there == nil {
		return nil
	}
	names := http.Header{}
	for _, name := range x.announced {
		names[name] = nil
	}
	if there != nil {
		setFields(names, there, "")
	}
	return names
}

// trailingBody sets the trailers' values when the body has been read.
type trailingBody struct {
	io.ReadCloser

	pipe    *bodyPipe
	trailer http.Header
}

// Read implements io.Reader.
func (b *trailingBody) Read(dst []byte) (int, error) {
	n, err := b.ReadCloser.Read(dst)
	if t := b.pipe.trailer(); errors.Is(err, io.EOF) && t != nil && b.trailer != nil {
		fields := http.Header{}
		setFields(fields, t, "")
		maps.Copy(b.trailer, fields)
	}
	return n, err
}

func (x *exchange) chosen(address string, try int) {
	x.worker.Do(func() { x.stream.UpstreamChosen(address, try) })
}

func (x *exchange) fail(kind FailureKind, err error) {
	x.proxy.log.Debug("upstream failed", "cluster", x.proxy.upstream.Name, "cause", causeOf(err))
	cause := causeOf(err)
	if kind == ConnectFailure {
		cause = connectCause(err)
	}
	x.worker.Call(func() { x.stream.UpstreamFailed(kind, cause) })
}

// respond feeds a response to the stream, chunk by chunk as it comes in.
func (x *exchange) respond(resp *http.Response) {
	defer resp.Body.Close()
	end := resp.ContentLength == 0 || resp.Body == http.NoBody
	x.worker.Call(func() { x.stream.ResponseHeaders(responseHeaders(resp), end) })
	buf := make([]byte, readBytes)
	for !end && !x.isOver() {
		n, err := resp.Body.Read(buf)
		if err != nil && err != io.EOF {
			x.feedResponse(slices.Clone(buf[:n]), false, nil)
			if x.ctx.Err() == nil {
				x.fail(brokenBy(err), err)
			}
			return
		}
		end = err == io.EOF
		x.feedResponse(slices.Clone(buf[:n]), end, resp.Trailer)
		x.out.waitBelow(windowBytes)
	}
}

// feedResponse gives the stream a chunk of the response; the end comes apart from the last bytes, as in feed.
func (x *exchange) feedResponse(chunk []byte, end bool, fields http.Header) {
	trailers := NewHeaders()
	if end {
		addFields(trailers, fields)
	}
	if len(chunk) == 0 && !end {
		return
	}
	x.worker.Call(func() {
		if len(chunk) > 0 {
			x.stream.ResponseData(chunk, false)
		}
		switch {
		case trailers.Len() > 0:
			x.stream.ResponseTrailers(trailers)
		case end:
			x.stream.ResponseData(nil, true)
		}
	})
}

// brokenBy tells how a response broke off: a connection that was closed in the middle of a message is a protocol error
// to Envoy's codec, one that was reset is a termination.
func brokenBy(err error) FailureKind {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ProtocolError
	}
	return ConnectionTermination
}
