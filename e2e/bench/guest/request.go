package guest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/pointsman/pointsman/hostsim"
)

// NewChat makes a chat with a body of the given size.
func NewChat(size int) *Chat {
	_, body, _ := bytes.Cut(load.Chat(engine.Model, size, false), []byte("\r\n\r\n"))
	return &Chat{length: strconv.Itoa(len(body)), body: body}
}

// envoyChunk is the piece in which Envoy reads a body from a socket.
const envoyChunk = 16 << 10

// Request runs one exchange: the chat in, an answer with so many chunks back.
func (g *Guest) Request(c *Chat, chunks int) error {
	s, err := g.send(c)
	if err != nil {
		return err
	}
	s.ResponseHeaders(hostsim.NewHeaders([2]string{":status", "200"}, [2]string{"content-type", "application/json"}), false)
	for range chunks {
		s.ResponseData(make([]byte, engine.ChunkBytes), false)
	}
	s.ResponseData([]byte("{}"), true)
	if !s.Closed() {
		return errors.New("the stream did not end")
	}
	return nil
}

// send feeds a chat in until it is on its way to an engine.
func (g *Guest) send(c *Chat) (*hostsim.Stream, error) {
	var out outlet
	s := g.vm.NewStream(&out, hostsim.StreamOptions{Source: "127.0.0.1:4444", Destination: "127.0.0.1:8080"})
	s.RequestHeaders(c.headers(), false)
	for rest := c.body; len(rest) > 0; {
		n := min(len(rest), envoyChunk)
		s.RequestData(rest[:n:n], n == len(rest))
		rest = rest[n:]
	}
	if out.endpoint == "" {
		return nil, fmt.Errorf("the request was not routed: status %q: %s", out.status, out.text)
	}
	s.UpstreamChosen(out.endpoint, 1)
	return s, nil
}

// streams are requests that wait for their answers.
type streams []*hostsim.Stream

func (g *Guest) openStreams(n int) (streams, error) {
	chat := NewChat(1 << 10)
	var open streams
	for range n {
		s, err := g.send(chat)
		if err != nil {
			open.end()
			return nil, err
		}
		open = append(open, s)
	}
	return open, nil
}

func (s streams) end() {
	for _, each := range s {
		each.Reset()
	}
}

// headers are what an Envoy hands to its filters for such a request.
func (c *Chat) headers() *hostsim.Headers {
	return hostsim.NewHeaders(
		[2]string{":authority", "models.example"}, [2]string{":path", "/v1/chat/completions"}, [2]string{":method", "POST"},
		[2]string{":scheme", "http"}, [2]string{"user-agent", "bench"}, [2]string{"accept", "*/*"},
		[2]string{"authorization", "Bearer 0123456789abcdef"}, [2]string{"content-type", "application/json"},
		[2]string{"content-length", c.length}, [2]string{"x-forwarded-for", "127.0.0.1"}, [2]string{"x-forwarded-proto", "http"},
		[2]string{"x-envoy-internal", "true"}, [2]string{"x-request-id", "0b0f6a4e-8c3e-4a9e-9f3e-0b0f6a4e8c3e"})
}

// outlet notes where a stream was sent.
type outlet struct {
	endpoint string
	status   string
	text     []byte
}

// RequestHeaders implements hostsim.Outlet, as the methods below do.
func (o *outlet) RequestHeaders(h *hostsim.Headers, _ bool) {
	o.endpoint, _ = h.First("x-pointsman-endpoint")
}

func (o *outlet) ResponseHeaders(h *hostsim.Headers, _ bool) { o.status, _ = h.First(":status") }

func (o *outlet) ResponseData(chunk []byte, _ bool) {
	if o.status != "200" {
		o.text = append(o.text, chunk...)
	}
}

func (o *outlet) RequestData([]byte, bool)          {}
func (o *outlet) RequestTrailers(*hostsim.Headers)  {}
func (o *outlet) ResponseTrailers(*hostsim.Headers) {}
func (o *outlet) ResetUpstream()                    {}
func (o *outlet) ResetDownstream()                  {}
func (o *outlet) HoldRequest(bool)                  {}
func (o *outlet) Done()                             {}
