package plugin

import (
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
)

// metrics publishes a context's counters to the host once a tick, so that
// requests pay no host call for them. A metric is defined when it first counts.
type metrics struct {
	published flow.Counters
	counters  [flow.CounterCount]counter
}

func (m *metrics) publish(counters *flow.Counters) {
	for i, n := range counters {
		delta := n - m.published[i]
		if delta == 0 {
			continue
		}
		if m.counters[i].name == "" {
			m.counters[i].name = flow.Counter(i).Name()
		}
		m.counters[i].add(delta)
		m.published[i] = n
	}
}

// counter is one host metric, defined at its first count.
type counter struct {
	name    string
	defined bool
	id      uint32
}

func (c *counter) add(n uint64) {
	if !c.defined {
		id, err := abi.DefineCounter(c.name)
		if err != nil {
			logf(abi.LevelError, "metric %s cannot be defined: %v", c.name, err)
			return
		}
		c.id, c.defined = id, true
	}
	if err := abi.AddToCounter(c.id, n); err != nil {
		logf(abi.LevelError, "metric %s cannot be counted: %v", c.name, err)
	}
}
