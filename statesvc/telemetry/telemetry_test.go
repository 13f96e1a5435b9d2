package telemetry_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/board"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/telemetry"
	"github.com/stretchr/testify/require"
)

type parts struct{}

func (parts) Counts() fleet.Counts {
	return fleet.Counts{ProbesGood: 1, ProbesBad: 2, ProbesBusy: 3, ReadingsGood: 4, ReadingsBad: 5, DescribesGood: 6, DescribesBad: 7, Recoveries: 8, Restarts: 9}
}

func (parts) Status() []fleet.Status {
	return []fleet.Status{{Worker: core.Worker{ID: "a", Healthy: true}}, {Worker: core.Worker{ID: "b"}}, {Worker: core.Worker{ID: "c"}}}
}

type numbers struct{}

func (numbers) Counts() board.Counts {
	return board.Counts{
		Version: 10, Contexts: 11, Gauges: 12, ContextsExpired: 13,
		Syncs: board.SyncCounts{Applied: 14, Stale: 15, Idle: 16, RefusedContexts: 17, RefusedGauges: 18, Full: 19, Delta: 20},
	}
}

func (numbers) Workers() []board.View {
	return []board.View{{
		Worker: core.Worker{ID: "a"}, Inflight: 21, OpenBreakers: 22, AgeMillis: 1500,
		Report: &core.LoadReport{Running: core.Known(0), KVUsed: core.Known(24)},
	}, {
		Worker: core.Worker{ID: "c"}, Report: &core.LoadReport{Waiting: core.Known(25)},
	}}
}

type bindings struct{}

func (bindings) Stats() affinity.Stats {
	return affinity.Stats{Bindings: 31, Bytes: 32, Expired: 33, Evicted: 34, Forgotten: 35}
}

const golden = `pointsman_state_binding_bytes 32
pointsman_state_bindings 31
pointsman_state_bindings_removed_total{reason="evicted"} 34
pointsman_state_bindings_removed_total{reason="idle"} 33
pointsman_state_bindings_removed_total{reason="worker_removed"} 35
pointsman_state_binds_total{outcome="answered"} 43
pointsman_state_binds_total{outcome="late"} 0
pointsman_state_binds_total{outcome="overloaded"} 0
pointsman_state_binds_total{outcome="refused"} 0
pointsman_state_binds_total{outcome="unavailable"} 0
pointsman_state_build_info{version="v1"} 1
pointsman_state_call_streams 1
pointsman_state_contexts 11
pointsman_state_contexts_expired_total 13
pointsman_state_engine_calls_total{purpose="describe",result="bad"} 7
pointsman_state_engine_calls_total{purpose="describe",result="good"} 6
pointsman_state_engine_calls_total{purpose="load",result="bad"} 5
pointsman_state_engine_calls_total{purpose="load",result="good"} 4
pointsman_state_engine_calls_total{purpose="probe",result="bad"} 2
pointsman_state_engine_calls_total{purpose="probe",result="busy"} 3
pointsman_state_engine_calls_total{purpose="probe",result="good"} 1
pointsman_state_engine_recoveries_total 8
pointsman_state_engine_restarts_total 9
pointsman_state_gauges 12
pointsman_state_http_requests_total{route="sync",status="200"} 1
pointsman_state_observed_prompts_total{outcome="computed"} 0
pointsman_state_observed_prompts_total{outcome="failed"} 0
pointsman_state_observed_prompts_total{outcome="joined"} 42
pointsman_state_observed_prompts_total{outcome="late"} 0
pointsman_state_observed_prompts_total{outcome="overloaded"} 0
pointsman_state_observed_prompts_total{outcome="unasked"} 0
pointsman_state_observed_scopes_total{outcome="bound"} 0
pointsman_state_observed_scopes_total{outcome="none"} 41
pointsman_state_observed_scopes_total{outcome="unavailable"} 0
pointsman_state_observes_total{outcome="answered"} 40
pointsman_state_observes_total{outcome="incomplete"} 0
pointsman_state_observes_total{outcome="late"} 0
pointsman_state_observes_total{outcome="overloaded"} 0
pointsman_state_observes_total{outcome="refused"} 0
pointsman_state_proposals_total{outcome="lost"} 44
pointsman_state_proposals_total{outcome="no_room"} 0
pointsman_state_proposals_total{outcome="unavailable"} 0
pointsman_state_proposals_total{outcome="unknown_worker"} 0
pointsman_state_proposals_total{outcome="won"} 0
pointsman_state_snapshot_version 10
pointsman_state_streamed_calls_total{outcome="overloaded"} 0
pointsman_state_streamed_calls_total{outcome="taken"} 0
pointsman_state_sync_replies_total{kind="delta"} 20
pointsman_state_sync_replies_total{kind="full"} 19
pointsman_state_syncs_total{result="applied"} 14
pointsman_state_syncs_total{result="idle"} 16
pointsman_state_syncs_total{result="stale"} 15
pointsman_state_syncs_total{result="too_many_contexts"} 17
pointsman_state_syncs_total{result="too_many_gauges"} 18
pointsman_state_worker_healthy{worker="a"} 1
pointsman_state_worker_healthy{worker="b"} 0
pointsman_state_worker_healthy{worker="c"} 0
pointsman_state_worker_inflight{worker="a"} 21
pointsman_state_worker_inflight{worker="b"} 0
pointsman_state_worker_inflight{worker="c"} 0
pointsman_state_worker_kv_used_tokens{worker="a"} 24
pointsman_state_worker_load_age_seconds{worker="a"} 1.5
pointsman_state_worker_load_age_seconds{worker="c"} 0
pointsman_state_worker_open_breakers{worker="a"} 22
pointsman_state_worker_open_breakers{worker="b"} 0
pointsman_state_worker_open_breakers{worker="c"} 0
pointsman_state_worker_running{worker="a"} 0
pointsman_state_worker_waiting{worker="c"} 25
`

