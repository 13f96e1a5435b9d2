package plugin

import (
	"github.com/pointsman/pointsman/core/flow"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
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
	metric  proxywasm.MetricCounter
}

func (c *counter) add(n uint64) {
	if !c.defined {
		c.metric, c.defined = proxywasm.DefineCounterMetric(c.name), true
	}
	c.metric.Increment(n)
}
