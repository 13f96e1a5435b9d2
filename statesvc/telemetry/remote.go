package telemetry

import (
	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/indexer/serving"
	"github.com/prometheus/client_golang/prometheus"
)

// Remote gives the numbers of what asks other indexers. *indexer.Client is one.
type Remote interface{ Counts() indexer.Counts }

// Serving gives the numbers of what answers others. *serving.Server is one.
type Serving interface {
	Counts() map[serving.Outcome]uint64
}

// AddRemote registers the metrics of lookups at other indexers.
func (t *Telemetry) AddRemote(r Remote) error { return t.registry.Register(newRemoteCollector(r)) }

// AddServing registers the metrics of lookups for others.
func (t *Telemetry) AddServing(s Serving) error { return t.registry.Register(newServingCollector(s)) }

type remoteCollector struct {
	remote                            Remote
	lookups, calls, ignored, inflight *prometheus.Desc
}

func newRemoteCollector(r Remote) *remoteCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	}
	return &remoteCollector{
		remote:   r,
		lookups:  desc("remote_lookups_total", "Lookups of the prefix source remote by outcome: matched; empty, no worker holds the first block; and, nobody could be asked, timeout, unreachable, overloaded, too_large, senseless (an answer that cannot be one to the question); rejected, the indexer refused and requests are answered with 500.", "outcome"),
		calls:    desc("remote_calls_total", "Calls to an indexer, several of which may be one lookup's, by outcome as for lookups.", "endpoint", "outcome"),
		ignored:  desc("remote_matches_ignored_total", "Matches of answers that did not count in full: of a worker whose base URL no engine here has; of more blocks than were asked about, cut down to these; without an address.", "reason"),
		inflight: desc("remote_lookups_inflight", "Lookups under way."),
	}
}

// Describe implements prometheus.Collector.
func (c *remoteCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.lookups, c.calls, c.ignored, c.inflight} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *remoteCollector) Collect(out chan<- prometheus.Metric) {
	n := c.remote.Counts()
	gauge(out, c.inflight, float64(n.Inflight))
	for outcome, v := range n.Lookups {
		counter(out, c.lookups, v, outcome.String())
	}
	for _, e := range n.Endpoints {
		for outcome, v := range e.Calls {
			counter(out, c.calls, v, e.Name, outcome.String())
		}
	}
	for reason, v := range n.Ignored {
		counter(out, c.ignored, v, reason.String())
	}
}

type servingCollector struct {
	serving Serving
	queries *prometheus.Desc
}

func newServingCollector(s Serving) *servingCollector {
	return &servingCollector{serving: s, queries: prometheus.NewDesc(namespace+"_indexer_queries_total",
		"Lookups that others asked of this service's index by outcome: answered; overloaded, every place was taken; expired, the caller's time was over; refused, the query did not come or could not be read.", []string{"outcome"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *servingCollector) Describe(out chan<- *prometheus.Desc) { out <- c.queries }

// Collect implements prometheus.Collector.
func (c *servingCollector) Collect(out chan<- prometheus.Metric) {
	for outcome, v := range c.serving.Counts() {
		counter(out, c.queries, v, outcome.String())
	}
}
