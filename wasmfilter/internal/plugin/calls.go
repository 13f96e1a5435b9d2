package plugin

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
)

// calls makes the calls that requests wait for and brings each its answer: on the call
// stream where that takes it, else as an HTTP request. A stream that is over by then
// hears nothing.
type calls struct {
	cluster  string          // empty without a state service
	open     map[uint32]call // by the host's number
	binding  []byte          // headers of every bind, in the host's form
	watching [][2]string     // headers of every observe, its own apart

	message, headers []byte // of the call being made

	stream callStream
}

// configure takes the headers of calls to the state service.
func (c *calls) configure(state *spec.State, headers [][2]string) {
	c.cluster, c.open = state.Cluster, map[uint32]call{}
	c.stream.configure(state, headers)
	c.binding = abi.AppendPairs(nil, to(wire.BindPath, headers))
	c.watching = slices.Clip(to(wire.ObservePath, headers))
}

// authorization is the header of the bearer token.
const authorization = "authorization"

// call is one that a request waits for.
type call struct {
	stream *stream
	kind   flow.EventKind // of the answer
	number uint64         // the flow's
}

// observe asks what the state service knows of a request, and reports whether an
// answer will come.
func (c *calls) observe(s *stream, e *flow.Effect) bool {
	body := ""
	if e.WithBody {
		var err error
		if body, err = s.plugin.arena.Body(s.size); err != nil {
			return false
		}
	}
	waiting := call{s, flow.EventObserved, e.Call}
	if c.stream.takes(len(body)) && c.stream.send(waiting, &wire.Call{Observe: e.Observe, Body: body}, e.Observe.TimeoutMillis) {
		return true
	}
	c.message = wire.AppendObserveRequest(c.message[:0], e.Observe)
	header := [2]string{wire.ObserveHeader, base64.RawURLEncoding.EncodeToString(c.message)}
	c.headers = abi.AppendPairs(c.headers[:0], append(c.watching, header))
	return c.make(waiting, c.headers, unsafe.Slice(unsafe.StringData(body), len(body)), e.Observe.TimeoutMillis)
}

// bind proposes a request's new placements, and reports whether an answer will
// come.
func (c *calls) bind(s *stream, e *flow.Effect) bool {
	waiting := call{s, flow.EventBound, e.Call}
	if c.stream.takes(0) && c.stream.send(waiting, &wire.Call{Bind: e.Bind}, e.Bind.TimeoutMillis) {
		return true
	}
	c.message = wire.AppendBindRequest(c.message[:0], e.Bind)
	return c.make(waiting, c.binding, c.message, e.Bind.TimeoutMillis)
}

func (c *calls) make(waiting call, headers, body []byte, timeoutMillis uint32) bool {
	number, err := abi.Call(c.cluster, headers, body, timeoutMillis)
	if err != nil {
		return false
	}
	c.open[number] = waiting
	return true
}

// done gives the call that an answer is for, false for one of somebody else.
func (c *calls) done(number uint32) (call, bool) {
	waiting, ok := c.open[number]
	delete(c.open, number)
	return waiting, ok
}

// answer makes the event of an answer. What cannot be read is no answer.
func (w *call) answer(headers, size int) flow.Event {
	ev := flow.Event{Kind: w.kind, Call: w.number}
	if refusal(headers) != "" {
		return ev
	}
	body, err := abi.CallBody(size, nil)
	if err != nil && size > 0 {
		return ev
	}
	if w.kind == flow.EventBound {
		if reply, err := wire.DecodeBindReply(body); err == nil {
			ev.Bound = reply
		}
		return ev
	}
	if reply, err := wire.DecodeObserveReply(body); err == nil {
		ev.Observed = reply
	}
	return ev
}

// stateHeaders are those of every call to the state service, the path apart.
func stateHeaders(state *spec.State) ([][2]string, error) {
	headers := [][2]string{
		{":method", "POST"},
		{":authority", state.Authority},
		{"content-type", wire.ContentType},
		{"accept", wire.ContentType},
	}
	if state.TokenEnv == "" {
		return headers, nil
	}
	token, ok := syscall.Getenv(state.TokenEnv)
	if !ok || strings.TrimSpace(token) == "" {
		return nil, fmt.Errorf("state.token_env: the environment variable %s is not set in the VM; pass it in vm_config.environment_variables", state.TokenEnv)
	}
	return append(headers, [2]string{authorization, "Bearer " + strings.TrimSpace(token)}), nil
}

// to gives the headers of a call to a path.
func to(path string, headers [][2]string) [][2]string {
	return append(slices.Clip(headers), [2]string{":path", path})
}
