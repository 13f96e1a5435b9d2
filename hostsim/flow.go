package hostsim

import "github.com/pointsman/pointsman/hostsim/internal/body"

// stopKind is how a filter holds one direction of a stream (envoy.md 4.1).
type stopKind uint8

const (
	notStopped stopKind = iota
	// stopIteration holds the message; further parts are still shown to the guest.
	stopIteration
	// stopAll holds the message and shows the guest nothing more until it resumes.
	stopAll
)

// flow is one direction of a stream, request or response, on its way through the filter.
type flow struct {
	stream    *Stream
	isRequest bool
	// Exports of the guest for the three parts of a message.
	onHeaders, onData, onTrailers string

	headers, trailers *Headers
	held              body.Buffer
	// dataEnd says that the end of the message came with its headers or data.
	dataEnd bool
	stop    stopKind
	// buffering says that the guest asked to collect the body: it is shown all of it with each chunk.
	buffering bool
	// sourceHeld says that the source was told to wait.
	sourceHeld bool

	headersOut, endOut bool

	// What the guest may look at and edit; nil when it may not.
	shownHeaders, shownTrailers *Headers
	shownData                   *body.Buffer
}

// hide takes everything away from the guest.
func (f *flow) hide() {
	f.shownHeaders, f.shownTrailers, f.shownData = nil, nil, nil
}

// ended reports whether the whole message has come in.
func (f *flow) ended() bool { return f.dataEnd || f.trailers != nil }

// callback asks the guest about a part of the message. alive is false when the stream took another way meanwhile: then
// the part is dropped.
func (f *flow) callback(export string, args ...uint64) (act action, alive bool) {
	s := f.stream
	if s.bypass || s.ctx == nil || s.vm.funcs[export] == nil {
		return actionContinue, true
	}
	result, called := s.vm.call(s.ctx, export, append([]uint64{uint64(s.ctx.id)}, args...)...)
	if !called {
		if s.vm.opts.OnFailure == FailOpen {
			s.bypass = true
			return actionContinue, true
		}
		s.onVMFailure()
		return actionPause, false
	}
	if result > uint64(actionNoBuffer) {
		return actionContinue, true // As Envoy takes a word that means nothing.
	}
	return action(result), true
}

