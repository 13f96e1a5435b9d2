package config

import (
	"time"

	"github.com/pointsman/pointsman/core"
)

// Version is the only version of the file format.
const Version = 1

// Config is one state service's settings. Defaults come from Default.
type Config struct {
	Version int    `yaml:"version"` // of the file format, required
	Listen  string `yaml:"listen"`  // host:port; loopback unless stated otherwise
	TLS     TLS    `yaml:"tls"`
	// TokenEnv names the environment variable that holds the bearer token of
	// /v1/* and the status page. Empty: no token is asked for.
	TokenEnv   string     `yaml:"token_env"`
	Fleet      Fleet      `yaml:"fleet"`
	Discovery  Discovery  `yaml:"discovery"`
	Health     Health     `yaml:"health"`
	Introspect Introspect `yaml:"introspect"`
	Load       Load       `yaml:"load"`
	KV         KV         `yaml:"kv"`
	Indexer    Indexer    `yaml:"indexer"`
	Tokenize   Tokenize   `yaml:"tokenize"`
	Sync       Sync       `yaml:"sync"`
	Affinity   Affinity   `yaml:"affinity"`
	Limits     Limits     `yaml:"limits"`
	Shutdown   Shutdown   `yaml:"shutdown"`

	// Token is the value of TokenEnv, read once by Parse.
	Token string `yaml:"-"`
}

// Millis is a span in milliseconds, the unit of every time in the file.
type Millis int64

// Duration converts m.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Instants converts m to a difference of core instants.
func (m Millis) Instants() core.Instant { return core.Instant(m) }

// TLS names the server's certificate and key in PEM. Both or none.
type TLS struct {
	CertFile string `yaml:"cert_file"` // certificate chain, PEM
	KeyFile  string `yaml:"key_file"`  // its key, PEM
}

// Enabled reports whether the listener speaks TLS.
func (t TLS) Enabled() bool { return t.CertFile != "" }

// Fleet lists the engines.
type Fleet struct {
	Static []Worker `yaml:"static"`
	// ResolveMillis is how often the names of engines are looked up again.
	ResolveMillis Millis `yaml:"resolve_ms"`
}

// Worker is one engine of the static fleet. Exactly one of address and url is
// given.
type Worker struct {
	ID      string `yaml:"id"`      // default: the address
	Address string `yaml:"address"` // host:port, spoken to over plain HTTP
	URL     string `yaml:"url"`     // http or https, no path
	// Models and the role are asked of the engine when left out.
	Models   []string `yaml:"models"`
	Role     string   `yaml:"role"`     // plain, prefill or decode
	Draining bool     `yaml:"draining"` // it takes no new requests
	// VersionGroup is the label that a prefill engine and the decode engines it pairs
	// with have in common. Left out: the group of those without the label.
	VersionGroup string `yaml:"version_group"`
	// Services are Kubernetes Services, namespace/name, by which the filter's groups
	// name their members in worker_services.
	Services []string      `yaml:"services"`
	Health   WorkerHealth  `yaml:"health"`
	Metrics  WorkerMetrics `yaml:"metrics"`
	KV       WorkerKV      `yaml:"kv"`

	// Endpoint is Address or URL taken apart, filled by Parse.
	Endpoint Endpoint `yaml:"-"`
}

// WorkerHealth overrides the top-level health for one worker.
type WorkerHealth struct {
	Path string `yaml:"path"` // empty: health.path
}

// WorkerMetrics overrides the top-level load for one worker.
type WorkerMetrics struct {
	Path     string `yaml:"path"`     // empty: load.path
	Disabled bool   `yaml:"disabled"` // the engine's load stays unknown
}

// Endpoint is where an engine listens.
type Endpoint struct {
	Scheme string
	Host   string // a name or a literal IP, without brackets
	Port   uint16
}

// Health says how engines are probed (design section 5).
type Health struct {
	Path           string `yaml:"path"`        // of the probe
	IntervalMillis Millis `yaml:"interval_ms"` // between probes of an engine that is up
	TimeoutMillis  Millis `yaml:"timeout_ms"`  // of one probe
	// MaxBackoffMillis bounds the wait between probes of an engine that is down.
	MaxBackoffMillis Millis `yaml:"max_backoff_ms"`
	// HangAfterMillis: a probe that times out counts as a hang only when no
	// request to the engine began to be answered for this long.
	HangAfterMillis Millis `yaml:"hang_after_ms"`
}

// Introspect says how engines are asked for their models and role
// (engine-selection.md 10.1).
type Introspect struct {
	IntervalMillis Millis `yaml:"interval_ms"` // between looks at an engine
	TimeoutMillis  Millis `yaml:"timeout_ms"`  // of one call
	Attempts       int    `yaml:"attempts"`    // of a look before it counts as failed
}

