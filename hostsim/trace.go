package hostsim

import (
	"slices"
	"sync"
)

// Call is one crossing of the border between host and guest.
type Call struct {
	// Guest is true for a guest callback, false for a host function.
	Guest bool
	// Name of the export or of the imported function, such as "proxy_on_log" or "proxy_get_buffer_bytes".
	Name string
	// Context is the id that a callback was made for, or the effective context of a host call.
	Context uint32
	// ToGuest and FromGuest are the bytes copied into and out of the guest's memory by a host call.
	ToGuest, FromGuest int
	// Result word of the call.
	Result uint64
}

// Trace records the calls of the VMs that it was given to. The zero value is ready. Safe for concurrent use. It
// grows without bound: give one to tests, not to servers.
type Trace struct {
	mu    sync.Mutex
	calls []Call
}

func (t *Trace) add(c Call) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, c)
}

// Calls returns what was recorded, in order. A host call stands after the callback that was entered first and before
// the next one: callbacks are recorded when they return.
func (t *Trace) Calls() []Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.calls)
}

// Reset forgets everything.
func (t *Trace) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = nil
}

// Count returns how many calls have that name.
func (t *Trace) Count(name string) int {
	n := 0
	for _, c := range t.Calls() {
		if c.Name == name {
			n++
		}
	}
	return n
}

// Callbacks returns the names of the guest callbacks made for one context, in order.
func (t *Trace) Callbacks(context uint32) []string {
	var names []string
	for _, c := range t.Calls() {
		if c.Guest && c.Context == context {
			names = append(names, c.Name)
		}
	}
	return names
}

// Counters sum up the crossings made for one stream or VM.
type Counters struct {
	// GuestCalls are callbacks, HostCalls are host functions (WASI included).
	GuestCalls, HostCalls int
	// ToGuest and FromGuest are bytes copied by host calls.
	ToGuest, FromGuest int
}

func (c *Counters) host(to, from int) {
	c.HostCalls++
	c.ToGuest += to
	c.FromGuest += from
}
