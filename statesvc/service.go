// Package statesvc assembles the state service from its parts and owns the
// order in which they start and stop: board, sweeper, fleet, sources of engines, pump, tokenizers, listeners; back in
// the other direction. It is what cmd/statesvc runs and what a demo embeds.
package statesvc

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/board"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/fleet/register"
	"github.com/pointsman/pointsman/statesvc/gauges"
	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/indexer/serving"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/telemetry"
	"github.com/pointsman/pointsman/statesvc/tokenizers"
)

// Options are what a caller may want to set besides the configuration. The zero
// value is useful.
type Options struct {
	Logger   *slog.Logger   // default: discard
	Version  string         // shown to people; default "unknown"
	Resolver fleet.Resolver // default: the system's
	// Kubernetes makes the source of discovery.kubernetes; without one it is refused.
	Kubernetes KubernetesSource
}

// Service is one state service. Start and Stop are called once each; the other
// methods are safe at any time.
type Service struct {
	cfg      *config.Config
	log      *slog.Logger
	clock    func() core.Instant
	board    *board.Board
	bindings *affinity.Memory
	fleet    *fleet.Fleet
	leaving  *departures
	sources  []Source
	registry *register.Registry // nil: workers cannot be changed over HTTP
	pump     *pump.Pump
	tokens   *tokenizers.Keeper
	server   *server.Server
	remote   *indexer.Client // nil unless indexers are asked
	indexing *serving.Server // nil unless others are answered

	mu       sync.Mutex
	listener net.Listener // nil before Start
	indexer  net.Listener // of indexing
	stopped  bool
	cancel   context.CancelFunc
	running  sync.WaitGroup
	failed   chan error
}

// New prepares a service from a configuration that config.Parse returned. It
// fails when a file that it names cannot be used, with all of them as a
// config.Problems. Nothing runs before Start.
func New(cfg *config.Config, opts Options) (*Service, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Version == "" {
		opts.Version = "unknown"
	}
	certificate, problems := loadTLS(cfg.TLS)
	replica, err := newReplica()
	if err != nil {
		return nil, err
	}
	clock := newClock()
	s := &Service{cfg: cfg, log: opts.Logger, clock: clock, failed: make(chan error, 1), cancel: func() {}}
	s.bindings = affinity.NewMemory(affinity.Limits{Bindings: cfg.Affinity.MaxBindings, Bytes: cfg.Affinity.MaxBytes})
	s.board = newBoard(cfg, replica, clock)
	s.leaving = newDepartures(s.board, s.bindings, opts.Logger)
	s.fleet = fleet.New(fleet.Options{
		Config: cfg, Sink: s.leaving, Clock: clock, Logger: opts.Logger, Resolver: opts.Resolver, Await: awaited(&cfg.Discovery),
	})
	more, err := s.openDiscovery(&opts)
	if err != nil {
		return nil, err
	}
	problems = append(problems, more...)
	if s.pump, err = newPump(cfg, s, opts.Logger); err != nil {
		return nil, err
	}
	if s.tokens, err = s.openTokenizers(problems); err != nil {
		return nil, err
	}
	s.newIndexers(certificate)
	if err := s.newServer(certificate, opts.Version); err != nil {
		return nil, err
	}
	return s, nil
}

func newBoard(cfg *config.Config, replica uint64, clock func() core.Instant) *board.Board {
	return board.New(board.Options{
		Replica: replica,
		Clock:   clock,
		Gauges: gauges.Limits{
			Contexts: cfg.Limits.MaxContexts, Gauges: cfg.Limits.MaxGauges, Expiry: cfg.Sync.ExpiryMillis.Instants(),
		},
		Freshness:  cfg.Load.FreshnessMillis.Instants(),
		Tombstones: cfg.Sync.Tombstones,
	})
}

// newServer makes the server of everything that was made before it.
func (s *Service) newServer(certificate *tls.Config, version string) error {
	meter, err := s.newMeter(version)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	options := server.Options{
		Config: s.cfg, Board: s.board, Fleet: s.fleet, Bindings: s.bindings, Prompts: s.newPrompts(), Index: s.pump, Clock: s.clock, Meter: meter, Metrics: meter.Handler(),
		Logger: s.log, TLS: certificate, Version: version,
	}
	if s.registry != nil {
		options.Registry = s.registry
	}
	s.server = server.New(options)
	s.leaving.history = s.server
	return nil
}

func (s *Service) newMeter(version string) (*telemetry.Telemetry, error) {
	meter, err := telemetry.New(version, s.board, s.fleet, s.bindings)
	if err != nil {
		return nil, err
	}
	err = errors.Join(meter.AddIndex(s.pump), meter.AddTokenizers(s.tokens), meter.AddDiscovery(s.fleet))
	if s.remote != nil {
		err = errors.Join(err, meter.AddRemote(s.remote))
	}
	if s.indexing != nil {
		err = errors.Join(err, meter.AddServing(s.indexing))
	}
	return meter, err
}

func newPump(cfg *config.Config, s *Service, log *slog.Logger) (*pump.Pump, error) {
	seed, err := newReplica() // random as well, and not told to anybody
	if err != nil {
		return nil, err
	}
	return pump.New(pump.Options{Config: cfg, Fleet: s.fleet, Loads: s.board, Clock: s.clock, Logger: log, Seed: seed}), nil
}

