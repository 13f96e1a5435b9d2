package story

import (
	"errors"
	"strings"

	"github.com/pointsman/pointsman/hostsim"
)

// Host is where a filter runs.
type Host interface {
	// Start makes a filter context of a configuration. A configuration that the
	// filter refuses is a *RefusedError.
	Start(config []byte, env Surroundings) (Filter, error)
}

// Surroundings are what a filter has around it.
type Surroundings struct {
	Clock   *hostsim.ManualClock
	Service Service
	// HideBodies makes the host hold requests at their headers without showing
	// their bodies, as a host without the header-pause flag does.
	HideBodies bool
}

// Service is the state service as a filter sees it, and what its calls reach beside
// it.
type Service interface {
	// Call takes a message for a path of core/wire. The message of an observe call
	// is the one in its header. answer is called once, also before Call returns,
	// with false when the reply is lost.
	Call(path string, message []byte, answer func(reply []byte, ok bool))
	// Abort is a call to the engine at an address: it is to end the request of a rid.
	Abort(address, rid string)
}

// RefusedError lists what a filter has against its configuration.
type RefusedError struct{ Lines []string }

func (e *RefusedError) Error() string { return strings.Join(e.Lines, "\n") }

func refusal(err error) error { return &RefusedError{Lines: strings.Split(err.Error(), "\n")} }

var errEnded = errors.New("the request has ended")

// Filter is one filter context. Time passes by its clock: after each timer the
// owner calls RunPending.
type Filter interface {
	RunPending()
	// Tick makes the context tick at once.
	Tick()
	Open(Opening) Exchange
	// Counters are the context's metrics as it last published them, sorted by name,
	// without those that never counted.
	Counters() []Counter
	// TakeLog gives the lines logged since the last call, receipts apart.
	TakeLog() []string
	Close() error
}

// Counter is one metric.
type Counter struct {
	Name  string
	Value uint64
}

// Opening is how a request begins.
type Opening struct {
	Headers *hostsim.Headers // with :method and :path
	End     bool             // there is no body
}

// Exchange is one request and its response.
type Exchange interface {
	Data(chunk []byte, end bool)
	// Upstream notes which address the host sent the request to in the end.
	Upstream(address string)
	// Respond gives the engine's response headers.
	Respond(status int)
	// Finish ends the exchange.
	Finish(End)
	// State says what became of the request.
	State() State
}

// State is what a host sees of a request.
type State struct {
	Held     bool   // the filter keeps the request
	Endpoint string // where the filter sent it, empty for nowhere
	Rank     string // data-parallel rank that the engine is told, empty for none
	Body     string // as it went on
	Worker   string // the engine that the response names to the client
	Answer   *Answer
	Receipts []string // lines of the decisions taken
}

// Answer is a response made by the filter.
type Answer struct {
	Status     int
	Code       string
	RetryAfter string
	Body       string
}

// End is how an exchange ends.
type End string

// The ends.
const (
	EndComplete    End = "complete"    // the response went out whole
	EndCut         End = "cut"         // the engine broke off
	EndUnreachable End = "unreachable" // no connection to the engine
	EndTimeout     End = "timeout"     // the engine did not answer in time
	EndNoHost      End = "nohost"      // the host has no such engine
	EndGone        End = "gone"        // the client left
)

func ends() []End {
	return []End{EndComplete, EndCut, EndUnreachable, EndTimeout, EndNoHost, EndGone}
}
