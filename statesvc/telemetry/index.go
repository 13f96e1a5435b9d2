package telemetry

import (
	"strconv"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/prometheus/client_golang/prometheus"
)

// Streams gives the numbers of engines' streams and of the index they feed. *pump.Pump
// is one.
type Streams interface {
	Engines() []pump.Engine
	Index() *kvindex.Index
}

// AddIndex registers the metrics of streams and index (engine-selection.md 10.10). Ranks
// are bounded by what an engine may have.
func (t *Telemetry) AddIndex(s Streams) error { return t.registry.Register(newIndexCollector(s)) }

// indexCollector reads the pump at every scrape.
type indexCollector struct {
	streams Streams
	all     []*prometheus.Desc

	trust, reason, connected, last, queued   *prometheus.Desc
	batches, missing, messages, events, load *prometheus.Desc
	replays, connects, restarts, gaps        *prometheus.Desc
	blocks, bytes, nodes, unplaced, held     *prometheus.Desc
	lost, mismatch, room                     *prometheus.Desc
}

func newIndexCollector(s Streams) *indexCollector {
	c := &indexCollector{streams: s}
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		d := prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
		c.all = append(c.all, d)
		return d
	}
	stream := []string{"worker", "rank"}
	with := func(label string) []string { return []string{"worker", "rank", label} }
	c.trust = desc("kv_stream_trust", "Trust in a rank's KV events: 0 none, 1 partial, 2 full.", stream...)
	c.reason = desc("kv_stream_distrust", "1 for the reason why a rank's KV events are not trusted fully; absent when they are.", with("reason")...)
	c.connected = desc("kv_stream_connected", "1 while the event socket of the rank is connected.", stream...)
	c.last = desc("kv_stream_sequence", "Number of the rank's last batch; absent when there was none.", stream...)
	c.queued = desc("kv_stream_queued", "Messages of the rank that came and are not applied yet.", stream...)
	c.batches = desc("kv_batches_total", "Batches of the rank that were applied.", stream...)
	c.gaps = desc("kv_gaps_total", "Runs of batches of the rank that did not come.", stream...)
	c.missing = desc("kv_missing_batches_total", "Batches of the rank that did not come: repaired by a replay, or lost.", with("result")...)
	c.messages = desc("kv_messages_dropped_total", "Messages of the rank that were not applied, by why.", with("reason")...)
	c.events = desc("kv_events_dropped_total", "Events of the rank that were left out, and batches that could not be read, by why.", with("reason")...)
	c.replays = desc("kv_replays_total", "Replays asked of the rank, by result.", with("result")...)
	c.connects = desc("kv_connects_total", "Connections to the rank's event socket, by result.", with("result")...)
	c.restarts = desc("kv_restarts_total", "Processes of the rank that ended, as its events show.", stream...)
	c.mismatch = desc("kv_rank_mismatch_total", "Batches of the rank's socket that name another rank; they are applied.", stream...)
	c.load = desc("native_load_reports_total", "Load reports of the engine: frames over ZMQ and polls of /v1/loads, by result.", "worker", "source", "result")
	c.blocks = desc("kv_blocks", "Blocks that the rank holds on a tier, in the cache group that holds most.", with("tier")...)
	c.bytes = desc("kv_index_bytes", "Accounted memory of the KV index.")
	c.nodes = desc("kv_index_blocks", "Blocks of distinct content in the KV index.")
	c.unplaced = desc("kv_index_unplaced", "Hashes whose content is not known.")
	c.held = desc("kv_index_extra_copies", "Copies of blocks beyond the first: the most blocks that may be believed in though they are gone.")
	c.lost = desc("kv_index_dropped_total", "Blocks and hashes that the KV index could not place or gave up, by why.", "reason")
	c.room = desc("kv_index_evictions_caused_total", "Blocks of any engine that the KV index gave up to make room for events of the worker.", "worker")
	return c
}

