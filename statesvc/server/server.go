package server

import (
	"context"
	"crypto/tls"
	"errors"
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/board"
	"github.com/pointsman/pointsman/statesvc/callstream"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/history"
	"github.com/pointsman/pointsman/statesvc/netlimit"
)

// Board answers syncs. *board.Board is one.
type Board interface {
	Sync(r *wire.SyncRequest) (*wire.SyncReply, error)
	Workers() []board.View
	Counts() board.Counts
	Has(id core.WorkerID) bool
}

// Fleet tells what is known of the configured engines. *fleet.Fleet is one.
type Fleet interface {
	Status() []fleet.Status
	Ready() <-chan struct{}
	Suspect(id core.WorkerID, ago time.Duration)
	Sources() []fleet.SourceStatus
}

// Meter counts requests, and the calls of streams as requests, by the route that serves
// them, and what became of calls.
type Meter interface {
	Request(route string, status int, took time.Duration)
	Count(o Outcome, n int)
	// Opened and Ended count the streams of calls, the latter with the status of HTTP that
	// the end of the stream is most like.
	Opened()
	Ended(status int)
}

// Options are a Server's facts. TLS is nil for plain HTTP and Prompts where nothing
// knows prompts; the rest is required.
type Options struct {
	Config   *config.Config
	Board    Board
	Fleet    Fleet
	Bindings affinity.Store
	Prompts  Prompts
	Index    Index               // nil: there is no /v1/index
	Registry Registry            // nil: workers cannot be changed over HTTP
	Clock    func() core.Instant // that the bindings' instants are on
	Meter    Meter
	Metrics  http.Handler // serves /metrics
	Logger   *slog.Logger
	TLS      *tls.Config
	Version  string
}

// Server answers on one listener.
type Server struct {
	board    Board
	fleet    Fleet
	bindings affinity.Store
	prompts  prompts
	index    Index
	dumping  chan struct{} // holds a token while blocks are listed
	clock    func() core.Instant
	idle     core.Instant // life of a binding without use
	history  *history.Log
	meter    Meter
	limits   config.Limits
	version  string
	registry Registry
	token    *token // of filters and people; nil when none is asked for
	admin    *token // of those who change the fleet; nil when none is configured
	slots    chan struct{}
	routes   map[string]*route
	worker   *route // of one worker, below /v1/workers; nil when workers cannot be changed
	draining atomic.Bool
	streams  *callstream.Server
	http     *http.Server
}

// New prepares a server; Serve runs it.
func New(o Options) *Server {
	s := &Server{
		board: o.Board, fleet: o.Fleet, meter: o.Meter,
		bindings: o.Bindings, clock: o.Clock, idle: o.Config.Affinity.IdleMillis.Instants(),
		index: o.Index, dumping: make(chan struct{}, 1),
		prompts: prompts{behind: o.Prompts, seed: maphash.MakeSeed(), log: o.Logger},
		limits:  o.Config.Limits, version: o.Version,
		slots: make(chan struct{}, o.Config.Limits.MaxConcurrent),
	}
	s.history = history.New(rand.Uint64())
	s.token, s.admin = newToken(o.Config.Token), newToken(o.Config.Discovery.HTTP.Token)
	s.registry = o.Registry
	s.prompts.running.Most = o.Config.Limits.MaxConcurrent
	s.routes = s.table(o.Metrics)
	s.streams = s.newStreams()
	s.http = newHTTP(&o, s)
	return s
}

// Serve answers on the listener until Stop. It returns nil after a stop.
func (s *Server) Serve(listener net.Listener) error {
	listener = prompted{netlimit.Listener(listener, s.limits.MaxConnections)}
	var err error
	if s.http.TLSConfig != nil {
		err = s.http.ServeTLS(listener, "", "")
	} else {
		err = s.http.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Drain makes /readyz answer 503 and asks clients to open no more requests on
// their connections. Requests are still answered; streams end after what came over them.
func (s *Server) Drain() {
	s.draining.Store(true)
	s.streams.Drain()
	s.http.SetKeepAlivesEnabled(false)
}

// Stop closes the listener and waits for open requests until ctx ends; then it
// cuts them.
func (s *Server) Stop(ctx context.Context) error {
	s.draining.Store(true)
	s.streams.Drain()
	defer s.prompts.running.Close()
	if err := s.http.Shutdown(ctx); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

func (s *Server) ready() bool {
	select {
	case <-s.fleet.Ready():
		return !s.draining.Load()
	default:
		return false
	}
}
