package faultproxy_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/faultproxy"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a fault proxy in front of a service that notes what it is sent.
type stage struct {
	t     *testing.T
	proxy *faultproxy.Proxy
	http  *http.Client

	mu  sync.Mutex
	got []string
}

func newStage(t *testing.T, seed uint64, weights map[faultproxy.Fault]int) *stage {
	return newStageOf(t, faultproxy.Options{Seed: seed, Weights: weights, MaxDelay: 5 * time.Millisecond})
}

func newStageOf(t *testing.T, o faultproxy.Options) *stage {
	s := &stage{t: t, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	service := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(service.Close)
	o.Target = service.Listener.Addr().String()
	proxy, err := faultproxy.Start(o)
	require.NoError(t, err)
	s.proxy = proxy
	t.Cleanup(proxy.Close)
	return s
}

func (s *stage) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.got = append(s.got, string(body))
	s.mu.Unlock()
	_, _ = io.WriteString(w, "answer to "+string(body))
}

// call sends a body and gives the answer; "cut" for none.
func (s *stage) call(body string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.proxy.Addr()+"/v1/sync", strings.NewReader(body))
	require.NoError(s.t, err)
	req.GetBody = nil // or the client repeats a call whose connection was closed
	resp, err := s.http.Do(req)
	if errors.Is(err, context.DeadlineExceeded) {
		return "silence"
	}
	if err != nil {
		return "cut"
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "cut"
	}
	if resp.StatusCode != http.StatusOK {
		return resp.Status
	}
	return string(text)
}

// Each fault does to the second of three calls what its name says.
func TestProxy_faults(t *testing.T) {
	for fault, want := range map[faultproxy.Fault]struct {
		answer string // "?" is noise
		got    []string
	}{
		faultproxy.Pass:        {"answer to b", []string{"a", "b", "c"}},
		faultproxy.Delay:       {"answer to b", []string{"a", "b", "c"}},
		faultproxy.DropRequest: {"cut", []string{"a", "c"}},
		faultproxy.DropReply:   {"cut", []string{"a", "b", "c"}},
		faultproxy.CutReply:    {"cut", []string{"a", "b", "c"}},
		faultproxy.Duplicate:   {"answer to b", []string{"a", "b", "b", "c"}},
		faultproxy.Reorder:     {"cut", []string{"a", "c", "b"}},
		faultproxy.Garbage:     {"?", []string{"a", "c"}},
		faultproxy.NotHTTP:     {"cut", []string{"a", "c"}},
		faultproxy.Stale:       {"answer to a", []string{"a", "c"}},
		faultproxy.Refuse:      {"503 Service Unavailable", []string{"a", "c"}},
		faultproxy.HalfOpen:    {"silence", []string{"a", "c"}},
	} {
		t.Run(fault.String(), func(t *testing.T) {
			weights := map[faultproxy.Fault]int{faultproxy.Pass: 1, fault: 1}
			s := newStage(t, seedFor(t, fault, weights), weights)
			require.Equal(t, "answer to a", s.call("a"))
			if answer := s.call("b"); want.answer != "?" {
				require.Equal(t, want.answer, answer)
			}
			s.proxy.Calm()
			require.Equal(t, "answer to c", s.call("c"))
			s.mu.Lock()
			defer s.mu.Unlock()
			require.Equal(t, want.got, s.got)
		})
	}
}

// seedFor looks for a seed that lets the first call pass and not the second.
func seedFor(t *testing.T, fault faultproxy.Fault, weights map[faultproxy.Fault]int) uint64 {
	t.Helper()
	for seed := range uint64(1000) {
		if faultproxy.Draw(seed, 1, weights) == faultproxy.Pass && faultproxy.Draw(seed, 2, weights) == fault {
			return seed
		}
	}
	require.Fail(t, "no such seed")
	return 0
}

// Calls of other paths than the named ones meet nothing.
func TestProxy_faults_of_some_paths(t *testing.T) {
	for only, want := range map[string]string{"/v1/bind": "answer to a", "/v1/sync": "503 Service Unavailable"} {
		s := newStageOf(t, faultproxy.Options{Weights: map[faultproxy.Fault]int{faultproxy.Refuse: 1}, Only: []string{only}})
		require.Equal(t, want, s.call("a"), only)
	}
}

func TestProxy_refuses_to_start_without_a_target(t *testing.T) {
	_, err := faultproxy.Start(faultproxy.Options{})
	require.ErrorContains(t, err, "target")
}
