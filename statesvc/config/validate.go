package config

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Bounds of settings that would otherwise make the service useless or unsafe.
const (
	maxSpan Millis = 24 * 60 * 60 * 1000 // a day
)

// MaxWorkers is the most engines of one service, over all sources; field report A14
// wants 5,000 to work.
const MaxWorkers = 10_000

// validate checks every setting but the workers, which complete checks.
func (c *Config) validate(p *Problems) {
	switch c.Version {
	case Version:
	case 0:
		p.add("version", "missing; write version: %d", Version)
	default:
		p.add("version", "%d is not supported; write version: %d", c.Version, Version)
	}
	checkListen("listen", c.Listen, "127.0.0.1:9090", p)
	if (c.TLS.CertFile == "") != (c.TLS.KeyFile == "") {
		p.add("tls", "cert_file and key_file go together; give both or neither")
	}
	checkEnv("token_env", c.TokenEnv, p)
	c.validateSpans(p)
	c.validateCounts(p)
	c.validateKV(p)
	c.validateRemote(p)
	c.validateTokenize(p)
	c.validateDiscovery(p)
	checkPath("health.path", c.Health.Path, p)
	checkPath("load.path", c.Load.Path, p)
}

func checkEnv(path, name string, p *Problems) {
	if strings.ContainsAny(name, "= \t\n\x00") {
		p.add(path, "%q is not the name of an environment variable, such as POINTSMAN_STATE_TOKEN", name)
	}
}

func checkListen(path, listen, example string, p *Problems) {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		p.add(path, "%q is not host:port; write for example %s", listen, example)
		return
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		p.add(path, "port %q is not a number from 0 to 65535", port)
	} else if strconv.FormatUint(n, 10) != port {
		p.add(path, "port %q: write %d", port, n)
	}
}

func checkPath(path, value string, p *Problems) {
	if !strings.HasPrefix(value, "/") || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		p.add(path, "%q is not a URL path; it begins with / and holds no space", value)
	}
}

func (c *Config) validateSpans(p *Problems) {
	for _, span := range []struct {
		path     string
		value    Millis
		min, max Millis
	}{
		{"fleet.resolve_ms", c.Fleet.ResolveMillis, 100, maxSpan},
		{"health.interval_ms", c.Health.IntervalMillis, 10, maxSpan},
		{"health.timeout_ms", c.Health.TimeoutMillis, 1, maxSpan},
		{"health.max_backoff_ms", c.Health.MaxBackoffMillis, 10, 1000},
		{"health.hang_after_ms", c.Health.HangAfterMillis, 1, maxSpan},
		{"introspect.interval_ms", c.Introspect.IntervalMillis, 100, maxSpan},
		{"introspect.timeout_ms", c.Introspect.TimeoutMillis, 1, maxSpan},
		{"load.interval_ms", c.Load.IntervalMillis, 10, maxSpan},
		{"load.timeout_ms", c.Load.TimeoutMillis, 1, maxSpan},
		{"load.freshness_ms", c.Load.FreshnessMillis, 1, maxSpan},
		{"sync.expiry_ms", c.Sync.ExpiryMillis, 100, maxSpan},
		{"affinity.idle_ms", c.Affinity.IdleMillis, 1000, 30 * maxSpan},
		{"affinity.sweep_ms", c.Affinity.SweepMillis, 100, maxSpan},
		{"shutdown.drain_ms", c.Shutdown.DrainMillis, 0, maxSpan},
		{"shutdown.timeout_ms", c.Shutdown.TimeoutMillis, 1, maxSpan},
	} {
		checkRange(span.path, int64(span.value), int64(span.min), int64(span.max), " milliseconds", p)
	}
	if f, i := c.Load.FreshnessMillis, c.Load.IntervalMillis; f > 0 && i > 0 && f <= i {
		p.add("load.freshness_ms", "%d is not above load.interval_ms (%d), so every reading would lapse before the next one; write at least %d", f, i, 2*i)
	}
}

func (c *Config) validateCounts(p *Problems) {
	l := c.Limits
	for _, count := range []struct {
		path     string
		value    int64
		min, max int64
	}{
		{"introspect.attempts", int64(c.Introspect.Attempts), 1, 10},
		{"load.max_body_bytes", c.Load.MaxBodyBytes, 1024, 64 << 20},
		{"sync.tombstones", int64(c.Sync.Tombstones), 1, 1 << 20},
		{"affinity.max_bindings", int64(c.Affinity.MaxBindings), 1, 1 << 28},
		{"affinity.max_bytes", c.Affinity.MaxBytes, 1 << 10, 64 << 30},
		{"limits.max_body_bytes", l.MaxBodyBytes, 1024, 64 << 20},
		{"limits.max_observe_body_bytes", l.MaxObserveBodyBytes, 1024, 64 << 20},
		{"limits.max_header_bytes", int64(l.MaxHeaderBytes), 4096, 1 << 20},
		{"limits.max_headers", int64(l.MaxHeaders), 16, 10_000},
		{"limits.max_concurrent", int64(l.MaxConcurrent), 1, 100_000},
		{"limits.max_connections", int64(l.MaxConnections), 1, 1_000_000},
		{"limits.max_contexts", int64(l.MaxContexts), 1, 1 << 20},
		{"limits.max_gauges", int64(l.MaxGauges), 1, 1 << 28},
		{"limits.max_workers_per_report", int64(l.MaxWorkersPerReport), 1, 1 << 20},
		{"limits.max_ages_per_worker", int64(l.MaxAgesPerWorker), 1, 1 << 20},
		{"limits.max_string_bytes", int64(l.MaxStringBytes), 16, 1 << 16},
	} {
		checkRange(count.path, count.value, count.min, count.max, "", p)
	}
}

func checkRange(path string, value, least, most int64, unit string, p *Problems) {
	if value < least || value > most {
		p.add(path, "%d is out of range; write %s%s", value, between(least, most), unit)
	}
}

func between(least, most int64) string { return fmt.Sprintf("%d to %d", least, most) }

// Loopback reports whether the listener can be reached from this machine only.
func (c *Config) Loopback() bool { return Loopback(c.Listen) }

// Loopback reports whether a listener at host:port can be reached from this machine
// only. A host name other than localhost counts as reachable from elsewhere.
func Loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	return strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback()
}
