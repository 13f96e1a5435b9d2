package story

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/internal/callstream"
)

// Wasm runs a compiled filter in hostsim.
type Wasm struct{ Module *hostsim.Module }

// bodyLimit lets the filter's own limit speak first: 32 MiB (design section 3).
const bodyLimit = 33 << 20

// Start implements Host.
func (w Wasm) Start(config []byte, env Surroundings) (Filter, error) {
	f := &wasmFilter{host: hostsim.NewHost(), trace: &hostsim.Trace{}, streams: map[uint32]*wasmExchange{}}
	vm, err := w.Module.NewVM(context.Background(), hostsim.VMOptions{
		PluginConfig: config, AllowOnHeadersStopIteration: !env.HideBodies, BodyLimit: bodyLimit,
		Clock: env.Clock, Callouts: callouts{env.Service}, GRPC: streams(env.Service), Host: f.host, Log: f.note, Trace: f.trace,
	})
	if errors.Is(err, hostsim.ErrRefused) {
		return nil, &RefusedError{Lines: f.refused}
	}
	if err != nil {
		return nil, err
	}
	f.vm = vm
	f.sort()
	return f, nil
}

// callouts carry the calls of the module to the story's state service.
type callouts struct{ service Service }

// HasCluster implements hostsim.CalloutTransport: a story has no other cluster.
func (callouts) HasCluster(string) bool { return true }

// Send implements hostsim.CalloutTransport.
func (c callouts) Send(call hostsim.Callout, done func(hostsim.CalloutReply)) (cancel func()) {
	path, _ := call.Headers.First(":path")
	message := call.Body
	if path == "/abort_request" {
		address, _ := call.Headers.First("x-pointsman-endpoint")
		c.service.Abort(address, gjson.GetBytes(message, "rid").Str)
		done(hostsim.CalloutReply{Headers: hostsim.NewHeaders([2]string{":status", "200"})})
		return nil
	}
	if path == wire.ObservePath {
		header, _ := call.Headers.First(wire.ObserveHeader)
		message, _ = base64.RawURLEncoding.DecodeString(header)
	}
	c.service.Call(path, message, func(reply []byte, ok bool) {
		if !ok {
			done(hostsim.CalloutReply{Reset: true})
			return
		}
		done(hostsim.CalloutReply{Headers: hostsim.NewHeaders([2]string{":status", "200"}), Body: reply})
	})
	return nil
}

// streams carry calls on streams to the story's state service. A reply that is lost takes its stream along.
func streams(service Service) hostsim.GRPCFunc {
	const unavailable = 14
	return func(message []byte, s *hostsim.AnsweredGRPC) {
		call, err := callstream.Decode(message)
		if err != nil {
			s.Close(unavailable, err.Error())
			return
		}
		asked := call.Bind
		switch call.Path() {
		case "":
			s.Reply(call.Reply(callstream.Answer{}))
			return
		case wire.ObservePath:
			asked = call.Observe
		}
		service.Call(call.Path(), asked, func(reply []byte, ok bool) {
			if !ok {
				s.Close(unavailable, "the reply is lost")
				return
			}
			s.Reply(call.Reply(callstream.Answer{Message: reply}))
		})
	}
}

// wasmFilter is a filter context in a VM.
type wasmFilter struct {
	vm      *hostsim.VM
	host    *hostsim.Host
	trace   *hostsim.Trace
	streams map[uint32]*wasmExchange
	unread  []logLine // logged since the last sort
	log     []string
	refused []string
}

type logLine struct {
	level hostsim.LogLevel
	text  string
}

func (f *wasmFilter) note(level hostsim.LogLevel, text string) {
	if level == hostsim.LogCritical {
		f.refused = append(f.refused, text)
	}
	f.unread = append(f.unread, logLine{level, text})
}

