package plugin

import (
	"strings"

	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
	"github.com/pointsman/pointsman/wasmfilter/internal/host"
)

// stream turns one HTTP stream's callbacks into events and carries out the
// effects. It decides nothing.
type stream struct {
	plugin   *plugin
	id       uint32
	request  *flow.Request // nil once the stream is over
	size     int           // bytes of body buffered by the host
	held     bool          // the request is paused
	ranked   bool          // the client names a data-parallel rank
	own      bool          // the response is the router's own
	answered bool          // response headers came
	over     bool          // nothing more to tell the request until the end
	awaited  bool          // the plugin's list of waiting streams has it
}

// begin makes a stream of one that is over, or new. Whether it is on the list of
// those that wait stays as it is.
func (s *stream) begin(id uint32) {
	*s = stream{plugin: s.plugin, id: id, request: s.plugin.flow.NewRequest(), awaited: s.awaited}
}

// waits reports whether the stream is there and waits for something.
func (s *stream) waits() bool { return s.request != nil && s.request.Waiting() }

// RequestHeaders implements abi.Stream.
func (s *stream) RequestHeaders(endOfStream bool) abi.Action {
	headers := &s.plugin.headers
	headers.Read()
	s.ranked = headers.Ranked
	ev := &s.plugin.event
	*ev = flow.Event{
		Kind:            flow.EventHeaders,
		Now:             s.plugin.clock.Now(),
		Method:          headers.Method,
		Path:            headers.Path,
		EndOfStream:     endOfStream,
		ContentLength:   headers.ContentLength,
		ContentEncoding: headers.ContentEncoding,
		SessionHeader:   headers.Session,
		RoutingHeader:   headers.Routing,
		TTFTHeader:      headers.TTFT,
		TPSHeader:       headers.TPS,
		PriorityHeader:  headers.Priority,
		Subset:          headers.Subset,
	}
	if s.plugin.flow.NeedsReceived() || s.plugin.flow.HeaderOnly() {
		ev.ModelHeader = strings.Clone(headers.Model)
		// Read before the routing headers are removed: that can only lower the
		// count, never fake the growth that proves a hidden body.
		ev.Received = host.Received()
	}
	s.perform(s.request.Step(ev), false)
	s.plugin.await(s)
	return s.action()
}

// RequestBody implements abi.Stream.
func (s *stream) RequestBody(size int, endOfStream bool) abi.Action {
	if s.over || !s.request.Waiting() {
		return s.action()
	}
	s.size = size
	if !endOfStream && !s.plugin.flow.WantsPart(uint64(size)) {
		return s.action()
	}
	if !endOfStream {
		s.plugin.event = flow.Event{Kind: flow.EventBodyPart, Now: s.plugin.clock.Now(), Size: uint64(size)}
		s.perform(s.request.Step(&s.plugin.event), false)
		return s.action()
	}
	return s.bodyComplete()
}

// RequestTrailers implements abi.Stream. Trailers end the body: no body callback
// then says so (envoy.md 4.3).
func (s *stream) RequestTrailers() abi.Action {
	if s.over || !s.request.Waiting() {
		return s.action()
	}
	return s.bodyComplete()
}

func (s *stream) bodyComplete() abi.Action {
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

// ResponseHeaders implements abi.Stream.
func (s *stream) ResponseHeaders() abi.Action {
	if s.own {
		return abi.ActionContinue
	}
	if s.over {
		if s.plugin.flow.NamesWorkers() {
			s.nameWorker("")
		}
		return abi.ActionContinue
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
	return abi.ActionContinue
}

// Done implements abi.Stream. The host calls it once for each stream, whatever
// ended it (envoy.md 0).
func (s *stream) Done() {
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
	s.finish(ev)
}

// Delete implements abi.Stream. A stream that its host deletes without a log is
// released here, to nobody's blame.
func (s *stream) Delete() {
	if s.request != nil {
		s.finish(&flow.Event{Kind: flow.EventDone, Now: s.plugin.clock.Now(), End: fleet.EndGone})
	}
	s.plugin.reuse(s)
}

func (s *stream) finish(ev *flow.Event) {
	for _, e := range s.request.Step(ev) {
		if e.Kind == flow.EffectAbort {
			s.plugin.aborts.tell(&e)
		}
	}
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

func (s *stream) action() abi.Action {
	if s.held || s.own {
		return abi.ActionPause
	}
	return abi.ActionContinue
}

// perform carries out effects in order. Outside the stream's own callbacks a
// held request is resumed by a call, inside by the callback's answer.
func (s *stream) perform(effects []flow.Effect, outside bool) {
	var unasked flow.Event
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
			s.pin(e)
		case flow.EffectWorker:
			s.nameWorker(e.Text)
		case flow.EffectRespond:
			s.respond(&e.Response)
		case flow.EffectReceipt:
			s.plugin.record(s.request)
		case flow.EffectFault:
			s.plugin.fault(e.Fault)
		case flow.EffectObserve:
			if !s.plugin.calls.observe(s, e) {
				unasked = flow.Event{Kind: flow.EventObserved, Call: e.Call}
			}
		case flow.EffectBind:
			if !s.plugin.calls.bind(s, e) {
				unasked = flow.Event{Kind: flow.EventBound, Call: e.Call}
			}
		case flow.EffectNone, flow.EffectAbort: // a request that is over asks for nothing else
		}
	}
	if unasked.Kind != flow.EventNone {
		// The host takes no call, so its answer is known.
		unasked.Now = s.plugin.clock.Now()
		s.perform(s.request.Step(&unasked), outside)
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
		if err := abi.ResumeRequest(); err != nil {
			logf(abi.LevelError, "request cannot be resumed: %v", err)
		}
	}
}

func (s *stream) route(endpoint string) {
	if err := host.SetEndpoint(s.plugin.config.EndpointHeader, endpoint); err != nil {
		logf(abi.LevelError, "endpoint header cannot be set: %v", err)
	}
}

// pin names the rank to the engine. Where ranks are the router's business, a client's
// word for one goes: the client does not know which engine it comes to.
func (s *stream) pin(e *flow.Effect) {
	var err error
	switch {
	case e.Rank.Known:
		err = host.SetRank(e.Rank.N)
	case e.OwnsRank && s.ranked:
		err = host.RemoveRank()
	}
	if err != nil {
		logf(abi.LevelError, "%s cannot be set: %v", host.HeaderRank, err)
	}
}

func (s *stream) nameWorker(id string) {
	if err := host.NameWorker(id); err != nil {
		logf(abi.LevelError, "%s cannot be set: %v", host.HeaderWorker, err)
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
	if err := abi.Respond(r.Status, headers, r.Body); err != nil {
		logf(abi.LevelError, "answer %d cannot be sent: %v", r.Status, err)
	}
}