// openTokenizers tells of bad folders together with the problems found before.
func (s *Service) openTokenizers(problems config.Problems) (*tokenizers.Keeper, error) {
	keeper, err := tokenizers.New(tokenizers.Options{Config: s.cfg.Tokenize, Fleet: s.fleet, Logger: s.log})
	if more, ok := errors.AsType[config.Problems](err); ok {
		return nil, append(problems, more...)
	}
	if err == nil && len(problems) > 0 {
		keeper.Stop()
		err = problems
	}
	return keeper, err
}

// Check names every file of a configuration that New would refuse. The configuration
// may have other problems.
func Check(cfg *config.Config) config.Problems {
	_, problems := loadTLS(cfg.TLS)
	problems = append(problems, checkDiscovery(cfg)...)
	return append(problems, tokenizers.Check(cfg.Tokenize)...)
}

// loadTLS reads the certificate and its key, once both are named.
func loadTLS(t config.TLS) (*tls.Config, config.Problems) {
	if t.CertFile == "" || t.KeyFile == "" {
		return nil, nil
	}
	var problems config.Problems
	for _, f := range []struct{ key, path string }{{"cert_file", t.CertFile}, {"key_file", t.KeyFile}} {
		if _, err := os.ReadFile(f.path); err != nil {
			problems = append(problems, config.Problem{Path: "tls." + f.key, Reason: err.Error()})
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, config.Problems{{Path: "tls", Reason: err.Error()}}
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// newReplica draws the number that tells this instance from any other.
func newReplica() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("replica key: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]) | 1, nil
}

// newClock counts milliseconds from its making, on the monotonic clock.
func newClock() func() core.Instant {
	began := time.Now()
	return func() core.Instant { return core.Instant(time.Since(began).Milliseconds()) }
}

// Start listens and begins to watch the fleet. It returns once requests are
// answered; ctx bounds only the call. Ready tells when syncs are answered too.
func (s *Service) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil || s.stopped {
		return errors.New("the state service was started before")
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", s.cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if err := s.startIndexers(ctx, &lc); err != nil {
		return errors.Join(err, listener.Close())
	}
	s.listener = listener
	s.warnIfOpen()
	background, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.running.Go(func() { s.sweep(background) })
	s.running.Go(func() { s.expire(background) })
	s.running.Go(func() { s.leaving.run(background) })
	s.fleet.Start()
	s.startDiscovery()
	s.pump.Start()
	s.tokens.Start()
	s.running.Go(func() {
		if err := s.server.Serve(listener); err != nil {
			s.fail(fmt.Errorf("serve: %w", err))
		}
	})
	s.log.Info("state service listens", "address", listener.Addr().String(), "tls", s.cfg.TLS.Enabled(), "token", s.cfg.Token != "", "workers", len(s.cfg.Fleet.Static), "sources", s.describeSources())
	return nil
}

// fail delivers the error of the listener that ended first.
func (s *Service) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// warnIfOpen says once what anybody on the network could do.
func (s *Service) warnIfOpen() {
	if l := s.cfg.Indexer.Listen; l != "" && !config.Loopback(l) {
		s.log.Warn("answering kv_indexer.v1 beyond loopback, without a token as its callers have none: anyone who reaches the port can ask who holds a prompt", "listen", l)
	}
	if s.cfg.Loopback() {
		return
	}
	if !s.cfg.TLS.Enabled() {
		s.log.Warn("listening beyond loopback without TLS: reports and the token can be read on the way", "listen", s.cfg.Listen)
	}
	if s.cfg.Token == "" {
		s.log.Warn("listening beyond loopback without a token: anyone who reaches the port can report load; set token_env", "listen", s.cfg.Listen)
	}
}

// sweep keeps memory free of what has expired; readers never see it anyway.
func (s *Service) sweep(ctx context.Context) {
	// A new context expires no earlier than this, so no expiry is slept over.
	idle := s.cfg.Sync.ExpiryMillis.Instants() / 2
	for {
		timer := time.NewTimer(time.Duration(s.board.Sweep(idle)) * time.Millisecond)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// expire removes bindings that were idle for too long.
func (s *Service) expire(ctx context.Context) {
	every := time.NewTicker(s.cfg.Affinity.SweepMillis.Duration())
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			s.bindings.Sweep(s.clock())
		}
	}
}

// Addr is the address that the service listens on, with the real port when the
// configuration says 0. It is empty before Start.
func (s *Service) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// Ready is closed once every engine has been probed and syncs are answered.
func (s *Service) Ready() <-chan struct{} { return s.fleet.Ready() }

// Failed delivers the error that ended the listener by itself, if one did.
func (s *Service) Failed() <-chan error { return s.failed }

// Stop turns /readyz to 503, waits shutdown.drain_ms so that balancers notice,
// closes the listener, waits for open requests, and ends everything that runs.
// The end of ctx cuts the waits short; nothing is left running in any case.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	started := s.listener != nil && !s.stopped
	s.stopped = true
	s.mu.Unlock()
	if !started {
		return nil
	}
	s.server.Drain()
	drain := time.NewTimer(s.cfg.Shutdown.DrainMillis.Duration())
	defer drain.Stop()
	select {
	case <-drain.C:
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Shutdown.TimeoutMillis.Duration())
	defer cancel()
	err := s.server.Stop(ctx)
	s.stopIndexers(ctx)
	s.tokens.Stop()
	s.pump.Stop()
	s.stopDiscovery()
	s.fleet.Stop()
	s.cancel()
	s.running.Wait()
	s.log.Info("state service stopped")
	return err
}
