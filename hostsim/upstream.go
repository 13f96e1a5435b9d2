package hostsim

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// serviceTimeHeader is what Envoy's router adds to every response of an upstream: milliseconds until its headers.
const serviceTimeHeader = "x-envoy-upstream-service-time"

// hopByHop are fields that belong to one connection and never pass through the proxy.
var hopByHop = []string{
	"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
}

// attempt is one try of a request at a host.
type attempt struct {
	host    endpoint
	headers *Headers
	body    io.ReadCloser
	// length of the body, -1 when it is not known.
	length  int64
	getBody func() (io.ReadCloser, error)
	// trailer announces the fields that follow the body; their values are set before the body's end is read.
	trailer http.Header
	// connected is told the address of the connection in use.
	connected func(address string)
}

// send does the round trip through the cluster's connections.
func (c *cluster) send(ctx context.Context, a attempt) (*http.Response, error) {
	if a.connected != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			a.connected(info.Conn.RemoteAddr().String())
		}})
	}
	begun := time.Now()
	resp, err := c.transport.RoundTrip(c.request(a).WithContext(ctx))
	if err != nil {
		return nil, err
	}
	resp.Header.Set(serviceTimeHeader, strconv.FormatInt(time.Since(begun).Milliseconds(), 10))
	return resp, nil
}

// request translates a header map into a request, leaving out what must not reach the host.
func (c *cluster) request(a attempt) *http.Request {
	method, _ := a.headers.First(":method")
	path, _ := a.headers.First(":path")
	authority, _ := a.headers.First(":authority")
	req := &http.Request{
		Method: method, Host: authority, Header: http.Header{}, Body: a.body, ContentLength: a.length, GetBody: a.getBody,
		URL:   &url.URL{Scheme: a.host.scheme, Host: a.host.address, Opaque: path},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Trailer: a.trailer,
	}
	for _, f := range a.headers.Pairs() {
		if c.reachesHost(f[0]) {
			req.Header.Add(f[0], f[1])
		}
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header["User-Agent"] = []string{""} // Keeps net/http from adding its own.
	}
	return req
}

func (c *cluster) reachesHost(name string) bool {
	switch {
	case strings.HasPrefix(name, ":"), name == "content-length", name == "host", slices.Contains(hopByHop, name):
		return false
	case c.EndpointHeader != "" && strings.EqualFold(name, c.EndpointHeader):
		return false
	}
	return !slices.ContainsFunc(c.StripHeaders, func(s string) bool { return strings.EqualFold(s, name) })
}

// contentLength reads the announced length of a message, -1 when there is none.
func contentLength(h *Headers) int64 {
	text, ok := h.First("content-length")
	if !ok {
		return -1
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// responseHeaders translates a response's headers into a map: status first, then the fields by name.
func responseHeaders(resp *http.Response) *Headers {
	h := NewHeaders([2]string{":status", strconv.Itoa(resp.StatusCode)})
	addFields(h, resp.Header)
	return h
}

// addFields adds net/http fields in the order of their names, without those of the connection.
func addFields(h *Headers, fields http.Header) {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		lower := strings.ToLower(name)
		if slices.Contains(hopByHop, lower) {
			continue
		}
		for _, v := range fields[name] {
			h.Add(lower, v)
		}
	}
}

// setFields puts a map's plain fields into net/http form.
func setFields(dst http.Header, h *Headers, prefix string) {
	for _, f := range h.Pairs() {
		if !strings.HasPrefix(f[0], ":") && !slices.Contains(hopByHop, f[0]) {
			key := prefix + textproto.CanonicalMIMEHeaderKey(f[0])
			dst[key] = append(dst[key], f[1])
		}
	}
}

// connectCause words a failed connection as Envoy does.
func connectCause(err error) string {
	text := causeOf(err)
	return "delayed connect error: " + strings.ToUpper(text[:1]) + text[1:]
}

// causeOf is the short reason of a failed round trip.
func causeOf(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
