package telemetry

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/board"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/prometheus/client_golang/prometheus"
)

// collector reads the parts at each scrape.
type collector struct {
	version string
	board   Board
	fleet   Fleet
	store   Bindings

	build, contexts, gauges, snapshot, expired  *prometheus.Desc
	syncs, replies, calls, recoveries, restarts *prometheus.Desc

	bindings, bindingBytes, unbound *prometheus.Desc

	healthy, inflight, open, running, waiting, kvUsed, age *prometheus.Desc
}

func newCollector(version string, b Board, f Fleet, a Bindings) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return &collector{
		version: version, board: b, fleet: f, store: a,
		build:        desc("build_info", "Always 1; the version is in the label.", "version"),
		contexts:     desc("contexts", "Live filter contexts."),
		gauges:       desc("gauges", "Worker gauges held for live contexts."),
		snapshot:     desc("snapshot_version", "Version of the last change of the fleet or its load."),
		expired:      desc("contexts_expired_total", "Filter contexts that fell silent; what they had in flight was dropped."),
		syncs:        desc("syncs_total", "Reports of filter contexts by what became of them.", "result"),
		replies:      desc("sync_replies_total", "Answers to reports by kind.", "kind"),
		calls:        desc("engine_calls_total", "Calls to engines by purpose and result.", "purpose", "result"),
		recoveries:   desc("engine_recoveries_total", "Engines whose probe turned good after it was bad."),
		restarts:     desc("engine_restarts_total", "Engines seen to have begun a new life."),
		bindings:     desc("bindings", "Sessions and routing keys bound to an engine."),
		bindingBytes: desc("binding_bytes", "Memory that the bindings occupy, estimated."),
		unbound:      desc("bindings_removed_total", "Bindings that ended, by why: idle for too long, room for others, engine removed.", "reason"),
		healthy:      desc("worker_healthy", "1 when the worker takes requests as far as its probe goes.", "worker"),
		inflight:     desc("worker_inflight", "Requests in flight on the worker over all live contexts.", "worker"),
		open:         desc("worker_open_breakers", "Live contexts whose breaker refuses the worker.", "worker"),
		running:      desc("worker_running", "Requests the worker says it computes; absent when unknown.", "worker"),
		waiting:      desc("worker_waiting", "Requests the worker says it has queued; absent when unknown.", "worker"),
		kvUsed:       desc("worker_kv_used_tokens", "KV tokens the worker says are in use; absent when unknown.", "worker"),
		age:          desc("worker_load_age_seconds", "Age of the worker's load report; absent without a fresh one.", "worker"),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.build, c.contexts, c.gauges, c.snapshot, c.expired, c.syncs, c.replies, c.calls, c.recoveries, c.restarts,
		c.bindings, c.bindingBytes, c.unbound,
		c.healthy, c.inflight, c.open, c.running, c.waiting, c.kvUsed, c.age,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	c.collectBoard(out, c.board.Counts())
	c.collectFleet(out, c.fleet.Counts())
	c.collectBindings(out, c.store.Stats())
	views := map[core.WorkerID]board.View{}
	for _, v := range c.board.Workers() {
		views[v.Worker.ID] = v
	}
	for _, s := range c.fleet.Status() {
		view := views[s.Worker.ID]
		c.collectWorker(out, string(s.Worker.ID), s.Worker.Healthy, &view)
	}
}

func gauge(out chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	emit(out, d, prometheus.GaugeValue, v, labels)
}

func counter(out chan<- prometheus.Metric, d *prometheus.Desc, v uint64, labels ...string) {
	emit(out, d, prometheus.CounterValue, float64(v), labels)
}

func emit(out chan<- prometheus.Metric, d *prometheus.Desc, kind prometheus.ValueType, v float64, labels []string) {
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	out <- m
}

func (c *collector) collectBoard(out chan<- prometheus.Metric, n board.Counts) {
	gauge(out, c.build, 1, c.version)
	gauge(out, c.contexts, float64(n.Contexts))
	gauge(out, c.gauges, float64(n.Gauges))
	gauge(out, c.snapshot, float64(n.Version))
	counter(out, c.expired, n.ContextsExpired)
	counter(out, c.syncs, n.Syncs.Applied, "applied")
	counter(out, c.syncs, n.Syncs.Stale, "stale")
	counter(out, c.syncs, n.Syncs.Idle, "idle")
	counter(out, c.syncs, n.Syncs.RefusedContexts, "too_many_contexts")
	counter(out, c.syncs, n.Syncs.RefusedGauges, "too_many_gauges")
	counter(out, c.replies, n.Syncs.Full, "full")
	counter(out, c.replies, n.Syncs.Delta, "delta")
}

func (c *collector) collectFleet(out chan<- prometheus.Metric, n fleet.Counts) {
	counter(out, c.calls, n.ProbesGood, "probe", "good")
	counter(out, c.calls, n.ProbesBad, "probe", "bad")
	counter(out, c.calls, n.ProbesBusy, "probe", "busy")
	counter(out, c.calls, n.ReadingsGood, "load", "good")
	counter(out, c.calls, n.ReadingsBad, "load", "bad")
	counter(out, c.calls, n.DescribesGood, "describe", "good")
	counter(out, c.calls, n.DescribesBad, "describe", "bad")
	counter(out, c.recoveries, n.Recoveries)
	counter(out, c.restarts, n.Restarts)
}

func (c *collector) collectBindings(out chan<- prometheus.Metric, n affinity.Stats) {
	gauge(out, c.bindings, float64(n.Bindings))
	gauge(out, c.bindingBytes, float64(n.Bytes))
	counter(out, c.unbound, n.Expired, "idle")
	counter(out, c.unbound, n.Evicted, "evicted")
	counter(out, c.unbound, n.Forgotten, "worker_removed")
}

func (c *collector) collectWorker(out chan<- prometheus.Metric, id string, healthy bool, v *board.View) {
	up := 0.0
	if healthy {
		up = 1
	}
	gauge(out, c.healthy, up, id)
	gauge(out, c.inflight, float64(v.Inflight), id)
	gauge(out, c.open, float64(v.OpenBreakers), id)
	if v.Report == nil {
		return
	}
	gauge(out, c.age, float64(v.AgeMillis)/1000, id)
	for _, known := range []struct {
		desc  *prometheus.Desc
		count core.Count
	}{{c.running, v.Report.Running}, {c.waiting, v.Report.Waiting}, {c.kvUsed, v.Report.KVUsed}} {
		if known.count.Known {
			gauge(out, known.desc, float64(known.count.N), id)
		}
	}
}
