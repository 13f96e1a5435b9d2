package hostsim

import (
	"fmt"
	"strconv"
	"strings"
)

// localReply is an answer made by the proxy or the filter instead of an upstream.
type localReply struct {
	status  int
	body    []byte
	headers [][2]string
	details string
}

// message builds the reply's headers: status, those of the filter, length and, without another, a plain text type.
func (r localReply) message() *Headers {
	h := NewHeaders([2]string{":status", strconv.Itoa(r.status)})
	for _, p := range r.headers {
		h.Add(p[0], p[1])
	}
	if len(r.body) > 0 {
		h.Set("content-length", strconv.Itoa(len(r.body)))
		if _, ok := h.Get("content-type"); !ok {
			h.Set("content-type", "text/plain")
		}
	}
	return h
}

// sendLocalReply answers the stream. The reply passes through the filter's own response callbacks, unless a response
// has come that far already; when that is going out to the client, only cutting the stream is left (envoy.md 4.4).
func (s *Stream) sendLocalReply(r localReply) {
	s.reply = nil
	if s.closed {
		return
	}
	s.abandonUpstream()
	if s.response.headersOut {
		s.abort(r.details)
		return
	}
	s.info.details = r.details
	f := &s.response
	if f.headers != nil {
		// The guest has seen another response: this one goes past it.
		f.hide()
		f.held.Take()
		f.stop, f.buffering, f.trailers = notStopped, false, nil
		f.headers, f.dataEnd = r.message(), true
		f.held.Append(r.body)
		f.release()
		return
	}
	f.takeHeaders(r.message(), len(r.body) == 0)
	if len(r.body) > 0 && !s.closed {
		f.takeData(r.body, true)
	}
}

// FailureKind is how an upstream failed.
type FailureKind uint8

const (
	// ConnectFailure is a host that could not be reached.
	ConnectFailure FailureKind = iota + 1
	// NoHealthyUpstream is a cluster that has no host for the request.
	NoHealthyUpstream
	// ConnectionTermination is a connection that ended before the response did.
	ConnectionTermination
	// UpstreamTimeout is a response that did not begin in time.
	UpstreamTimeout
	// ProtocolError is a response that breaks the rules of HTTP, such as one that ends before its announced length.
	ProtocolError
)

// UpstreamFailed says that the upstream gives no (whole) response. Before the response's headers the router answers
// for it, with the texts and flags of Envoy; in the middle of a response the client's connection is cut, so that no
// end is made up. cause goes into the response code details.
func (s *Stream) UpstreamFailed(kind FailureKind, cause string) {
	s.vm.do(func() {
		if s.closed || s.upstreamOver {
			return
		}
		s.upstreamOver = true
		s.routerReply(kind, cause)
	})
}

// Texts of Envoy's router.
const (
	noHeadersText      = "upstream connect error or disconnect/reset before headers. reset reason: "
	connectFailureText = noHeadersText + "remote connection failure"
)

// resetDetails are the response code details of an upstream that broke off for that reason.
func (s *Stream) resetDetails(reason string) string {
	when := "before"
	if s.response.headersOut {
		when = "after"
	}
	return "upstream_reset_" + when + "_response_started{" + reason + "}"
}

func (s *Stream) routerReply(kind FailureKind, cause string) {
	switch kind {
	case NoHealthyUpstream:
		s.replyFor(503, "no healthy upstream", "no_healthy_upstream", FlagNoHealthyUpstream)
	case ConnectFailure:
		details := "remote_connection_failure|" + strings.ReplaceAll(cause, " ", "_")
		s.replyFor(503, connectFailureText, fmt.Sprintf("upstream_reset_before_response_started{%s}", details),
			FlagUpstreamConnectionFailure)
	case UpstreamTimeout:
		s.replyFor(504, "upstream request timeout", "response_timeout", FlagUpstreamTimeout)
	case ConnectionTermination:
		s.replyFor(503, noHeadersText+"connection termination", s.resetDetails("connection_termination"),
			FlagUpstreamTermination)
	case ProtocolError:
		s.replyFor(503, noHeadersText+"protocol error", s.resetDetails("protocol_error"), FlagUpstreamProtocolError)
	}
}