// measured has a value for every metric.
func measured(t *testing.T) *telemetry.Telemetry {
	t.Helper()
	m, err := telemetry.New("v1", numbers{}, parts{}, bindings{})
	require.NoError(t, err)
	require.NoError(t, m.AddIndex(everyDistrust{}))
	require.NoError(t, m.AddTokenizers(tokenizers{}))
	require.NoError(t, m.AddDiscovery(sources{}))
	require.NoError(t, m.AddRemote(remote{}))
	require.NoError(t, m.AddServing(answers{}))
	m.Request("sync", 200, 2*time.Millisecond)
	m.Opened()
	return m
}

// A stream is a request once it has ended, and takes no part in the time to answer.
func TestTelemetry_streams(t *testing.T) {
	m := measured(t)
	m.Ended(413)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Contains(t, w.Body.String(), "pointsman_state_call_streams 0\n")
	require.Contains(t, w.Body.String(), `pointsman_state_http_requests_total{route="calls",status="413"} 1`)
	require.NotContains(t, w.Body.String(), `duration_seconds_count{route="calls"}`)
}

// The names are a contract with dashboards: a change shows here. waiting of a
// and every load of b are unknown and therefore absent, not zero.
func TestTelemetry_exposition(t *testing.T) {
	m := measured(t)
	for i, o := range []server.Outcome{server.ObserveAnswered, server.ScopeNone, server.PromptJoined, server.BindAnswered, server.ProposalLost} {
		m.Count(o, 40+i)
	}
	m.Count(-1, 1)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	ours := regexp.MustCompile(`(?m)^pointsman_state_.*\n`).FindAllString(w.Body.String(), -1)
	kept := ours[:0]
	for _, line := range ours {
		if !strings.Contains(line, "duration_seconds") && !strings.Contains(line, "state_kv_") && !strings.Contains(line, "native_load") && !strings.Contains(line, "state_tokens_") &&
			!strings.Contains(line, "state_discovery_") && !strings.Contains(line, "state_remote_") && !strings.Contains(line, "state_indexer_") {
			kept = append(kept, line)
		}
	}
	require.Equal(t, golden, strings.Join(kept, ""))
	require.Contains(t, w.Body.String(), `pointsman_state_http_request_duration_seconds_bucket{route="sync",le="0.003"} 1`)
	require.Contains(t, w.Body.String(), "go_goroutines")
}
