// Package telemetry exposes the state service's numbers to Prometheus on a
// registry of its own. It reads the parts when it is scraped; nothing calls it
// but the server's meter. Label values come from closed sets and from the sources
// of engines, never from a client of the service.
package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/board"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const namespace = "pointsman_state"

// Board gives the board's numbers. *board.Board is one.
type Board interface {
	Counts() board.Counts
	Workers() []board.View
}

// Fleet gives the fleet's numbers. *fleet.Fleet is one.
type Fleet interface {
	Counts() fleet.Counts
	Status() []fleet.Status
}

// Bindings gives the affinity store's numbers. *affinity.Memory is one.
type Bindings interface {
	Stats() affinity.Stats
}

// Telemetry is the registry and the meter of requests.
type Telemetry struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	streams  prometheus.Gauge
	outcomes map[server.Outcome]prometheus.Counter
}

// New registers everything.
func New(version string, b Board, f Fleet, a Bindings) (*Telemetry, error) {
	t := &Telemetry{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_requests_total",
			Help: "HTTP requests by route and status; calls of streams count as requests of observe and bind, and streams that have ended as requests of calls.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds",
			Help:    "Time to answer HTTP requests and calls of streams by route.",
			Buckets: []float64{.0001, .0003, .001, .003, .01, .03, .1, .3, 1},
		}, []string{"route"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "call_streams",
			Help: "Streams of calls that are open: one for each filter context that has call_stream set and was used.",
		}),
		outcomes: map[server.Outcome]prometheus.Counter{},
	}
	if err := t.registerOutcomes(); err != nil {
		return nil, err
	}
	for _, c := range []prometheus.Collector{
		t.requests, t.seconds, t.streams, newCollector(version, b, f, a),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := t.registry.Register(c); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// registerOutcomes makes every outcome a series that begins at zero.
func (t *Telemetry) registerOutcomes() error {
	for _, f := range server.Families() {
		vec := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: f.Name, Help: f.Meaning}, []string{"outcome"})
		if err := t.registry.Register(vec); err != nil {
			return err
		}
		for i, value := range f.Values {
			t.outcomes[f.From+server.Outcome(i)] = vec.WithLabelValues(value)
		}
	}
	return nil
}

// Handler serves the registry.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{Registry: t.registry})
}

// Opened counts a stream of calls as open.
func (t *Telemetry) Opened() { t.streams.Inc() }

// Ended counts a stream of calls as ended. How long it was open is no time to answer.
func (t *Telemetry) Ended(status int) {
	t.streams.Dec()
	t.requests.WithLabelValues("calls", strconv.Itoa(status)).Inc()
}

// Request counts one HTTP request or one call of a stream.
func (t *Telemetry) Request(route string, status int, took time.Duration) {
	t.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	t.seconds.WithLabelValues(route).Observe(took.Seconds())
}

// Count counts what became of n calls or parts of them. An outcome of no family is
// not counted.
func (t *Telemetry) Count(o server.Outcome, n int) {
	if c := t.outcomes[o]; c != nil && n > 0 {
		c.Add(float64(n))
	}
}