// Load says how engines' metrics are read and for how long they count.
type Load struct {
	Path           string `yaml:"path"`           // of the engines' Prometheus metrics
	IntervalMillis Millis `yaml:"interval_ms"`    // between readings
	TimeoutMillis  Millis `yaml:"timeout_ms"`     // of one reading
	MaxBodyBytes   int64  `yaml:"max_body_bytes"` // of one answer; more is refused
	// FreshnessMillis is how long a reading counts, inclusive.
	FreshnessMillis Millis `yaml:"freshness_ms"`
	// Native: engines' own load reports are taken where they give them, over ZMQ or at
	// /v1/loads.
	Native bool `yaml:"native"`
}

// Sync says how filter contexts are kept (design section 4).
type Sync struct {
	// ExpiryMillis: a context is forgotten this long after its last report.
	ExpiryMillis Millis `yaml:"expiry_ms"`
	// Tombstones bounds how many removed workers deltas remember.
	Tombstones int `yaml:"tombstones"`
}

// Affinity says how bindings of sessions and routing keys are kept
// (engine-selection.md 17).
type Affinity struct {
	// IdleMillis is how long a binding lives without use, where the filter's
	// configuration does not say.
	IdleMillis  Millis `yaml:"idle_ms"`
	MaxBindings int    `yaml:"max_bindings"` // at most; those idle for longest go first
	MaxBytes    int64  `yaml:"max_bytes"`    // of all bindings, at most
	// SweepMillis is how often bindings that were idle for too long are removed. They
	// count as gone before that.
	SweepMillis Millis `yaml:"sweep_ms"`
}

// Limits bounds what a client can make the service hold or do.
type Limits struct {
	MaxBodyBytes        int64 `yaml:"max_body_bytes"`         // of one message of a filter
	MaxObserveBodyBytes int64 `yaml:"max_observe_body_bytes"` // the client's own body, in an observe
	MaxHeaderBytes      int   `yaml:"max_header_bytes"`       // of one request
	MaxHeaders          int   `yaml:"max_headers"`            // of one request
	MaxConcurrent       int   `yaml:"max_concurrent"`         // requests that are worked on at once; more are answered 503
	MaxConnections      int   `yaml:"max_connections"`        // at once
	MaxContexts         int   `yaml:"max_contexts"`           // filter contexts that are known, and streams of calls that are open, at once
	MaxGauges           int   `yaml:"max_gauges"`             // rows of all contexts' reports together
	MaxWorkersPerReport int   `yaml:"max_workers_per_report"` // of one context
	MaxAgesPerWorker    int   `yaml:"max_ages_per_worker"`    // open requests that one context tells of by age
	MaxStringBytes      int   `yaml:"max_string_bytes"`       // of a name
}

// Shutdown says how the service stops.
type Shutdown struct {
	// DrainMillis is how long /readyz answers 503 before the listener closes.
	DrainMillis Millis `yaml:"drain_ms"`
	// TimeoutMillis bounds the wait for open requests after that.
	TimeoutMillis Millis `yaml:"timeout_ms"`
}

// Default gives every setting its value for a file that leaves it out. It is
// not valid by itself: the version is missing.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:9090",
		Fleet:  Fleet{ResolveMillis: 5000}, Discovery: defaultDiscovery(),
		Health: Health{
			Path: "/health", IntervalMillis: 1000, TimeoutMillis: 2000,
			MaxBackoffMillis: 1000, HangAfterMillis: 3000,
		},
		Introspect: Introspect{IntervalMillis: 10000, TimeoutMillis: 2000, Attempts: 3},
		Load: Load{
			Path: "/metrics", IntervalMillis: 1000, TimeoutMillis: 2000,
			MaxBodyBytes: 4 << 20, FreshnessMillis: 5000, Native: true,
		},
		KV:       defaultKV(),
		Indexer:  defaultIndexer(),
		Tokenize: defaultTokenize(),
		Sync:     Sync{ExpiryMillis: 1500, Tombstones: 1024},
		Affinity: Affinity{IdleMillis: 600_000, MaxBindings: 1 << 20, MaxBytes: 128 << 20, SweepMillis: 60_000},
		Limits: Limits{
			MaxBodyBytes: 1 << 20, MaxObserveBodyBytes: 4 << 20, MaxHeaderBytes: 16 << 10, MaxHeaders: 64,
			MaxConcurrent: 256, MaxConnections: 8192,
			MaxContexts: 4096, MaxGauges: 1 << 20, MaxWorkersPerReport: 8192,
			MaxAgesPerWorker: 1024, MaxStringBytes: 256,
		},
		Shutdown: Shutdown{DrainMillis: 500, TimeoutMillis: 5000},
	}
}
