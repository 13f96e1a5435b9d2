package hostsim

import (
	"slices"
	"time"

	"github.com/pointsman/pointsman/hostsim/internal/pairs"
)

// envFuncs returns the functions of the module env (envoy.md 1.1).
func envFuncs() []hostFunc {
	return slices.Concat(generalFuncs(), bufferFuncs(), mapFuncs(), sharedFuncs(), metricFuncs(), grpcFuncs())
}

// status adapts a function whose result is a Status.
func status(f func(c *hostCall) Status) func(c *hostCall) uint32 {
	return func(c *hostCall) uint32 { return uint32(f(c)) }
}

func generalFuncs() []hostFunc {
	return []hostFunc{
		{"proxy_log", "iii", status(hostLog)},
		{"proxy_get_log_level", "i", func(c *hostCall) uint32 { return c.out32(0, uint32(c.vm.opts.LogLevel)) }},
		{"proxy_get_current_time_nanoseconds", "i", func(c *hostCall) uint32 {
			return c.out64(0, uint64(c.vm.opts.Clock.Now().UnixNano()))
		}},
		{"proxy_set_tick_period_milliseconds", "i", status(hostSetTick)},
		{"proxy_continue_stream", "i", status(hostContinue)},
		{"proxy_close_stream", "i", status(hostClose)},
		{"proxy_send_local_response", "iiiiiiii", status(hostLocalResponse)},
		{"proxy_done", "", func(*hostCall) uint32 { return uint32(StatusOK) }},
		{"proxy_set_effective_context", "i", status(hostSetEffective)},
		{"proxy_get_status", "iii", func(c *hostCall) uint32 {
			if st := c.out32(0, c.vm.received.status); st != 0 {
				return st
			}
			return c.give([]byte(c.vm.received.reason), 1, 2)
		}},
		{"proxy_http_call", "iiiiiiiiii", hostHTTPCall},
		{"proxy_get_property", "iiii", hostGetProperty},
		{"proxy_set_property", "iiii", status(hostSetProperty)},
		{"proxy_call_foreign_function", "iiiiii", hostForeign},
	}
}

func hostLog(c *hostCall) Status {
	text, ok := c.in(1)
	if !ok {
		return StatusInvalidMemoryAccess
	}
	level := LogLevel(c.u32(0))
	if level > LogCritical {
		return StatusBadArgument
	}
	c.vm.logged(level, string(text))
	return StatusOK
}

func hostSetTick(c *hostCall) Status {
	c.vm.setTickPeriod(time.Duration(c.u32(0)) * time.Millisecond)
	return StatusOK
}

// hostContinue resumes a direction of the stream after the running callback. What the guest saw of the request is out
// of its reach at once (envoy.md 4.3).
func hostContinue(c *hostCall) Status {
	kind := c.u32(0)
	if kind > streamResponse {
		return StatusBadArgument
	}
	s := c.vm.effectiveStream()
	if s == nil {
		return StatusOK
	}
	f := &s.request
	if kind == streamResponse {
		f = &s.response
	}
	s.request.hide()
	c.vm.actions = append(c.vm.actions, f.resume)
	return StatusOK
}

func hostClose(c *hostCall) Status {
	if c.u32(0) > streamResponse {
		return StatusBadArgument
	}
	if s := c.vm.effectiveStream(); s != nil {
		c.vm.actions = append(c.vm.actions, func() { s.abort("wasm_close_stream") })
	}
	return StatusOK
}

// hostLocalResponse notes a local reply; it is sent after the running callback. A second one is dropped without notice.
func hostLocalResponse(c *hostCall) Status {
	details, body, ok := c.in2(1, 3)
	blob, okHeaders := c.in(5)
	if !ok || !okHeaders {
		return StatusInvalidMemoryAccess
	}
	headers, err := pairs.Decode(blob)
	if err != nil {
		return StatusBadArgument
	}
	s := c.vm.effectiveStream()
	if s == nil {
		return StatusOK
	}
	if s.reply != nil {
		return StatusOK
	}
	r := localReply{
		status: int(c.u32(0)), body: slices.Clone(body), headers: headers, details: string(details),
	}
	s.reply = &r
	c.vm.actions = append(c.vm.actions, func() {
		if !s.closed && s.reply == &r {
			s.sendLocalReply(r)
		}
	})
	return StatusOK
}

func hostSetEffective(c *hostCall) Status {
	if c.vm.contexts[c.u32(0)] == nil {
		return StatusBadArgument
	}
	c.vm.effective = c.u32(0)
	return StatusOK
}

func hostHTTPCall(c *hostCall) uint32 {
	cluster, headers, ok := c.in2(0, 2)
	body, trailers, ok2 := c.in2(4, 6)
	if !ok || !ok2 {
		return uint32(StatusInvalidMemoryAccess)
	}
	list, err := pairs.Decode(headers)
	if err != nil {
		return uint32(StatusBadArgument)
	}
	// Trailers are accepted and not sent (envoy.md 3.1).
	if _, err := pairs.Decode(trailers); err != nil {
		return uint32(StatusBadArgument)
	}
	timeout := int32(c.u32(8))
	if timeout < 0 {
		return uint32(StatusBadArgument)
	}
	token, st := c.vm.startCallout(Callout{
		Cluster: string(cluster), Headers: NewHeaders(list...), Body: slices.Clone(body),
		Timeout: time.Duration(timeout) * time.Millisecond,
	})
	if st != StatusOK {
		return uint32(st)
	}
	return c.out32(9, token)
}
