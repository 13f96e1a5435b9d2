package fleet

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/engineapi"
	"github.com/pointsman/pointsman/statesvc/enginemetrics"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
)

// member watches one engine.
type member struct {
	id         core.WorkerID
	cfg        *config.Worker // of it only what never changes: ID, Endpoint, Health and Metrics
	health     config.Health
	load       config.Load
	introspect config.Introspect
	resolve    time.Duration
	client     *engineapi.Client
	resolver   Resolver
	sink       Sink
	clock      func() core.Instant
	log        *slog.Logger
	counts     *counts

	reading    chan struct{} // holds one token while the metrics are read
	redescribe chan struct{} // holds one token when the description is in doubt
	suspected  chan struct{} // holds one token when a probe is due at once

	cancel  context.CancelFunc // ends the goroutines; nil before they run. Guarded by Fleet.mu
	pending bool               // without a first verdict. Guarded by Fleet.mu

	mu          sync.Mutex
	said        *claims.Worker // the word of all sources
	retired     bool           // it left the fleet and is silent
	address     netip.AddrPort // invalid until resolved
	resolvedAt  time.Time
	probedAt    time.Time // beginning of the last probe
	moved       bool      // the address changed since the last bring-up
	verdict     Health
	life        life
	recoveries  uint64
	modelsKnown bool // the engine once said them
	roleKnown   bool
	description engineapi.Description
	dialect     enginemetrics.Dialect
	ranks       int // that its metrics tell of, 0 for none

	probeError, loadError, describeError string
}

// newMember makes the member of a worker. p is what one of this ID left behind.
func newMember(w *claims.Worker, p past, o *Options, c *counts) *member {
	cfg := &w.Config
	m := &member{
		id: core.WorkerID(cfg.ID), cfg: cfg, said: w, life: p.life, recoveries: p.recoveries,
		health: o.Config.Health, load: o.Config.Load, introspect: o.Config.Introspect,
		resolve: o.Config.Fleet.ResolveMillis.Duration(), resolver: o.Resolver,
		sink: o.Sink, clock: o.Clock, counts: c,
		log:        o.Logger.With("worker", cfg.ID),
		reading:    make(chan struct{}, 1),
		redescribe: make(chan struct{}, 1),
		suspected:  make(chan struct{}, 1),
	}
	m.moved = p.address != "" && p.address != cfg.Endpoint.HostPort()
	m.life.embody(w.Incarnation)
	if ip, err := netip.ParseAddr(cfg.Endpoint.Host); err == nil {
		m.address = netip.AddrPortFrom(ip, cfg.Endpoint.Port)
	}
	m.client = engineapi.New(engineapi.Options{
		BaseURL:         cfg.Endpoint.BaseURL(),
		HealthPath:      orDefault(cfg.Health.Path, o.Config.Health.Path),
		MetricsPath:     orDefault(cfg.Metrics.Path, o.Config.Load.Path),
		MaxMetricsBytes: o.Config.Load.MaxBodyBytes,
		Address:         m.currentAddress,
	})
	m.mu.Lock()
	m.publish()
	m.mu.Unlock()
	return m
}

// hear takes over what the sources say now of the same engine.
func (m *member) hear(w *claims.Worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said = w
	m.life.embody(w.Incarnation)
	m.publish()
}

// word is what the sources say. It is not changed.
func (m *member) word() *claims.Worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.said
}

// retire silences the member and gives what the next one of its ID goes on with.
func (m *member) retire() past {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.retired = true
	return past{address: m.cfg.Endpoint.HostPort(), life: m.life, recoveries: m.recoveries}
}

func orDefault(value, fallback string) string {
	if value == "" {
		return fallback
	}
	return value
}

func (m *member) currentAddress() netip.AddrPort {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.address
}

// worker describes the member as it stands. The caller holds mu.
func (m *member) worker() core.Worker {
	said := &m.said.Config
	w := core.Worker{
		ID:         m.id,
		Models:     m.description.Models,
		Adapters:   m.description.Adapters,
		Stage:      m.description.Stage,
		Generation: m.life.generation,
		Healthy:    m.verdict == HealthUp && !m.said.Unready,
		Draining:   said.Draining,
		Aborts:     m.description.Aborts,
		Ranks:      cmp.Or(m.description.Ranks, m.ranks),
		InputIDs:   m.description.InputIDs,
		Version:    said.VersionGroup,
		Services:   said.Services,
	}
	if m.address.IsValid() {
		w.Address = m.address.String()
	}
	if len(said.Models) > 0 {
		w.Models = said.Models
	}
	if said.Role != "" || w.Stage == core.StageNone && !m.roleUnknown() {
		w.Stage, _ = core.ParseStage(said.Role)
	}
	return w
}

// publish shows the member to the sink. A worker without an address cannot be
// routed to and is not shown. The caller holds mu, which keeps calls in order.
func (m *member) publish() {
	if m.address.IsValid() && !m.retired {
		m.sink.Describe(m.worker(), m.recoveries)
	}
}

func (m *member) status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Status{
		Worker: m.worker(), Recoveries: m.recoveries, URL: m.cfg.Endpoint.BaseURL(),
		Health: m.verdict, Dialect: m.dialect, Said: *m.said,
		BootstrapPort: m.description.BootstrapPort, BlockSize: m.description.BlockSize, Bigram: m.description.Bigram,
		ProbeError: m.probeError, LoadError: m.loadError, DescribeError: m.describeError,
	}
}

func (m *member) up() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.verdict == HealthUp
}

// suspect asks for a probe at once, unless one began after the failure.
func (m *member) suspect(ago time.Duration) {
	m.mu.Lock()
	probed := m.probedAt.After(time.Now().Add(-ago))
	m.mu.Unlock()
	if probed {
		return
	}
	select {
	case m.suspected <- struct{}{}:
	default: // one is due already
	}
}

// pause waits for the span, a token of early or the end of ctx, and reports
// whether to go on. early may be nil.
func pause(ctx context.Context, span time.Duration, early <-chan struct{}) bool {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-early:
	case <-timer.C:
	}
	return true
}

// within runs call with a deadline of its own.
func within(ctx context.Context, span time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	return call(ctx)
}
