package plugin

import (
	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/wasmfilter/internal/host"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm/types"
)

// stream turns one HTTP stream's callbacks into events and carries out the
// effects. It decides nothing.
type stream struct {
	types.DefaultHttpContext
	plugin   *plugin
	id       uint32
	request  *flow.Request // nil once the stream is over
	size     int           // bytes of body buffered by the host
	held     bool          // the request is paused
	own      bool          // the response is the router's own
	answered bool          // response headers came
	over     bool          // nothing more to tell the request until the end
}

// OnHttpRequestHeaders implements types.HttpContext.
func (s *stream) OnHttpRequestHeaders(_ int, endOfStream bool) types.Action {
	headers := &s.plugin.headers
	headers.Read()
	defer headers.Drop()
	ev := &s.plugin.event
	*ev = flow.Event{
		Kind:            flow.EventHeaders,
		Now:             s.plugin.clock.Now(),
		Method:          headers.Get(":method"),
		Path:            headers.Get(":path"),
		EndOfStream:     endOfStream,
		ContentLength:   headers.ContentLength(),
		ContentEncoding: headers.Get("content-encoding"),
	}
	needs := &s.plugin.needs
	ev.SessionHeader, ev.RoutingHeader = headers.Keep(needs.Session), headers.Keep(needs.Routing)
	ev.TTFTHeader, ev.TPSHeader = headers.Keep(needs.TTFT), headers.Keep(needs.TPS)
	if s.plugin.flow.NeedsReceived() || s.plugin.flow.HeaderOnly() {
		ev.ModelHeader = headers.Keep(host.HeaderModel)
		// Read before the routing headers are removed: that can only lower the
		// count, never fake the growth that proves a hidden body.
		ev.Received = host.Received()
	}
	s.perform(s.request.Step(ev), false)
	s.plugin.await(s)
	return s.action()
}

// OnHttpRequestBody implements types.HttpContext.
func (s *stream) OnHttpRequestBody(size int, endOfStream bool) types.Action {
	if s.over || !s.request.Waiting() {
		return s.action()
	}
	s.size = size
	if !endOfStream {
		s.plugin.event = flow.Event{Kind: flow.EventBodyPart, Now: s.plugin.clock.Now(), Size: uint64(size)}
		s.perform(s.request.Step(&s.plugin.event), false)
		return s.action()
	}
	return s.bodyComplete()
}

// OnHttpRequestTrailers implements types.HttpContext. Trailers end the body: no
// body callback then says so (envoy.md 4.3).
func (s *stream) OnHttpRequestTrailers(int) types.Action {
	if s.over || !s.request.Waiting() {
		return s.action()
	}
	return s.bodyComplete()
}

func (s *stream) bodyComplete() types.Action {
	body, err := s.plugin.arena.Body(s.size)
	s.plugin.event = flow.Event{Kind: flow.EventBody, Now: s.plugin.clock.Now(), Body: body, BodyErr: err}
	s.perform(s.request.Step(&s.plugin.event), false)
	s.plugin.event.Body = ""
	return s.action()
}

// tick tells a waiting request that time has passed. It runs in the plugin's
// callback with the stream as the effective context.
func (s *stream) tick(ev *flow.Event) {
	if s.plugin.flow.NeedsReceived() {
		ev.Received = host.Received()
	}
	s.perform(s.request.Step(ev), true)
}

// OnHttpResponseHeaders implements types.HttpContext.
func (s *stream) OnHttpResponseHeaders(int, bool) types.Action {
	if s.own || s.over {
		return types.ActionContinue
	}
	ev := &s.plugin.event
	*ev = flow.Event{Kind: flow.EventResponse, Now: s.plugin.clock.Now(), Status: host.Status()}
	if ev.Status >= 400 {
		flags := host.ResponseFlags()
		ev.Failure = flags.EngineFailed()
		ev.Own = flags != 0 && !ev.Failure
	}
	if s.plugin.flow.NeedsUpstream() {
		ev.Upstream = host.Upstream()
	}
	s.answered = true
	s.perform(s.request.Step(ev), false)
	return types.ActionContinue
}

// OnHttpStreamDone implements types.HttpContext. The host calls it once for
// each stream, whatever ended it (envoy.md 0).
func (s *stream) OnHttpStreamDone() {
	if s.request == nil {
		return
	}
	ev := &s.plugin.event
	*ev = flow.Event{Kind: flow.EventDone, Now: s.plugin.clock.Now()}
	if !s.own && !s.over {
		ev.End = endOf(host.ResponseFlags())
		if !s.answered && s.plugin.flow.NeedsUpstream() {
			ev.Upstream = host.Upstream()
		}
	}
	s.request.Step(ev)
	s.request, s.over, s.held = nil, true, false
}

func endOf(flags host.Flags) fleet.End {
	switch {
	case flags == 0:
		return fleet.EndComplete
	case flags.EngineFailed():
		return fleet.EndCut
	}
	return fleet.EndGone
}

func (s *stream) action() types.Action {
	if s.held || s.own {
		return types.ActionPause
	}
	return types.ActionContinue
}

// perform carries out effects in order. Outside the stream's own callbacks a
// held request is resumed by a call, inside by the callback's answer.
func (s *stream) perform(effects []flow.Effect, outside bool) {
	for i := range effects {
		e := &effects[i]
		switch e.Kind {
		case flow.EffectStrip:
			s.strip(effects[i+1:])
		case flow.EffectPause:
			s.held = true
		case flow.EffectContinue:
			s.resume(outside)
		case flow.EffectSplice:
			if !s.splice(e, outside) {
				return
			}
		case flow.EffectRoute:
			s.route(e.Endpoint)
		case flow.EffectRespond:
			s.respond(&e.Response)
		case flow.EffectReceipt:
			s.plugin.record(s.request)
		case flow.EffectFault:
			s.plugin.fault(e.Fault)
		case flow.EffectNone, flow.EffectObserve, flow.EffectBind:
		}
	}
}

// strip removes client-sent routing headers from a request that goes on.
func (s *stream) strip(rest []flow.Effect) {
	switch {
	case len(rest) > 0 && rest[0].Kind == flow.EffectRespond:
		return
	case len(rest) > 0 && rest[0].Kind == flow.EffectContinue:
		s.over = true
	}
	s.plugin.headers.StripRouting()
}

func (s *stream) resume(outside bool) {
	held := s.held
	s.held = false
	if held && outside {
		if err := proxywasm.ResumeHttpRequest(); err != nil {
			proxywasm.LogErrorf("request cannot be resumed: %v", err)
		}
	}
}

func (s *stream) route(endpoint string) {
	if err := host.SetEndpoint(endpoint); err != nil {
		proxywasm.LogErrorf("endpoint header cannot be set: %v", err)
	}
}

func (s *stream) respond(r *flow.Response) {
	s.own = true
	headers := make([][2]string, 0, 3)
	headers = append(headers, [2]string{"content-type", "application/json"})
	if r.Code != flow.CodeNone {
		headers = append(headers, [2]string{host.HeaderErrorCode, r.Code.String()})
	}
	if r.RetryAfter {
		headers = append(headers, [2]string{"retry-after", "1"})
	}
	if err := proxywasm.SendHttpResponse(uint32(r.Status), headers, r.Body, -1); err != nil {
		proxywasm.LogErrorf("answer %d cannot be sent: %v", r.Status, err)
	}
}
