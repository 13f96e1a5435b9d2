package telemetry_test

import (
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/indexer/serving"
	"github.com/stretchr/testify/require"
)

// remote is a client of one endpoint; outcome i happened i times.
type remote struct{}

func (remote) Counts() indexer.Counts {
	c := indexer.Counts{
		Inflight: 3, Lookups: map[indexer.Outcome]uint64{},
		Ignored: map[indexer.Ignored]uint64{indexer.UnknownWorker: 7, indexer.BeyondPrompt: 8, indexer.NoAddress: 9},
	}
	for o := indexer.Matched; o <= indexer.Rejected; o++ {
		c.Lookups[o] = uint64(o)
	}
	c.Endpoints = []indexer.EndpointCounts{{Name: "http://10.0.0.5:50051", Calls: c.Lookups}}
	return c
}

// answers are a server's.
type answers struct{}

func (answers) Counts() map[serving.Outcome]uint64 {
	return map[serving.Outcome]uint64{serving.Answered: 5, serving.Overloaded: 6, serving.Expired: 7, serving.Refused: 8}
}

const remoteGolden = `pointsman_state_indexer_queries_total{outcome="answered"} 5
pointsman_state_indexer_queries_total{outcome="expired"} 7
pointsman_state_indexer_queries_total{outcome="overloaded"} 6
pointsman_state_indexer_queries_total{outcome="refused"} 8
pointsman_state_remote_calls_total{endpoint="http://10.0.0.5:50051",outcome="empty"} 1
pointsman_state_remote_calls_total{endpoint="http://10.0.0.5:50051",outcome="matched"} 0
pointsman_state_remote_calls_total{endpoint="http://10.0.0.5:50051",outcome="overloaded"} 4
pointsman_state_remote_calls_total{endpoint="http://10.0.0.5:50051",outcome="rejected"} 7
pointsman_state_remote_calls_total{endpoint="http://10.0.0.5:50051",outcome="senseless"} 6
pointsman_state_remote_calls_total{endpoint="http://10.0.0.5:50051",outcome="timeout"} 2
pointsman_state_remote_calls_total{endpoint="http://10.0.0.5:50051",outcome="too_large"} 5
pointsman_state_remote_calls_total{endpoint="http://10.0.0.5:50051",outcome="unreachable"} 3
pointsman_state_remote_lookups_inflight 3
pointsman_state_remote_lookups_total{outcome="empty"} 1
pointsman_state_remote_lookups_total{outcome="matched"} 0
pointsman_state_remote_lookups_total{outcome="overloaded"} 4
pointsman_state_remote_lookups_total{outcome="rejected"} 7
pointsman_state_remote_lookups_total{outcome="senseless"} 6
pointsman_state_remote_lookups_total{outcome="timeout"} 2
pointsman_state_remote_lookups_total{outcome="too_large"} 5
pointsman_state_remote_lookups_total{outcome="unreachable"} 3
pointsman_state_remote_matches_ignored_total{reason="beyond_prompt"} 8
pointsman_state_remote_matches_ignored_total{reason="no_address"} 9
pointsman_state_remote_matches_ignored_total{reason="unknown_worker"} 7
`

func TestTelemetry_remote(t *testing.T) {
	w := httptest.NewRecorder()
	measured(t).Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	ours := regexp.MustCompile(`(?m)^pointsman_state_(remote|indexer)_.*\n`).FindAllString(w.Body.String(), -1)
	require.Equal(t, remoteGolden, strings.Join(ours, ""))
}