// Describe implements prometheus.Collector.
func (c *indexCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.all {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *indexCollector) Collect(out chan<- prometheus.Metric) {
	engines := c.streams.Engines()
	evictions := c.streams.Index().EvictionsBy()
	for i := range engines {
		e := &engines[i]
		for j := range e.Streams {
			c.collectStream(out, e.Worker, &e.Streams[j])
		}
		counter(out, c.room, evictions[e.Worker], e.Worker)
		counter(out, c.load, e.Load.Frames, e.Worker, "frames", "good")
		counter(out, c.load, e.Load.BadFrames, e.Worker, "frames", "bad")
		counter(out, c.load, e.Load.Polls, e.Worker, "polls", "good")
		counter(out, c.load, e.Load.PollErrors, e.Worker, "polls", "bad")
	}
	c.collectIndex(out, c.streams.Index())
}

func (c *indexCollector) collectStream(out chan<- prometheus.Metric, worker string, s *pump.Stream) {
	rank := strconv.FormatUint(uint64(s.Rank), 10)
	gauge(out, c.trust, float64(s.Trust), worker, rank)
	if s.Trust != zmqsub.TrustFull {
		gauge(out, c.reason, 1, worker, rank, s.Reason)
	}
	connected := 0.0
	if s.Status.Connected {
		connected = 1
	}
	gauge(out, c.connected, connected, worker, rank)
	if s.Status.Last >= 0 && s.Status.Counts.Batches > 0 {
		gauge(out, c.last, float64(s.Status.Last), worker, rank)
	}
	gauge(out, c.queued, float64(s.Status.Queued), worker, rank)
	n := &s.Status.Counts
	counter(out, c.batches, n.Batches, worker, rank)
	counter(out, c.gaps, n.Gaps, worker, rank)
	counter(out, c.restarts, n.Restarts, worker, rank)
	counter(out, c.mismatch, s.Events.OtherRank, worker, rank)
	c.collectOutcomes(out, s, worker, rank)
}

// collectOutcomes gives what came of a stream's messages, by label.
func (c *indexCollector) collectOutcomes(out chan<- prometheus.Metric, s *pump.Stream, worker, rank string) {
	n := &s.Status.Counts
	for _, v := range []struct {
		desc  *prometheus.Desc
		label string
		n     uint64
	}{
		{c.missing, "repaired", n.Repaired},
		{c.missing, "lost", n.Missing},
		{c.messages, "duplicate", n.Duplicates},
		{c.messages, "overflow", n.Overflows},
		{c.messages, "fenced", n.Fenced},
		{c.messages, "frame_count", n.BadFrames},
		{c.messages, "sequence_frame", n.BadSequence},
		{c.messages, "topic", n.BadTopic},
		{c.messages, "oversized", n.Oversized},
		{c.replays, "good", n.ReplaysGood},
		{c.replays, "bad", n.ReplaysBad},
		{c.connects, "good", n.Connects},
		{c.connects, "bad", n.DialErrors},
		{c.events, "not_msgpack", s.Events.NotMsgpack},
		{c.events, "not_a_batch", s.Events.NotBatch},
		{c.events, "malformed", s.Events.Malformed},
		{c.events, "unknown_kind", s.Events.UnknownKind},
		{c.events, "too_large", s.Events.TooLarge},
		{c.events, "no_tokens", s.Events.NoTokens},
	} {
		counter(out, v.desc, v.n, worker, rank, v.label)
	}
}

func (c *indexCollector) collectIndex(out chan<- prometheus.Metric, x *kvindex.Index) {
	n := x.Stats()
	gauge(out, c.bytes, float64(n.Bytes))
	gauge(out, c.nodes, float64(n.Nodes))
	gauge(out, c.unplaced, float64(n.Unplaced))
	gauge(out, c.held, float64(n.ExtraCopies))
	for reason, v := range map[string]uint64{
		"evicted": n.Evicted, "unplaced": n.UnplacedDropped, "unknown_parent": n.UnknownParent, "ambiguous_parent": n.AmbiguousParent,
		"mismatched": n.Mismatched, "unknown_tier": n.UnknownTier, "too_many_shapes": n.TooManyShapes, "too_many_groups": n.TooManyGroups,
		"removed_unknown": n.RemovedUnknown,
	} {
		counter(out, c.lost, v, reason)
	}
	most := map[kvindex.Owner][4]int64{}
	for _, o := range x.Occupancies(nil) {
		held := most[o.Owner]
		for t := range held {
			held[t] = max(held[t], o.Blocks[t])
		}
		most[o.Owner] = held
	}
	for owner, held := range most {
		for t, name := range map[kvevents.Tier]string{
			kvevents.TierDevice: "device", kvevents.TierHost: "host", kvevents.TierDisk: "disk", kvevents.TierExternal: "external",
		} {
			gauge(out, c.blocks, float64(held[t-kvevents.TierDevice]), owner.Worker, strconv.FormatUint(uint64(owner.Rank), 10), name)
		}
	}
}
