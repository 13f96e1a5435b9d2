package hostsim

import (
	"strconv"
	"sync"
	"time"
)

// Callout is an HTTP call that a guest makes (envoy.md 3.1).
type Callout struct {
	// Cluster is the name of the upstream cluster.
	Cluster string
	// Headers with :method, :path and :authority; content-length is set when there is a body.
	Headers *Headers
	Body    []byte
	// Timeout is the guest's time limit, 0 for none. The VM enforces it.
	Timeout time.Duration
}

// CalloutReply is the answer to a Callout.
type CalloutReply struct {
	Headers  *Headers
	Body     []byte
	Trailers *Headers
	// Reset says that the answer broke off, so that the guest sees no headers at all.
	Reset bool
}

// CalloutTransport carries callouts. It is used from the goroutine of each VM that it was given to.
type CalloutTransport interface {
	// HasCluster reports whether the cluster exists; a call to another one is refused.
	HasCluster(name string) bool
	// Send begins a call. done is called at most once, from any goroutine, also before Send returns. cancel gives up a
	// call whose answer nobody wants.
	Send(c Callout, done func(CalloutReply)) (cancel func())
}

// TextReply is an answer that the proxy makes up itself, such as the 503 for a cluster without a live host.
func TextReply(status int, text string) CalloutReply {
	h := NewHeaders([2]string{":status", strconv.Itoa(status)}, [2]string{"content-length", strconv.Itoa(len(text))},
		[2]string{"content-type", "text/plain"})
	return CalloutReply{Headers: h, Body: []byte(text)}
}

// openCallout is a call that waits for its answer.
type openCallout struct {
	cancel    func()
	stopTimer func()
}

// startCallout sends a call for the plugin context, which owns it whatever stream made it.
func (vm *VM) startCallout(c Callout) (token uint32, st Status) {
	if !vm.opts.Callouts.HasCluster(c.Cluster) {
		return 0, StatusBadArgument
	}
	for _, name := range []string{":method", ":path", ":authority"} {
		if _, ok := c.Headers.Get(name); !ok {
			return 0, StatusBadArgument
		}
	}
	if len(c.Body) > 0 {
		c.Headers.Set("content-length", strconv.Itoa(len(c.Body)))
	}
	for vm.nextToken == 0 || vm.callouts[vm.nextToken] != nil {
		vm.nextToken += tokenStep // The counter has gone around.
	}
	token = vm.nextToken
	vm.nextToken += tokenStep
	open := &openCallout{cancel: func() {}, stopTimer: func() {}}
	vm.callouts[token] = open
	if c.Timeout > 0 {
		open.stopTimer = vm.opts.Clock.AfterFunc(c.Timeout, func() {
			vm.post(func() { vm.finishCallout(token, TextReply(504, "upstream request timeout")) })
		})
	}
	cancel := vm.opts.Callouts.Send(c, func(r CalloutReply) {
		vm.post(func() { vm.finishCallout(token, r) })
	})
	if cancel != nil {
		open.cancel = cancel
	}
	return token, StatusOK
}

// finishCallout gives an answer to the plugin context. The first one for a token wins.
func (vm *VM) finishCallout(token uint32, r CalloutReply) {
	open := vm.callouts[token]
	if open == nil || vm.failure != nil {
		return
	}
	delete(vm.callouts, token)
	open.stopTimer()
	open.cancel()
	if len(r.Body) > vm.opts.CalloutLimit {
		r = CalloutReply{Reset: true}
	}
	if r.Reset || r.Headers == nil {
		vm.call(vm.root, exportCalloutReply, uint64(vm.root.id), uint64(token), 0, 0, 0)
		return
	}
	trailers := 0
	if r.Trailers != nil {
		trailers = r.Trailers.Len()
	}
	vm.reply = &r
	vm.call(vm.root, exportCalloutReply, uint64(vm.root.id), uint64(token),
		uint64(r.Headers.Len()), uint64(len(r.Body)), uint64(trailers))
	vm.reply = nil
}

func (vm *VM) cancelCallouts() {
	for token, open := range vm.callouts {
		open.stopTimer()
		open.cancel()
		delete(vm.callouts, token)
	}
}

// OpenCallouts returns how many calls wait for an answer.
func (vm *VM) OpenCallouts() int { return len(vm.callouts) }

// noCallouts knows no cluster.
type noCallouts struct{}

func (noCallouts) HasCluster(string) bool                  { return false }
func (noCallouts) Send(Callout, func(CalloutReply)) func() { return nil }

// swallowCallouts knows every cluster and never answers.
type swallowCallouts struct{}

func (swallowCallouts) HasCluster(string) bool                  { return true }
func (swallowCallouts) Send(Callout, func(CalloutReply)) func() { return nil }

// CalloutFunc answers callouts to any cluster at once. The answer is handled after the guest call that asked.
type CalloutFunc func(Callout) CalloutReply

// HasCluster implements CalloutTransport.
func (CalloutFunc) HasCluster(string) bool { return true }

// Send implements CalloutTransport.
func (f CalloutFunc) Send(c Callout, done func(CalloutReply)) (cancel func()) {
	done(f(c))
	return nil
}

// HeldCallouts keeps callouts until a test answers them. The zero value knows every cluster. Safe for concurrent use.
type HeldCallouts struct {
	// Clusters limits what is known, when it is not nil.
	Clusters map[string]bool

	mu   sync.Mutex
	held []*HeldCallout
}

// HeldCallout is one call that waits.
type HeldCallout struct {
	Callout
	// Cancelled is set when the VM gave up the call, or has its answer.
	Cancelled bool
	done      func(CalloutReply)
}

// HasCluster implements CalloutTransport.
func (h *HeldCallouts) HasCluster(name string) bool { return h.Clusters == nil || h.Clusters[name] }

// Send implements CalloutTransport.
func (h *HeldCallouts) Send(c Callout, done func(CalloutReply)) (cancel func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := &HeldCallout{Callout: c, done: done}
	h.held = append(h.held, held)
	return func() { held.Cancelled = true }
}

// All returns every call since the start, in order.
func (h *HeldCallouts) All() []*HeldCallout {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]*HeldCallout(nil), h.held...)
}

// Reply answers the call. The VM sees it in its next RunPending.
func (h *HeldCallout) Reply(r CalloutReply) { h.done(r) }
