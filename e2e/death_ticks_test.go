package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// Without transport_retry, in the mode that cannot retry, a killed engine costs the
// requests that were on it and at most three more for each VM, whose breaker then
// opens. Once every context has told of its open breaker, or has applied a fleet in
// which the engine is down, no request that begins is lost. The contexts' own
// reports say when that is; the ticks that it took are counted by them and logged.
func TestDeath_without_retry_costs_what_was_on_it(t *testing.T) {
	const clients, vms = 16, 2
	for _, version := range envoytest.Versions() {
		t.Run(version, func(t *testing.T) {
			h := host{version, version, envoytest.OriginalDst}
			b := newBackend(t, fireEngines(4))
			tap := tapSyncs(t, b.state.addr, "engine-2")
			f := b.bareFront(t, h)
			// No breaker half-opens by itself during the test, however long it takes.
			options := b.envoyOptions(t, h, frontSetup{models: allModels, state: tap.addr(), extra: `"breaker":{"cool_down_ms":600000},`})
			options.Concurrency = vms
			f.useEnvoy(envoys.Lend(t, options))
			f.awaitModels()
			l := f.markedLoad(clients)
			f.eventually(func() bool { return f.engine(2).Counters().Received > 20 && tap.busy() > 0 }, "no load")

			tap.killed()
			f.engine(2).Stop()
			f.eventually(tap.shut, "a context still sends requests there")
			l.mark()
			f.eventually(tap.told, "a context does not learn that the engine is down")
			served := l.ok.Load()
			f.eventually(func() bool { return l.ok.Load() > served+1000 }, "no load")
			l.stop()
			require.Empty(t, l.late.counts(), "lost after every context knew")
			lost := 0
			for _, n := range l.early.counts() {
				lost += n
			}
			require.LessOrEqual(t, lost, clients+3*vms, "%v", l.early.counts())
			t.Logf("%d lost, each context's syncs from the kill to the one that shows the engine shut out: %v", lost, tap.ticks())
			f.awaitInflight(0)
		})
	}
}

// syncTap stands before a state service and reads what contexts say of one engine,
// and what they have been told of it.
type syncTap struct {
	server *httptest.Server
	engine string

	mu       sync.Mutex
	contexts map[uint64]*tapped
	down     uint64 // version of the first snapshot in which the engine is down; 0 for none
}

// tapped is what a context's reports have said.
type tapped struct {
	busy    bool // it has seen a stream
	open    bool // its breaker refuses the engine
	applied uint64
	since   int // reports since the engine was killed, up to the one that shows it shut out
}

func tapSyncs(t testing.TB, target, engine string) *syncTap {
	t.Helper()
	tap := &syncTap{engine: engine, contexts: map[uint64]*tapped{}}
	behind := &httputil.ReverseProxy{
		Rewrite:        func(p *httputil.ProxyRequest) { p.Out.URL.Scheme, p.Out.URL.Host = "http", target },
		ModifyResponse: tap.reply,
	}
	tap.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		tap.report(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		tap.server.CloseClientConnections()
		tap.server.Close()
	})
	return tap
}

func (s *syncTap) addr() string { return strings.TrimPrefix(s.server.URL, "http://") }

// report reads what a context says.
func (s *syncTap) report(body []byte) {
	var said wirepb.SyncRequest
	if proto.Unmarshal(body, &said) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.contexts[said.GetContext()]
	if c == nil {
		c = &tapped{}
		s.contexts[said.GetContext()] = c
	}
	if !s.shutOut(c) {
		c.since++
	}
	c.busy, c.applied = !said.GetIdle(), said.GetVersion()
	for _, w := range said.GetWorkers() {
		c.open = c.open || w.GetId() == s.engine && w.GetBreakerOpen()
	}
}

// reply reads what a context is told.
func (s *syncTap) reply(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read the reply: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var told wirepb.SyncReply
	if proto.Unmarshal(body, &told) != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range told.GetWorkers() {
		if w.GetId() == s.engine && !w.GetHealthy() && s.down == 0 {
			s.down = told.GetVersion()
		}
	}
	return nil
}

// killed begins to count reports: the engine is about to be killed.
func (s *syncTap) killed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = 0
	for _, c := range s.contexts {
		c.open, c.since = false, 0
	}
}

// knows reports whether a context has applied that the engine is down.
func (s *syncTap) knows(c *tapped) bool { return s.down != 0 && c.applied >= s.down }

func (s *syncTap) shutOut(c *tapped) bool { return c.open || s.knows(c) }

// busy is how many contexts have seen streams.
func (s *syncTap) busy() (n int) {
	s.each(func(c *tapped) {
		if c.busy {
			n++
		}
	})
	return n
}

// shut reports whether no context that has seen a stream sends the engine anything.
func (s *syncTap) shut() bool {
	all := true
	s.each(func(c *tapped) { all = all && (!c.busy || s.shutOut(c)) })
	return all
}

// told reports whether all contexts, idle ones too, know that the engine is down.
func (s *syncTap) told() bool {
	all := true
	s.each(func(c *tapped) { all = all && s.knows(c) })
	return all
}

// ticks are the reports of busy contexts up to the one that shows the engine shut out.
func (s *syncTap) ticks() (list []int) {
	s.each(func(c *tapped) {
		if c.busy {
			list = append(list, c.since)
		}
	})
	return list
}

func (s *syncTap) each(do func(*tapped)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.contexts {
		do(c)
	}
}

// markedLoad is a load whose losses are kept apart by when the request began.
type markedLoad struct {
	ok          atomic.Int64
	early, late losses
	marked      atomic.Bool
	stop        func()
}

// losses count requests that failed by what became of them.
type losses struct {
	mu   sync.Mutex
	list map[string]int
}

func (l *losses) add(outcome string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[string]int{}
	}
	l.list[outcome]++
}

// counts may be read when the load has stopped.
func (l *losses) counts() map[string]int { return l.list }

// mark has requests that begin from here on counted as late.
func (l *markedLoad) mark() { l.marked.Store(true) }

func (r *rig) markedLoad(clients int) *markedLoad {
	var (
		l    markedLoad
		over atomic.Bool
		wg   sync.WaitGroup
	)
	for range clients {
		wg.Go(func() {
			for !over.Load() {
				into := &l.early
				if l.marked.Load() {
					into = &l.late
				}
				if outcome := r.outcome(chatBody("m", 50)); outcome == "ok" {
					l.ok.Add(1)
				} else {
					into.add(outcome)
				}
			}
		})
	}
	l.stop = sync.OnceFunc(func() { over.Store(true); wg.Wait() })
	r.t.Cleanup(l.stop)
	return &l
}
