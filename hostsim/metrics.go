package hostsim

import (
	"slices"
	"strings"
	"sync"
)

// MetricType is what kind of value a metric holds (envoy.md 7).
type MetricType uint32

// Metric types, with the numbers of the ABI.
const (
	MetricCounter   MetricType = 0
	MetricGauge     MetricType = 1
	MetricHistogram MetricType = 2
)

// String returns the type's lower case name.
func (t MetricType) String() string {
	switch t {
	case MetricCounter:
		return "counter"
	case MetricGauge:
		return "gauge"
	case MetricHistogram:
		return "histogram"
	}
	return "unknown"
}

// MetricPrefix stands before every name that a guest gives (envoy.md 7).
const MetricPrefix = "wasmcustom."

// metricTypeBits is how many low bits of a metric id hold its type.
const metricTypeBits = 2

// Metric is a reading of one metric.
type Metric struct {
	// Name as the guest gave it, after MetricPrefix.
	Name string
	Type MetricType
	// Value of a counter or gauge, sum of all records of a histogram.
	Value int64
	// Records of a histogram; 0 for the others.
	Records uint64
}

// Metrics are the metrics of a Host. The same name in several VMs is one metric. Safe for concurrent use.
type Metrics struct {
	mu    sync.Mutex
	ids   map[metricName]uint32
	items []*Metric
}

type metricName struct {
	name string
	kind MetricType
}

func newMetrics() *Metrics { return &Metrics{ids: map[metricName]uint32{}} }

// Snapshot returns all metrics, sorted by name.
func (m *Metrics) Snapshot() []Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Metric, 0, len(m.items))
	for _, it := range m.items {
		out = append(out, *it)
	}
	slices.SortFunc(out, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Value returns the value of the metric that a guest defined under name (without MetricPrefix).
func (m *Metrics) Value(name string) (value int64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, it := range m.items {
		if it.Name == MetricPrefix+name {
			return it.Value, true
		}
	}
	return 0, false
}

func (m *Metrics) define(kind MetricType, name string) (id uint32, st Status) {
	if kind > MetricHistogram {
		return 0, StatusBadArgument
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := metricName{name, kind}
	if id, ok := m.ids[key]; ok {
		return id, StatusOK
	}
	m.items = append(m.items, &Metric{Name: MetricPrefix + name, Type: kind})
	id = uint32(len(m.items))<<metricTypeBits | uint32(kind)
	m.ids[key] = id
	return id, StatusOK
}

// find returns the metric of an id. The caller holds the lock.
func (m *Metrics) find(id uint32) *Metric {
	i := int(id >> metricTypeBits)
	if i < 1 || i > len(m.items) || uint32(m.items[i-1].Type) != id&(1<<metricTypeBits-1) {
		return nil
	}
	return m.items[i-1]
}

// increment adds to a counter (positive offsets only) or gauge; histograms refuse it.
func (m *Metrics) increment(id uint32, offset int64) Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.find(id)
	switch {
	case it == nil:
		return StatusNotFound
	case it.Type == MetricHistogram, it.Type == MetricCounter && offset <= 0:
		return StatusBadArgument
	}
	it.Value += offset
	return StatusOK
}

// record adds to a counter, sets a gauge, or adds a sample to a histogram.
func (m *Metrics) record(id uint32, value uint64) Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.find(id)
	if it == nil {
		return StatusNotFound
	}
	switch it.Type {
	case MetricGauge:
		it.Value = int64(value)
	case MetricHistogram:
		it.Records++
		it.Value += int64(value)
	case MetricCounter:
		it.Value += int64(value)
	}
	return StatusOK
}

// get reads a counter or gauge; histograms refuse it.
func (m *Metrics) get(id uint32) (uint64, Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it := m.find(id)
	switch {
	case it == nil:
		return 0, StatusNotFound
	case it.Type == MetricHistogram:
		return 0, StatusBadArgument
	}
	return uint64(it.Value), StatusOK
}
