package flow

import (
	"slices"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core/fleet"
	"github.com/stretchr/testify/require"
)

const (
	retrying   = `"transport_retry":true,` + oneBucket
	tripAtOnce = `"breaker":{"threshold":1},` + retrying
)

// retried is a routed request and the engines its header names.
func (m *machine) retried() (*Request, []string) {
	m.t.Helper()
	r, effects := m.chat(`{"model":"m"}`)
	for _, e := range effects {
		if e.Kind == EffectRoute {
			return r, strings.Split(e.Endpoint, ",")
		}
	}
	require.Fail(m.t, "not routed")
	return nil, nil
}

func TestSpares_are_further_engines_and_do_not_rotate(t *testing.T) {
	m := newMachine(t, retrying, engines(4)...)
	for i := range 8 {
		_, named := m.retried()
		require.Equal(t, engine(i%4).Address, named[0])
		require.Len(t, named, 3)
		slices.Sort(named)
		require.Len(t, slices.Compact(named), 3, "an engine is named twice")
	}
	require.EqualValues(t, 8, m.inflight(), "spares are not charged")
}

func TestSpares_are_as_many_as_there_are(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 9: 3} {
		_, named := newMachine(t, retrying, engines(n)...).retried()
		require.Len(t, named, want)
	}
	_, named := newMachine(t, oneBucket, engines(9)...).retried()
	require.Len(t, named, 1, "not asked for")
}

func TestSpares_are_admitted(t *testing.T) {
	capped := strings.Replace(retrying, `{"type":"round_robin"}`, `{"type":"round_robin","admission":{"max_inflight_requests":1}}`, 1)
	m := newMachine(t, capped, engines(2)...)
	_, first := m.retried()
	require.Len(t, first, 2)
	_, second := m.retried()
	require.Equal(t, []string{"10.0.0.1:80"}, second, "the first engine is full")
}

// The host used the engine at one place of the list, or one beside the list: it
// holds the charge, and those before it are at fault.
func TestSpares_the_charge_follows_the_host(t *testing.T) {
	const stranger = "192.0.2.1:80"
	for name, place := range map[string]int{"first": 0, "second": 1, "third": 2, "beside the list": 3, "a stranger": 4} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, tripAtOnce, engines(4)...)
			r, named := m.retried()
			addresses := append(named, m.unnamed(named), stranger)
			used := addresses[place]
			r.Step(&Event{Kind: EventResponse, Status: 200, Upstream: used})
			for _, w := range m.Fleet.Serving("m") {
				require.Equal(t, w.Address == used, m.Fleet.Inflight(w) == 1, w.ID)
				failed := slices.Contains(addresses[:min(place, 3)], w.Address)
				require.Equal(t, !failed, m.Fleet.Available(w, m.now), w.ID)
			}
			replaced := uint64(min(place, 1))
			require.Equal(t, replaced, m.Counters[PicksReplaced])
			r.Step(&Event{Kind: EventDone, Upstream: used})
			require.Zero(t, m.inflight())
			require.Equal(t, replaced, m.Counters[PicksReplaced], "counted once")
			require.EqualValues(t, 1, m.Counters[ChargesReleased])
		})
	}
}

func TestSpares_the_host_does_not_say(t *testing.T) {
	m := newMachine(t, tripAtOnce, engines(2)...)
	r, named := m.retried()
	r.Step(&Event{Kind: EventResponse, Status: 200})
	require.EqualValues(t, 1, m.Fleet.Inflight(m.Fleet.ByAddress(named[0])))
}

// unnamed is the address of an engine that the list leaves out.
func (m *machine) unnamed(named []string) string {
	for _, w := range m.Fleet.Serving("m") {
		if !slices.Contains(named, w.Address) {
			return w.Address
		}
	}
	return ""
}

// A client that leaves while the host retries: the engine that never answered is
// at fault, the one at work is not.
func TestSpares_the_client_leaves_during_a_retry(t *testing.T) {
	m := newMachine(t, tripAtOnce, engines(2)...)
	r, _ := m.retried()
	r.Step(&Event{Kind: EventDone, End: fleet.EndGone, Upstream: "10.0.0.1:80"})
	require.Zero(t, m.inflight())
	require.EqualValues(t, 1, m.Counters[ChargesReleased])
	members := m.Fleet.Serving("m")
	require.False(t, m.Fleet.Available(members[0], m.now))
	require.True(t, m.Fleet.Available(members[1], m.now))
}

// Every engine of the list failed: each is counted once.
func TestSpares_all_fail(t *testing.T) {
	m := newMachine(t, tripAtOnce, engines(3)...)
	r, named := m.retried()
	r.Step(&Event{Kind: EventResponse, Status: 503, Failure: true, Upstream: named[2]})
	for _, w := range m.Fleet.Serving("m") {
		require.False(t, m.Fleet.Available(w, m.now), w.ID)
	}
	r.Step(&Event{Kind: EventDone})
	require.Zero(t, m.inflight())
}
