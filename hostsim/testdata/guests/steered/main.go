//go:build wasip1

// Command steered is a test filter whose behaviour the request headers choose: each "x-do" value is a list of steps
// "phase:verb:argument", separated by blanks, where phase is headers, body, end, response, chunk, log, reply,
// tick, message or closed.
package main

import (
	"strings"
	"unsafe"

	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm/types"
)

//go:wasmimport env proxy_set_buffer_bytes
func setBufferBytes(kind uint32, start, length int32, data unsafe.Pointer, size int32) uint32

func main() {}

func init() {
	proxywasm.SetPluginContext(func(uint32) types.PluginContext { return &plugin{} })
}

type plugin struct {
	types.DefaultPluginContext
	waiting []uint32
	onTick  []step
}

func (p *plugin) OnPluginStart(int) types.OnPluginStartStatus {
	config, err := proxywasm.GetPluginConfiguration()
	if err != nil {
		config = nil
	}
	proxywasm.LogInfo("configured with " + string(config))
	if strings.HasPrefix(string(config), "refuse") {
		for complaint := range strings.FieldsSeq(strings.TrimPrefix(string(config), "refuse")) {
			proxywasm.LogError(complaint)
		}
		return types.OnPluginStartStatusFailed
	}
	if strings.HasPrefix(string(config), "panic") {
		panic("asked to")
	}
	p.onTick, steered = parse(string(config)), p
	if len(p.onTick) > 0 {
		must(proxywasm.SetTickPeriodMilliSeconds(100))
	}
	return types.OnPluginStartStatusOK
}

func (p *plugin) OnTick() {
	run(p, nil, p.onTick, "tick")
	for _, id := range p.waiting {
		if proxywasm.SetEffectiveContext(id) == nil {
			must(proxywasm.AddHttpRequestHeader("x-resumed-by", "tick"))
			must(proxywasm.ResumeHttpRequest())
		}
	}
	p.waiting = nil
}

func (p *plugin) OnQueueReady(id uint32) {
	item, err := proxywasm.DequeueSharedQueue(id)
	report("queue", string(item), err)
}

func (p *plugin) NewHttpContext(id uint32) types.HttpContext { return &stream{plugin: p, id: id} }

type stream struct {
	types.DefaultHttpContext
	plugin *plugin
	id     uint32
	steps  []step
	paused bool
}

type step struct{ phase, verb, arg string }

func parse(text string) []step {
	var steps []step
	for word := range strings.FieldsSeq(text) {
		parts := strings.SplitN(word, ":", 3)
		for len(parts) < 3 {
			parts = append(parts, "")
		}
		steps = append(steps, step{parts[0], parts[1], parts[2]})
	}
	return steps
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (s *stream) do(phase string) types.Action { return run(s.plugin, s, s.steps, phase) }

func (s *stream) OnHttpRequestHeaders(int, bool) types.Action {
	text, err := proxywasm.GetHttpRequestHeader("x-do")
	if err == nil {
		s.steps = parse(text)
	}
	return s.do("headers")
}

func (s *stream) OnHttpRequestBody(_ int, end bool) types.Action {
	if end {
		return s.do("end")
	}
	return s.do("body")
}

func (s *stream) OnHttpRequestTrailers(int) types.Action       { return s.do("end") }
func (s *stream) OnHttpResponseHeaders(int, bool) types.Action { return s.do("response") }
func (s *stream) OnHttpResponseBody(_ int, end bool) types.Action {
	if end {
		return s.do("lastchunk")
	}
	return s.do("chunk")
}
func (s *stream) OnHttpResponseTrailers(int) types.Action { return types.ActionContinue }
func (s *stream) OnHttpStreamDone()                       { s.do("log") }
