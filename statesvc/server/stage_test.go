package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/board"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/pointsman/pointsman/statesvc/gauges"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/telemetry"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engines is a fleet of two workers, one of which has trouble in HTML.
type engines struct {
	ready chan struct{}
	list  []fleet.Status

	mu        sync.Mutex
	suspected []suspicion
}

type suspicion struct {
	id  core.WorkerID
	ago time.Duration
}

func (e *engines) Ready() <-chan struct{} { return e.ready }

func (e *engines) Suspect(id core.WorkerID, ago time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.suspected = append(e.suspected, suspicion{id, ago})
}

func (e *engines) Status() []fleet.Status { return e.list }
func (e *engines) Sources() []fleet.SourceStatus {
	return []fleet.SourceStatus{{Source: claims.Static, Heard: true, Workers: 2}}
}
func (e *engines) Counts() fleet.Counts { return fleet.Counts{} }

// stage is a server in front of a real board.
type stage struct {
	*server.Server
	board   *board.Board
	engines *engines
	url     string
	client  *http.Client
}

// small limits, so that tests reach them.
var small = config.Limits{
	MaxBodyBytes: 4096, MaxObserveBodyBytes: 8192, MaxHeaderBytes: 4096, MaxHeaders: 20, MaxConcurrent: 4, MaxConnections: 64,
	MaxContexts: 3, MaxGauges: 100, MaxWorkersPerReport: 5, MaxAgesPerWorker: 4, MaxStringBytes: 32,
}

func newStage(t testing.TB, change func(*config.Config)) *stage {
	t.Helper()
	return newStageWith(t, change, nil)
}

// newStageWith lets a test put parts of its own in.
func newStageWith(t testing.TB, change func(*config.Config), with func(*server.Options)) *stage {
	t.Helper()
	cfg := config.Default()
	cfg.Limits = small
	if change != nil {
		change(&cfg)
	}
	s := &stage{engines: &engines{ready: make(chan struct{})}}
	began := time.Now()
	s.board = board.New(board.Options{
		Replica: 77, Clock: func() core.Instant { return core.Instant(time.Since(began).Milliseconds()) },
		Gauges:    gauges.Limits{Contexts: small.MaxContexts, Gauges: cfg.Limits.MaxGauges, Expiry: 60_000},
		Freshness: 60_000, Tombstones: 4,
	})
	for _, id := range []core.WorkerID{"a", "<script>b"} {
		w := core.Worker{ID: id, Address: "127.0.0.1:1", Models: []string{"m"}, Stage: core.StagePlain, Generation: 1, Healthy: true}
		s.board.Describe(w, 2)
		s.engines.list = append(s.engines.list, fleet.Status{Worker: w, Health: fleet.HealthUp, URL: "http://127.0.0.1:1"})
	}
	s.board.Report("a", 1, core.LoadReport{Running: core.Known(3), Waiting: core.Known(0)}, 0)
	close(s.engines.ready)
	s.engines.list[1].ProbeError = "<img src=x>"
	bindings := affinity.NewMemory(affinity.Limits{Bindings: 100, Bytes: 1 << 20})
	meter, err := telemetry.New("v1 & co", s.board, s.engines, bindings)
	require.NoError(t, err)
	options := server.Options{
		Config: &cfg, Board: s.board, Fleet: s.engines, Bindings: bindings, Meter: meter,
		Clock: func() core.Instant { return core.Instant(time.Since(began).Milliseconds()) }, Metrics: meter.Handler(),
		Logger: slog.New(slog.DiscardHandler), Version: "v1 & co",
	}
	if with != nil {
		with(&options)
	}
	s.Server = server.New(options)
	s.serve(t)
	return s
}

func (s *stage) serve(t testing.TB) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.url = "http://" + listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	s.client = &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		require.NoError(t, s.Stop(context.Background()))
		require.NoError(t, <-served)
	})
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (s *stage) do(t testing.TB, method, path string, body []byte, headers ...string) answer {
	t.Helper()
	return s.send(t, method, path, bytes.NewReader(body), headers...)
}

func (s *stage) send(t testing.TB, method, path string, body io.Reader, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequest(method, s.url+path, body)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return answer{resp.StatusCode, resp.Header, string(text)}
}

const (
	contentType = "Content-Type"
	protobuf    = wire.ContentType
)

func encoded(r wire.SyncRequest) []byte { return wire.AppendSyncRequest(nil, &r) }

func one(id core.WorkerID, inflight uint32) []wire.WorkerGauge {
	return []wire.WorkerGauge{{ID: id, Generation: 1, Inflight: inflight}}
}

// eventually waits for something that other goroutines bring about.
func (s *stage) eventually(t testing.TB, done func() bool, what string) {
	t.Helper()
	require.Eventually(t, done, 15*time.Second, 2*time.Millisecond, what)
}
