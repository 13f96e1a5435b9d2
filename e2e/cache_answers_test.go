package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// What the index answers stands in the receipt, with its source, how old and how sure it is.
// Unavailable is no miss and is counted apart; a query that the source refuses is an
// error.
func TestCache_answers_reach_receipts_and_counters(t *testing.T) {
	const (
		picks = "pointsman_picks_total_reason="
		hit   = wirepb.LookupOutcome_LOOKUP_HIT
	)
	holder := func(d *wirepb.Depth) *wirepb.Lookup {
		d.Worker, d.Blocks = "engine-1", 1500
		return &wirepb.Lookup{Source: "local", Outcome: hit, Blocks: 2000, Depths: []*wirepb.Depth{d}}
	}
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			b := newBackend(t, fakes.Replicate(fakes.Config{Models: []string{"m"}}, 2))
			s := newAnswering(t, b.state.addr)
			f := b.newFront(t, h, frontSetup{models: cachePolicy(""), extra: `"receipts":"log",`, sync: patient, state: s.addr})
			f.awaitWorkers()
			for _, tt := range []struct {
				answer  *wirepb.Lookup
				receipt string
				counter string
			}{
				{holder(&wirepb.Depth{}), "chose engine-1 by cache_candidate of 2, holding 1512 tokens by local [", "cache_candidate"},
				{holder(&wirepb.Depth{DeviceBlocks: proto.Uint64(600)}), ", holding 1512 tokens (604 on the device) by local [", "cache_candidate"},
				{holder(&wirepb.Depth{Uncertain: true}), " tokens by local, uncertain [", "cache_candidate"},
				{&wirepb.Lookup{Source: "local", Outcome: wirepb.LookupOutcome_LOOKUP_MISS, Blocks: 2000}, " by no_cache_candidate of 2, holding 0 tokens by local [", "no_cache_candidate"},
				{holder(&wirepb.Depth{AgeMs: proto.Uint64(40), Rank: proto.Uint32(0)}), " tokens by local, 40 ms old, rank 0 [", "cache_candidate"},
				{&wirepb.Lookup{Source: "local", Outcome: wirepb.LookupOutcome_LOOKUP_MISS, Blocks: 2000, AgeMs: proto.Uint64(7)}, ", holding 0 tokens by local, 7 ms old [", "no_cache_candidate"},
				{&wirepb.Lookup{Source: "local", Detail: "overloaded"}, ` by cache_unavailable of 2, local unavailable: "overloaded" [`, "cache_unavailable"},
				{nil, ` by cache_unavailable of 2, local unavailable: "the state service gave no answer" [`, "cache_unavailable"},
			} {
				s.lookup.Store(tt.answer)
				before := f.counter(picks + tt.counter)
				a := f.post(chatOf(f.rig, tt.receipt))
				require.Equal(t, http.StatusOK, a.status, a.body)
				f.eventually(func() bool {
					return strings.Contains(f.log(), tt.receipt) || strings.Contains(unescaped(f.log()), tt.receipt)
				}, "no receipt has %q", tt.receipt)
				f.eventually(func() bool { return f.counter(picks+tt.counter) == before+1 }, "%s is not counted", tt.counter)
			}
			s.lookup.Store(&wirepb.Lookup{Source: "local", Outcome: wirepb.LookupOutcome_LOOKUP_INVALID, Detail: "unknown block size"})
			f.requireRefused(f.post(chatOf(f.rig, "invalid")), http.StatusInternalServerError, "internal_error")
		})
	}
}

// unescaped undoes how hostsim's log quotes its lines.
func unescaped(log string) string { return strings.ReplaceAll(log, `\"`, `"`) }

// chatOf is a chat of 2,017 tokens by the filter's estimate, which no other one
// continues.
func chatOf(r *rig, tag string) string {
	return turnBody(r.t, "", (url.QueryEscape(tag) + strings.Repeat("x", 8000))[:8000])
}

// answering is a state service whose lookups a test makes up.
type answering struct {
	addr   string
	lookup atomic.Pointer[wirepb.Lookup] // nil answers nothing
}

func newAnswering(t *testing.T, behind string) *answering {
	t.Helper()
	o := &answering{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: behind})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != wire.ObservePath {
			proxy.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		reply := &wirepb.ObserveReply{}
		if l := o.lookup.Load(); l != nil {
			reply.Lookups = []*wirepb.Lookup{l}
		}
		out, _ := proto.Marshal(reply)
		w.Header().Set("Content-Type", wire.ContentType)
		_, _ = w.Write(out)
	}))
	t.Cleanup(server.Close)
	o.addr = server.Listener.Addr().String()
	return o
}
