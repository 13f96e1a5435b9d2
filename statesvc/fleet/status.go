package fleet

import (
	"sync/atomic"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/enginemetrics"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
)

// Health is what the probes say of an engine.
type Health uint8

// The verdicts. The zero value is an engine that no probe has judged yet; it
// takes no requests.
const (
	HealthUnknown Health = iota
	HealthUp
	HealthDown
)

// String gives the verdict's name for people.
func (h Health) String() string {
	switch h {
	case HealthUp:
		return "up"
	case HealthDown:
		return "down"
	case HealthUnknown:
		return "unknown"
	}
	return "unknown"
}

// Status is one engine as the fleet sees it. The texts say what went wrong last
// and are empty when nothing did.
type Status struct {
	Worker        core.Worker // Address is empty until the name is resolved
	Recoveries    uint64
	URL           string
	Health        Health
	Dialect       enginemetrics.Dialect
	BootstrapPort int           // of a prefill engine, 0 when it did not say
	Said          claims.Worker // the word of all sources
	// BlockSize is the tokens of a block of its KV events, 0 when it did not say; Bigram
	// says that its hashes are of pairs of tokens.
	BlockSize     int
	Bigram        bool
	ProbeError    string
	LoadError     string
	DescribeError string
}

// Counts numbers the calls to engines.
type Counts struct {
	ProbesGood, ProbesBad       uint64
	ProbesBusy                  uint64 // timed out while requests were being answered
	ReadingsGood, ReadingsBad   uint64
	DescribesGood, DescribesBad uint64
	Recoveries                  uint64
	Restarts                    uint64
}

type counts struct {
	probesGood, probesBad, probesBusy atomic.Uint64
	readingsGood, readingsBad         atomic.Uint64
	describesGood, describesBad       atomic.Uint64
	recoveries, restarts              atomic.Uint64
}

func (c *counts) read() Counts {
	return Counts{
		ProbesGood: c.probesGood.Load(), ProbesBad: c.probesBad.Load(), ProbesBusy: c.probesBusy.Load(),
		ReadingsGood: c.readingsGood.Load(), ReadingsBad: c.readingsBad.Load(),
		DescribesGood: c.describesGood.Load(), DescribesBad: c.describesBad.Load(),
		Recoveries: c.recoveries.Load(), Restarts: c.restarts.Load(),
	}
}
