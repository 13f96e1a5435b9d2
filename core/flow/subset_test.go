package flow

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/stretchr/testify/require"
)

// keptTo sends a request that a hop before the filter keeps to some engines.
func (m *machine) keptTo(hint string) (*Request, []Effect) {
	r, ev := m.NewRequest(), m.headers()
	ev.Subset = core.ParseSubset(hint)
	r.Step(&ev)
	return r, r.Step(&Event{Kind: EventBody, Now: m.now, Body: `{"model":"m"}`})
}

// Whatever the policy, and with spares, only engines of the subset are named.
func TestSubset_bounds_every_choice(t *testing.T) {
	for _, policy := range []string{
		`"type":"round_robin"`, `"type":"random"`, `"type":"power_of_two"`, `"type":"load_based"`,
		`"type":"consistent_hash","key":"prefix"`,
	} {
		members := `"transport_retry":true,"models":{"m":{"buckets":[{"id":"all","groups":{"plain":{"policy":{` + policy + `}}}}]}}`
		m := newMachine(t, members, engines(8)...)
		allowed := []string{m.Fleet.Serving("m")[2].Address, m.Fleet.Serving("m")[5].Address}
		seen := map[string]bool{}
		for range 40 {
			r, effects := m.keptTo(allowed[1] + "," + allowed[0])
			require.Equal(t, EffectRoute, effects[0].Kind, policy)
			require.Contains(t, []string{allowed[0] + "," + allowed[1], allowed[1] + "," + allowed[0]}, effects[0].Endpoint, policy)
			seen[string(r.Receipt().Chosen)] = true
			r.Step(&Event{Kind: EventDone, Now: m.now})
		}
		require.NotEmpty(t, seen)
		_, effects := m.keptTo("10.9.9.9:80")
		code, _ := refusal(t, effects)
		require.Equal(t, CodeNoHealthyWorkers, code, policy)
		require.Zero(t, m.inflight())
	}
}

// A bucket whose engines are all outside is passed over for the next.
func TestSubset_reaches_later_buckets(t *testing.T) {
	m := newMachine(t, tiers("disabled", "disabled"), engines(2)...)
	r, _ := m.keptTo(m.Fleet.Serving("m")[1].Address)
	require.Equal(t, "fast", r.Receipt().Bucket)
}
