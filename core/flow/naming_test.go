package flow

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/stretchr/testify/require"
)

const naming = `"worker_header":true,` + oneBucket

func TestNaming_of_the_engine_that_answers(t *testing.T) {
	m := newMachine(t, `"transport_retry":true,`+naming, engines(3)...)
	for name, tt := range map[string]struct {
		response Event
		want     func(named []string) string
	}{
		"the chosen one":              {Event{Status: 200}, func(named []string) string { return m.idAt(named[0]) }},
		"its error":                   {Event{Status: 500}, func(named []string) string { return m.idAt(named[0]) }},
		"the host's word for its end": {Event{Status: 503, Failure: true}, func(named []string) string { return m.idAt(named[0]) }},
		"an answer of the host's own": {Event{Status: 503, Own: true}, func([]string) string { return "" }},
		"a stranger":                  {Event{Status: 200, Upstream: "192.0.2.1:80"}, func([]string) string { return "" }},
	} {
		t.Run(name, func(t *testing.T) {
			r, named := m.retried()
			ev := tt.response
			ev.Kind = EventResponse
			require.Equal(t, []Effect{{Kind: EffectWorker, Text: tt.want(named)}}, r.Step(&ev))
			r.Step(&Event{Kind: EventDone})
		})
	}
	r, named := m.retried()
	moved := r.Step(&Event{Kind: EventResponse, Status: 200, Upstream: named[2]})
	require.Equal(t, []Effect{{Kind: EffectWorker, Text: m.idAt(named[2])}}, moved)
}

func (m *machine) idAt(address string) string { return string(m.Fleet.ByAddress(address).ID) }

// IDs are the operator's; one that no header can carry is left out, and so is
// what an engine says in its place.
func TestNaming_of_ids_that_no_header_carries(t *testing.T) {
	for _, id := range []string{"zwei drei", "a\r\nset-cookie: x", "zürich", "a\x00"} {
		e := engine(0)
		e.ID = core.WorkerID(id)
		r := newMachine(t, naming, e).routed()
		require.Equal(t, []Effect{{Kind: EffectWorker}}, r.Step(&Event{Kind: EventResponse, Status: 200}), id)
	}
}

func TestNaming_off(t *testing.T) {
	m := newMachine(t, oneBucket, engines(1)...)
	require.False(t, m.NamesWorkers())
	require.Empty(t, m.routed().Step(&Event{Kind: EventResponse, Status: 200}))
}

// A request that the host places is nobody's word.
func TestNaming_of_an_unplaced_request(t *testing.T) {
	m := newMachine(t, `"on_no_state":"host",`+naming)
	r, effects := m.chat(`{"model":"m"}`)
	require.Contains(t, kinds(effects), EffectContinue)
	require.Equal(t, []Effect{{Kind: EffectWorker}}, r.Step(&Event{Kind: EventResponse, Status: 200}))
}

func TestNaming_costs_no_allocation(t *testing.T) {
	e := engine(0)
	e.ID = core.WorkerID(strings.Repeat("long-", 20))
	m := newMachine(t, naming, e)
	r := m.routed()
	ev := Event{Kind: EventResponse, Status: 200}
	require.Zero(t, testing.AllocsPerRun(100, func() { r.Step(&ev) }))
}