// sort gives each logged receipt to its stream. The trace knows which stream was
// effective at each call that logged.
func (f *wasmFilter) sort() {
	var contexts []uint32
	for _, call := range f.trace.Calls() {
		if !call.Guest && call.Name == "proxy_log" {
			contexts = append(contexts, call.Context)
		}
	}
	f.trace.Reset()
	for i, line := range f.unread {
		var stream *wasmExchange
		if i < len(contexts) {
			stream = f.streams[contexts[i]]
		}
		switch {
		case stream != nil && isReceipt(line.text):
			stream.receipts = append(stream.receipts, line.text)
		case line.level >= hostsim.LogWarn || line.text == serviceBack:
			f.log = append(f.log, line.text)
		}
	}
	f.unread = f.unread[:0]
}

// RunPending implements Filter.
func (f *wasmFilter) RunPending() {
	f.vm.RunPending()
	f.sort()
}

// Tick implements Filter.
func (f *wasmFilter) Tick() {
	f.vm.Tick()
	f.sort()
}

// Counters implements Filter.
func (f *wasmFilter) Counters() []Counter {
	var list []Counter
	for _, m := range f.host.Metrics().Snapshot() {
		if m.Value > 0 {
			list = append(list, Counter{strings.TrimPrefix(m.Name, hostsim.MetricPrefix), uint64(m.Value)})
		}
	}
	return list
}

// TakeLog implements Filter.
func (f *wasmFilter) TakeLog() []string {
	lines := slices.Clone(f.log)
	f.log = f.log[:0]
	return lines
}

// Close implements Filter.
func (f *wasmFilter) Close() error { return f.vm.Close() }

// Open implements Filter.
func (f *wasmFilter) Open(o Opening) Exchange {
	e := &wasmExchange{filter: f, out: &hostsim.Recorder{}}
	e.stream = f.vm.NewStream(e.out, hostsim.StreamOptions{})
	f.streams[e.stream.ContextID()] = e
	e.stream.RequestHeaders(o.Headers.Clone(), o.End)
	f.sort()
	return e
}

// wasmExchange is one stream through the VM.
type wasmExchange struct {
	filter    *wasmFilter
	stream    *hostsim.Stream
	out       *hostsim.Recorder
	receipts  []string
	responded bool // an engine or the host itself did
}

func (e *wasmExchange) Data(chunk []byte, end bool) {
	e.stream.RequestData(chunk, end)
	e.filter.sort()
}

func (e *wasmExchange) Upstream(address string) { e.stream.UpstreamChosen(address, 1) }

func (e *wasmExchange) Respond(status int) {
	e.responded = true
	e.stream.ResponseHeaders(hostsim.NewHeaders([2]string{":status", strconv.Itoa(status)}), false)
	e.filter.sort()
}

func (e *wasmExchange) Finish(end End) {
	switch end {
	case EndComplete:
		if !e.responded {
			e.Respond(200)
		}
		e.stream.ResponseData(nil, true)
	case EndCut:
		e.fail(hostsim.ConnectionTermination)
	case EndUnreachable:
		e.fail(hostsim.ConnectFailure)
	case EndTimeout:
		e.fail(hostsim.UpstreamTimeout)
	case EndNoHost:
		e.fail(hostsim.NoHealthyUpstream)
	case EndGone:
		e.stream.Reset()
	}
	e.filter.sort()
}

func (e *wasmExchange) fail(kind hostsim.FailureKind) {
	e.responded = true
	e.stream.UpstreamFailed(kind, "")
}

func (e *wasmExchange) State() State {
	s := State{Held: e.stream.RequestPaused(), Receipts: e.receipts}
	if request := e.out.Request(); request.Headers != nil {
		s.Endpoint, _ = request.Headers.First("x-pointsman-endpoint")
		s.Rank, _ = request.Headers.First("x-data-parallel-rank")
		s.Body = string(request.Body)
	}
	m := e.out.Response()
	if m.Headers != nil {
		s.Worker, _ = m.Headers.First("x-pointsman-worker")
	}
	if e.responded || m.Headers == nil {
		return s
	}
	a := &Answer{Body: string(m.Body)}
	status, _ := m.Headers.First(":status")
	a.Status, _ = strconv.Atoi(status)
	a.Code, _ = m.Headers.First("x-router-error-code")
	a.RetryAfter, _ = m.Headers.First("retry-after")
	s.Answer, s.Held = a, false
	return s
}
