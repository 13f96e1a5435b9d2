package abi

// Action is what a stream callback tells the host to do next.
type Action uint32

// The actions.
const (
	ActionContinue Action = iota
	ActionPause
)

// Plugin is one configuration in one VM.
type Plugin interface {
	// Configure starts the plugin. False refuses the configuration.
	Configure() bool
	// NewStream begins an HTTP stream.
	NewStream(id uint32) Stream
	// Tick comes once per tick period.
	Tick()
	// CallDone brings the answer to a call the plugin made. No headers mean that
	// there is none.
	CallDone(call uint32, headers, bodySize int)
	// StreamMessage brings a message of a gRPC stream that the plugin opened.
	StreamMessage(stream uint32, size int)
	// StreamClosed says that the host has closed a stream, and with which status of gRPC.
	// Hosts put it off while another callback runs.
	StreamClosed(stream, status uint32)
}

// Stream is one HTTP stream. Done comes once, whatever ended the stream; Delete
// comes after it and is the last.
type Stream interface {
	RequestHeaders(endOfStream bool) Action
	RequestBody(size int, endOfStream bool) Action
	RequestTrailers() Action
	ResponseHeaders() Action
	Done()
	Delete()
}

// vm is the state behind the callbacks.
type vm struct {
	newPlugin func(id uint32) Plugin
	plugins   map[uint32]Plugin
	parent    uint32 // of the last stream; 0 is no plugin's id
	plugin    Plugin // of that id
	streams   table
	memory    memory
	depth     int // callbacks that run; a host may call back from within a call
}

// Serve makes the module answer its callbacks with plugins from the function. It
// must be called from an init function: a reactor's main does not run.
func Serve(newPlugin func(id uint32) Plugin) {
	current.newPlugin = newPlugin
	current.plugins = map[uint32]Plugin{}
}

// current is the VM's only instance: exported functions have no receiver.
var current vm

// enter and leave stand around every callback. Memory handed to the host's
// answers is free again when the outermost one begins.
func (v *vm) enter() {
	if v.depth == 0 {
		v.memory.reset()
	}
	v.depth++
}

func (v *vm) leave() { v.depth-- }

func (v *vm) contextCreate(id, parent uint32) {
	if parent == 0 {
		v.plugins[id], v.parent, v.plugin = v.newPlugin(id), 0, nil
		return
	}
	if parent != v.parent { // most often that of the stream before
		v.parent, v.plugin = parent, v.plugins[parent]
	}
	if v.plugin != nil {
		v.streams.put(id, v.plugin.NewStream(id))
	}
}

func (v *vm) configure(id uint32) bool {
	p := v.plugins[id]
	return p != nil && p.Configure()
}

func (v *vm) tick(id uint32) {
	if p := v.plugins[id]; p != nil {
		p.Tick()
	}
}

func (v *vm) callDone(id, call uint32, headers, bodySize int) {
	if p := v.plugins[id]; p != nil {
		p.CallDone(call, headers, bodySize)
	}
}

func (v *vm) streamMessage(id, stream uint32, size int) {
	if p := v.plugins[id]; p != nil {
		p.StreamMessage(stream, size)
	}
}

func (v *vm) streamClosed(id, stream, status uint32) {
	if p := v.plugins[id]; p != nil {
		p.StreamClosed(stream, status)
	}
}

func (v *vm) log(id uint32) {
	if s := v.streams.get(id); s != nil {
		s.Done()
	}
}

func (v *vm) delete(id uint32) {
	if s := v.streams.remove(id); s != nil {
		s.Delete()
		return
	}
	delete(v.plugins, id)
	v.parent, v.plugin = 0, nil
}
