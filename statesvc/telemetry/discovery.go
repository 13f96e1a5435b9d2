package telemetry

import (
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/prometheus/client_golang/prometheus"
)

// Sources gives the numbers of the sources of engines. *fleet.Fleet is one.
type Sources interface {
	Sources() []fleet.SourceStatus
}

// AddDiscovery registers the metrics of the sources of engines.
func (t *Telemetry) AddDiscovery(s Sources) error {
	return t.registry.Register(newDiscoveryCollector(s))
}

// discoveryCollector reads the fleet at every scrape.
type discoveryCollector struct {
	from                               Sources
	heard, workers, conflicts, updates *prometheus.Desc
	failing                            *prometheus.Desc
}

func newDiscoveryCollector(s Sources) *discoveryCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_discovery_"+name, help, append([]string{"source"}, labels...), nil)
	}
	return &discoveryCollector{
		from:      s,
		heard:     desc("heard", "1 once the source has named its engines; syncs are answered when all have."),
		workers:   desc("workers", "Engines that the source named last."),
		conflicts: desc("conflicts", "Engines that the source named last and that are left out, since another has the ID or the source names the address twice."),
		updates:   desc("updates_total", "Times that the source named its engines anew, and that it could not be read or asked.", "result"),
		failing:   desc("failing", "1 while the source cannot be read or asked, or says what makes no sense; what it said before stays."),
	}
}

// Describe implements prometheus.Collector.
func (c *discoveryCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.heard, c.workers, c.conflicts, c.updates, c.failing} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *discoveryCollector) Collect(out chan<- prometheus.Metric) {
	for _, s := range c.from.Sources() {
		source := string(s.Source)
		gauge(out, c.heard, oneIf(s.Heard), source)
		gauge(out, c.workers, float64(s.Workers), source)
		gauge(out, c.conflicts, float64(s.Conflicts), source)
		gauge(out, c.failing, oneIf(s.Error != ""), source)
		counter(out, c.updates, s.Good, source, "good")
		counter(out, c.updates, s.Bad, source, "bad")
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
