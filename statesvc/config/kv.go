package config

import (
	"fmt"
	"net/url"
	"strconv"
)

// maxRanks bounds the ranks of one engine.
const maxRanks = 64

// KV says how engines' KV events are followed and indexed (design section 5).
type KV struct {
	Enabled bool `yaml:"enabled"` // whether engines are listened to
	// BudgetBytes bounds the index's accounted memory.
	BudgetBytes     int64 `yaml:"budget_bytes"`
	QueueMessages   int   `yaml:"queue_messages"`    // messages of one rank that wait to be read; more are dropped, and asked for again
	QueueBytes      int   `yaml:"queue_bytes"`       // bytes of the same
	MaxMessageBytes int   `yaml:"max_message_bytes"` // the longest message that is taken
	// ReplayTimeoutMillis is how long a replay may be without a reply.
	ReplayTimeoutMillis Millis `yaml:"replay_timeout_ms"`
	ReplayTotalMillis   Millis `yaml:"replay_total_ms"` // how long a whole replay may take
	// CheckMillis is how long a stream is silent before the engine is asked for what
	// may have been missed.
	CheckMillis Millis `yaml:"check_ms"`
	// Remote is where else it is asked who holds which prefix.
	Remote Remote `yaml:"remote"`
}

func defaultKV() KV {
	return KV{
		Enabled: true, BudgetBytes: 1 << 30,
		QueueMessages: 1024, QueueBytes: 16 << 20, MaxMessageBytes: 16 << 20,
		ReplayTimeoutMillis: 2000, ReplayTotalMillis: 60_000, CheckMillis: 10_000,
		Remote: defaultRemote(),
	}
}

// WorkerKV says where one engine publishes, for engines that do not tell. Endpoints are
// tcp://host:port of rank 0; each further rank adds its number to the port.
type WorkerKV struct {
	Disabled  bool   `yaml:"disabled"`   // the engine is not listened to
	Events    string `yaml:"events"`     // where KV events are published
	Replay    string `yaml:"replay"`     // where missed events are asked for; empty: they are not
	Topic     string `yaml:"topic"`      // that events are published under; empty: any
	Ranks     *int   `yaml:"ranks"`      // 1 when left out
	Load      string `yaml:"load"`       // where SGLang publishes load reports
	LoadTopic string `yaml:"load_topic"` // that load reports are published under; empty: any
}

// Told reports whether the endpoints are configured.
func (k *WorkerKV) Told() bool { return k.Events != "" || k.Load != "" }

// RankCount is the number of ranks of a configured engine.
func (k *WorkerKV) RankCount() int {
	if k.Ranks == nil {
		return 1
	}
	return max(*k.Ranks, 1)
}

// SplitEndpoint takes tcp://host:port apart.
func SplitEndpoint(endpoint string) (host string, port int, err error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "tcp" || u.Hostname() == "" || u.Path != "" || u.RawQuery != "" || u.User != nil {
		return "", 0, fmt.Errorf("%q is not an endpoint; write tcp://host:port, such as tcp://127.0.0.1:5557", endpoint)
	}
	switch u.Hostname() {
	case "*", "0.0.0.0", "::":
		return "", 0, fmt.Errorf("%q is what an engine binds; write the host to connect to", endpoint)
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || n == 0 {
		return "", 0, fmt.Errorf("%q has no port from 1 to 65535; write tcp://%s:5557", endpoint, u.Hostname())
	}
	return u.Hostname(), int(n), nil
}

func (c *Config) validateKV(p *Problems) {
	k := &c.KV
	checkRange("kv.budget_bytes", k.BudgetBytes, 1<<20, 1<<40, "", p)
	checkRange("kv.queue_messages", int64(k.QueueMessages), 1, 1<<20, "", p)
	checkRange("kv.queue_bytes", int64(k.QueueBytes), 1<<10, 1<<32, "", p)
	checkRange("kv.max_message_bytes", int64(k.MaxMessageBytes), 1<<10, 1<<30, "", p)
	checkRange("kv.replay_timeout_ms", int64(k.ReplayTimeoutMillis), 1, int64(maxSpan), " milliseconds", p)
	checkRange("kv.replay_total_ms", int64(k.ReplayTotalMillis), 1, int64(maxSpan), " milliseconds", p)
	checkRange("kv.check_ms", int64(k.CheckMillis), 10, int64(maxSpan), " milliseconds", p)
	if t, total := k.ReplayTimeoutMillis, k.ReplayTotalMillis; t > 0 && total > 0 && total < t {
		p.add("kv.replay_total_ms", "%d is below kv.replay_timeout_ms (%d), which could then never pass; write at least %d", total, t, t)
	}
	checkSockets(c.Fleet.Static, "fleet.static", p)
}

// checkSockets refuses sockets that two workers of a list name: an event would count
// twice.
func checkSockets(list []Worker, root string, p *Problems) {
	type place struct {
		host string
		port int
	}
	owners := map[place]string{}
	for i := range list {
		k := &list[i].KV
		for _, e := range []struct{ key, endpoint string }{{"events", k.Events}, {"replay", k.Replay}, {"load", k.Load}} {
			path := fmt.Sprintf("%s[%d].kv.%s", root, i, e.key)
			host, port, err := SplitEndpoint(e.endpoint)
			if e.endpoint == "" || err != nil {
				continue
			}
			for rank := range min(k.RankCount(), maxRanks) {
				at := place{host, port + rank}
				if other, taken := owners[at]; taken && other != path {
					p.add(path, "port %d of %s (rank %d) is also that of %s; write ports at least %d apart", at.port, host, rank, other, k.RankCount())
					break
				}
				owners[at] = path
			}
		}
	}
}

func (k *WorkerKV) check(path string, p *Problems) {
	if k.Disabled && k.Told() {
		p.add(path+".disabled", "true, yet sockets are named; remove it or them")
	}
	if k.Ranks != nil {
		checkRange(path+".ranks", int64(*k.Ranks), 1, maxRanks, "", p)
	}
	for _, e := range []struct{ key, endpoint string }{{"events", k.Events}, {"replay", k.Replay}, {"load", k.Load}} {
		if e.endpoint == "" {
			continue
		}
		_, port, err := SplitEndpoint(e.endpoint)
		switch {
		case err != nil:
			p.add(path+"."+e.key, "%s", err)
		case port+k.RankCount()-1 > 65535:
			p.add(path+"."+e.key, "rank %d would have port %d; write a port up to %d", k.RankCount()-1, port+k.RankCount()-1, 65536-k.RankCount())
		}
	}
	for _, need := range []struct{ key, value, other string }{
		{"replay", k.Replay, k.Events}, {"topic", k.Topic, k.Events}, {"load_topic", k.LoadTopic, k.Load},
	} {
		if need.value != "" && need.other == "" {
			missing := map[string]string{"replay": "events", "topic": "events", "load_topic": "load"}[need.key]
			p.add(path+"."+need.key, "goes with %s; write %s.%s, such as tcp://127.0.0.1:5557, or remove it", missing, path, missing)
		}
	}
	if k.Ranks != nil && !k.Told() {
		p.add(path+".ranks", "goes with events or load; an engine that is asked says its ranks itself: remove it")
	}
}
