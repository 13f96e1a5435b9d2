package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// sessions are two proxies of one worker each, which reach their state service
// through a meddler. With one worker a proxy is one context: what it was told once
// it knows.
type sessions struct {
	*backend
	t          testing.TB
	meddler    *meddler
	one, other *front
}

// unhurried are settings of a state service for which no proxy falls silent and no
// engine is down because a busy machine lets them wait: these tests say themselves who
// does.
const unhurried = "sync: {expiry_ms: 60000}\nhealth: {timeout_ms: 30000}\n"

func newSessions(t testing.TB, h host, engines int, s frontSetup, models ...string) *sessions {
	t.Helper()
	fleet, err := fakes.StartFleet(fakes.Replicate(fakes.Config{Models: models, Slots: 64}, engines)...)
	require.NoError(t, err)
	t.Cleanup(fleet.StopAll)
	b := &backend{fleet: fleet, state: newState(t, fleet)}
	b.state.file += unhurried
	b.state.start()
	m := meddle(t, b.state.addr)
	s.state = m.addr()
	all := &sessions{backend: b, t: t, meddler: m, one: b.newFront(t, h, s), other: b.newFront(t, h, s)}
	all.settled()
	return all
}

// settled waits until both proxies have applied what the state service knows.
func (s *sessions) settled() {
	s.t.Helper()
	var both sync.WaitGroup
	for _, f := range s.fronts() {
		both.Go(f.awaitSyncs)
	}
	both.Wait()
}

// fronts are both proxies.
func (s *sessions) fronts() []*front { return []*front{s.one, s.other} }

// home sends a turn of a session by the i-th proxy and gives the engine that
// answered.
func (s *sessions) home(i int, key string) string {
	s.t.Helper()
	a := s.fronts()[i%2].chatWith("x-session-id", key)
	require.Equal(s.t, http.StatusOK, a.status, "%s: %s", key, a.body)
	require.NotEmpty(s.t, a.engine())
	return a.engine()
}

// settle sends a first turn of sessions by one proxy and another by the other, and
// gives their homes.
func (s *sessions) settle(keys []string) map[string]string {
	s.t.Helper()
	homes := map[string]string{}
	for _, key := range keys {
		homes[key] = s.home(0, key)
		require.Equal(s.t, homes[key], s.home(1, key), key)
	}
	return homes
}

// named are n keys.
func named(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = prefix + "-" + strconv.Itoa(i)
	}
	return keys
}

// sum adds up a counter of both proxies.
func (s *sessions) sum(names ...string) (n int64) {
	for _, f := range s.fronts() {
		for _, name := range names {
			n += f.counter(name)
		}
	}
	return n
}

// metric reads a number of the state service, 0 before it is there.
func (s *stateService) metric(series string) int {
	s.t.Helper()
	for line := range strings.Lines(s.page("/metrics")) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			require.NoError(s.t, err, line)
			return int(n)
		}
	}
	return 0
}

// page reads a page of the state service.
func (s *stateService) page(path string) string {
	s.t.Helper()
	resp, err := http.Get("http://" + s.addr + path)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, resp.StatusCode, path)
	return string(text)
}

// calls are how often a call was made and answered.
func (s *stateService) calls(route string) int {
	return s.metric(`pointsman_state_http_requests_total{route="` + route + `",status="200"}`)
}

// meddler stands between proxies and a state service. It can leave calls without an
// answer and say of an engine that it drains.
type meddler struct {
	server *httptest.Server
	behind *httputil.ReverseProxy
	target string
	closed chan struct{}

	mu      sync.Mutex
	hung    map[string]bool
	hanging map[string]int // calls that were left without an answer
	drained string
}

func meddle(t testing.TB, target string) *meddler {
	t.Helper()
	m := &meddler{target: target, closed: make(chan struct{}), hanging: map[string]int{}}
	m.behind = &httputil.ReverseProxy{
		Rewrite:      func(p *httputil.ProxyRequest) { p.Out.URL.Scheme, p.Out.URL.Host = "http", target },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	m.server = httptest.NewServer(m)
	t.Cleanup(func() {
		close(m.closed)
		m.server.CloseClientConnections()
		m.server.Close()
	})
	return m
}

func (m *meddler) addr() string { return strings.TrimPrefix(m.server.URL, "http://") }

// hang leaves all further calls of these paths without an answer; none is none.
func (m *meddler) hang(paths ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hung = map[string]bool{}
	for _, p := range paths {
		m.hung[p] = true
	}
}

// left is how many calls of a path were left without an answer.
func (m *meddler) left(path string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hanging[path]
}

// drain says of an engine that it drains; empty is none.
func (m *meddler) drain(engine string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drained = engine
}

// ServeHTTP meets one call.
func (m *meddler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m.mu.Lock()
	hangs, drained := m.hung[r.URL.Path], m.drained
	if hangs {
		m.hanging[r.URL.Path]++
	}
	m.mu.Unlock()
	switch {
	case hangs:
		select {
		case <-r.Context().Done():
		case <-m.closed:
		}
	case r.URL.Path == "/v1/sync":
		m.sync(w, r, body, drained)
	default:
		m.behind.ServeHTTP(w, r)
	}
}

// sync asks for the whole fleet each time, so that what was changed in one answer
// is taken back by the next.
func (m *meddler) sync(w http.ResponseWriter, r *http.Request, body []byte, drained string) {
	var request wirepb.SyncRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	request.Replica, request.Version = nil, 0
	whole, err := proto.Marshal(&request)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(whole)), int64(len(whole))
	answered := httptest.NewRecorder()
	m.behind.ServeHTTP(answered, r)
	out := answered.Body.Bytes()
	var reply wirepb.SyncReply
	if answered.Code == http.StatusOK && proto.Unmarshal(out, &reply) == nil {
		for _, worker := range reply.GetWorkers() {
			worker.Draining = worker.GetDraining() || worker.GetId() == drained
		}
		out, err = proto.Marshal(&reply)
	}
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", wire.ContentType)
	w.WriteHeader(answered.Code)
	_, _ = w.Write(out)
}
