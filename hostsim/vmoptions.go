package hostsim

import (
	"crypto/rand"
	"io"
	"time"
)

// Defaults of Envoy that VMOptions uses for zero values.
const (
	// DefaultBodyLimit is a listener's per_connection_buffer_limit_bytes (envoy.md 4.2).
	DefaultBodyLimit = 1 << 20
	// DefaultCalloutLimit is http.async_response_buffer_limit (envoy.md 3.1).
	DefaultCalloutLimit = 32 << 20
	// DefaultReloadBackoff is the base delay of FAIL_RELOAD (envoy.md 1.7).
	DefaultReloadBackoff = time.Second
)

// FailurePolicy is what happens to streams when their VM has failed (envoy.md 1.7).
type FailurePolicy uint8

const (
	// FailClosed answers 503. It is the default.
	FailClosed FailurePolicy = iota
	// FailReload answers 503 until a new VM instance is there. VMs reload through a Worker only.
	FailReload
	// FailOpen lets streams pass as if there were no filter.
	FailOpen
)

// String returns Envoy's name of the policy.
func (p FailurePolicy) String() string {
	switch p {
	case FailReload:
		return "FAIL_RELOAD"
	case FailOpen:
		return "FAIL_OPEN"
	case FailClosed:
	}
	return "FAIL_CLOSED"
}

// VMOptions describe one plugin on one VM. The zero value is valid: a plugin without configuration on a host of its own.
type VMOptions struct {
	// PluginName, RootID and VMID are the names of envoy.md 1.7; VMID separates shared data and queues.
	PluginName, RootID, VMID string
	// VMConfig and PluginConfig are handed to the guest as they are.
	VMConfig, PluginConfig []byte
	// Env are the guest's environment variables.
	Env map[string]string
	// AllowOnHeadersStopIteration is the plugin flag of that name: with it, a guest that pauses on headers is given
	// the body; without it, it is not (envoy.md 4.1).
	AllowOnHeadersStopIteration bool
	// BodyLimit is how many bytes of a message body may be held, for requests and for responses; above it requests
	// are answered with 413. 0 means DefaultBodyLimit.
	BodyLimit int
	// CalloutLimit is the largest callout answer in bytes; 0 means DefaultCalloutLimit.
	CalloutLimit int
	// StreamIdleTimeout ends a stream on which nothing has come in for that long, with 408, or 504 once the request is
	// whole (envoy.md 4.5). 0 is none.
	StreamIdleTimeout time.Duration
	// OnFailure is the failure policy.
	OnFailure FailurePolicy
	// ReloadBackoff is the base delay of FailReload; 0 means DefaultReloadBackoff.
	ReloadBackoff time.Duration
	// Host is shared with other VMs; nil makes one for this VM.
	Host *Host
	// Clock drives the guest's time and ticks; nil is the SystemClock.
	Clock Clock
	// Random feeds the guest's random numbers; nil is the machine's. It is used by this VM only.
	Random io.Reader
	// Callouts answers the guest's HTTP calls; nil knows no cluster.
	Callouts CalloutTransport
	// GRPC carries the guest's gRPC streams; nil knows no cluster.
	GRPC GRPCTransport
	// Log receives what the guest logs; nil drops it.
	Log LogSink
	// LogLevel is what the guest is told when it asks (ABI 0.2.1); nothing is filtered by it.
	LogLevel LogLevel
	// Trace records all calls; nil records none.
	Trace *Trace

	// queue receives events for the goroutine that drives the VM; nil gives the VM its own, drained in line.
	queue *eventQueue
}

func (o VMOptions) withDefaults() VMOptions {
	if o.BodyLimit == 0 {
		o.BodyLimit = DefaultBodyLimit
	}
	if o.CalloutLimit == 0 {
		o.CalloutLimit = DefaultCalloutLimit
	}
	if o.ReloadBackoff == 0 {
		o.ReloadBackoff = DefaultReloadBackoff
	}
	if o.Host == nil {
		o.Host = NewHost()
	}
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.Callouts == nil {
		o.Callouts = noCallouts{}
	}
	if o.GRPC == nil {
		o.GRPC = noGRPC{}
	}
	if o.Log == nil {
		o.Log = func(LogLevel, string) {}
	}
	return o
}
