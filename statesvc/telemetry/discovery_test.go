package telemetry_test

import (
	"net/http/httptest"
	"testing"

	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/stretchr/testify/require"
)

// sources are all of them, in trouble.
type sources struct{}

func (sources) Sources() []fleet.SourceStatus {
	var list []fleet.SourceStatus
	for _, source := range claims.Sources() {
		list = append(list, fleet.SourceStatus{Source: source, Heard: true, Workers: 3, Conflicts: 1, Good: 4, Bad: 5, Error: "no such host"})
	}
	return list
}

func TestDiscovery(t *testing.T) {
	m := measured(t)
	require.Error(t, m.AddDiscovery(sources{}), "twice")
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`pointsman_state_discovery_heard{source="dns"} 1`,
		`pointsman_state_discovery_workers{source="file"} 3`,
		`pointsman_state_discovery_conflicts{source="http"} 1`,
		`pointsman_state_discovery_failing{source="kubernetes"} 1`,
		`pointsman_state_discovery_updates_total{result="good",source="static"} 4`,
		`pointsman_state_discovery_updates_total{result="bad",source="static"} 5`,
	} {
		require.Contains(t, w.Body.String(), line+"\n")
	}
}
