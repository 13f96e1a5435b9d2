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
)

// member watches one engine.
type member struct {
	cfg        *config.Worker
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

	mu          sync.Mutex
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

func newMember(w *config.Worker, o Options, c *counts) *member {
	m := &member{
		cfg: w, health: o.Config.Health, load: o.Config.Load, introspect: o.Config.Introspect,
		resolve: o.Config.Fleet.ResolveMillis.Duration(), resolver: o.Resolver,
		sink: o.Sink, clock: o.Clock, counts: c,
		log:        o.Logger.With("worker", w.ID),
		reading:    make(chan struct{}, 1),
		redescribe: make(chan struct{}, 1),
		suspected:  make(chan struct{}, 1),
	}
	if ip, err := netip.ParseAddr(w.Endpoint.Host); err == nil {
		m.address = netip.AddrPortFrom(ip, w.Endpoint.Port)
	}
	m.client = engineapi.New(engineapi.Options{
		BaseURL:         w.Endpoint.BaseURL(),
		HealthPath:      orDefault(w.Health.Path, o.Config.Health.Path),
		MetricsPath:     orDefault(w.Metrics.Path, o.Config.Load.Path),
		MaxMetricsBytes: o.Config.Load.MaxBodyBytes,
		Address:         m.currentAddress,
	})
	m.mu.Lock()
	m.publish()
	m.mu.Unlock()
	return m
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
	w := core.Worker{
		ID:         core.WorkerID(m.cfg.ID),
		Models:     m.description.Models,
		Adapters:   m.description.Adapters,
		Stage:      m.description.Stage,
		Generation: m.life.generation,
		Healthy:    m.verdict == HealthUp,
		Draining:   m.cfg.Draining,
		Aborts:     m.description.Aborts,
		Ranks:      cmp.Or(m.description.Ranks, m.ranks),
		InputIDs:   m.description.InputIDs,
		Version:    m.cfg.VersionGroup,
		Services:   m.cfg.Services,
	}
	if m.address.IsValid() {
		w.Address = m.address.String()
	}
	if len(m.cfg.Models) > 0 {
		w.Models = m.cfg.Models
	}
	if m.cfg.Role != "" || w.Stage == core.StageNone && !m.roleUnknown() {
		w.Stage, _ = core.ParseStage(m.cfg.Role)
	}
	return w
}

// publish shows the member to the sink. A worker without an address cannot be
// routed to and is not shown. The caller holds mu, which keeps calls in order.
func (m *member) publish() {
	if m.address.IsValid() {
		m.sink.Describe(m.worker(), m.recoveries)
	}
}

func (m *member) status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Status{
		Worker: m.worker(), Recoveries: m.recoveries, URL: m.cfg.Endpoint.BaseURL(),
		Health: m.verdict, Dialect: m.dialect,
		BootstrapPort: m.description.BootstrapPort,
		ProbeError:    m.probeError, LoadError: m.loadError, DescribeError: m.describeError,
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