func word(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func (f *flow) takeHeaders(h *Headers, end bool) {
	s := f.stream
	f.headers, f.dataEnd, f.shownHeaders = h, end, h
	if !f.isRequest {
		s.info.noteResponse(h)
	}
	act, alive := f.callback(f.onHeaders, uint64(h.Len()), word(end))
	switch {
	case !alive:
	case s.reply != nil:
		f.stop = stopAll
	case act == actionContinue:
		f.shownHeaders = nil
		f.passHeaders()
	case act == actionPause && s.vm.opts.AllowOnHeadersStopIteration:
		f.stop = stopIteration
	default:
		f.stop = stopAll
	}
}

func (f *flow) takeData(chunk []byte, end bool) {
	var data body.Buffer
	data.Append(chunk)
	if f.stop == stopAll {
		f.dataEnd = f.dataEnd || end
		data.MoveTo(&f.held)
		f.checkSoftLimit()
		return
	}
	f.showData(&data, end)
}

// showData gives a chunk to the guest, together with what it has collected so far.
func (f *flow) showData(data *body.Buffer, end bool) {
	f.dataEnd = f.dataEnd || end
	if f.buffering {
		data.MoveTo(&f.held)
		if f.overLimit() {
			return
		}
		data = &f.held
	}
	f.shownData = data
	act, alive := f.callback(f.onData, uint64(data.Len()), word(end))
	f.buffering = false
	if !alive {
		return
	}
	if f.stream.reply != nil {
		act = actionNoBuffer
	}
	f.afterData(act, data)
}

// afterData does with a shown chunk what the guest decided.
func (f *flow) afterData(act action, data *body.Buffer) {
	if act == actionNoBuffer {
		if data != &f.held {
			data.Take()
		}
		f.stop = max(f.stop, stopIteration)
		return
	}
	if data != &f.held {
		data.MoveTo(&f.held)
	}
	f.shownData = &f.held
	switch act {
	case actionContinue:
		f.shownData = nil
		if f.stop == notStopped {
			f.passData()
			return
		}
		f.release()
	case actionWatermark:
		f.stop = max(f.stop, stopIteration)
		f.checkSoftLimit()
	case actionPause, actionNoBuffer:
		f.stop = max(f.stop, stopIteration)
		f.buffering = true
		f.overLimit()
	}
}

func (f *flow) takeTrailers(h *Headers) {
	f.trailers = h
	if f.stop == stopAll {
		return
	}
	f.showTrailers()
}

func (f *flow) showTrailers() {
	f.shownTrailers = f.trailers
	act, alive := f.callback(f.onTrailers, uint64(f.trailers.Len()))
	switch {
	case !alive:
	case f.stream.reply != nil, act != actionContinue:
		f.stop = max(f.stop, stopIteration)
	default:
		f.shownTrailers = nil
		f.release()
	}
}

// resume is the guest's wish to go on. What stopAll kept from the guest is shown to it first.
func (f *flow) resume() {
	s := f.stream
	if f.stop == notStopped || s.closed || (f.isRequest && s.requestOver) {
		return
	}
	f.hide()
	unseen := f.stop == stopAll
	if !unseen {
		f.release()
		return
	}
	f.stop, f.buffering = notStopped, false
	f.releaseSource()
	f.passHeaders()
	if !s.closed && !f.endOut && (f.held.Len() > 0 || f.dataEnd) {
		var data body.Buffer
		f.held.MoveTo(&data)
		f.showData(&data, f.dataEnd)
	}
	if !s.closed && f.trailers != nil && f.stop == notStopped {
		f.showTrailers()
	}
}

// release lets everything held go on: headers, body, trailers.
func (f *flow) release() {
	f.stop, f.buffering = notStopped, false
	f.releaseSource()
	f.passHeaders()
	f.passData()
	if f.trailers != nil && !f.endOut && !f.stream.closed {
		f.endOut = true
		f.emitTrailers()
	}
}

func (f *flow) passHeaders() {
	if f.headersOut || f.headers == nil || f.stream.closed {
		return
	}
	f.headersOut = true
	end := f.dataEnd && f.held.Len() == 0 && f.trailers == nil
	f.endOut = end
	f.emitHeaders(end)
}

// passData lets the held bytes go on, and the end of the message if it has come.
func (f *flow) passData() {
	chunks := f.held.Take()
	end := f.dataEnd && f.trailers == nil
	for i, c := range chunks {
		if f.stream.closed {
			return
		}
		last := end && i == len(chunks)-1
		f.endOut = f.endOut || last
		f.emitData(c, last)
	}
	if end && !f.endOut && f.headersOut && !f.stream.closed {
		f.endOut = true
		f.emitData(nil, true)
	}
}

func (f *flow) emitHeaders(end bool) {
	s := f.stream
	if f.isRequest {
		s.out.RequestHeaders(f.headers, end)
		return
	}
	s.info.noteResponse(f.headers)
	s.out.ResponseHeaders(f.headers, end)
	if end {
		s.complete()
	}
}

func (f *flow) emitData(chunk []byte, end bool) {
	s := f.stream
	if f.isRequest {
		s.out.RequestData(chunk, end)
		return
	}
	s.info.responseBytes += int64(len(chunk))
	s.out.ResponseData(chunk, end)
	if end {
		s.complete()
	}
}

func (f *flow) emitTrailers() {
	s := f.stream
	if f.isRequest {
		s.out.RequestTrailers(f.trailers)
		return
	}
	s.out.ResponseTrailers(f.trailers)
	s.complete()
}
