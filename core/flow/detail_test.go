package flow

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

const described = `"receipts":"log","models":{"m":{"buckets":[
	{"id":"capped","rank":1,"groups":{"plain":{"worker_ids":["e0","e1","e2","e4"],"policy":{"type":"round_robin","admission":{"max_running_requests":3}}}}},
	{"id":"rest","rank":2,"groups":{"plain":{"worker_ids":["e3","e5"],"policy":{"type":"load_based"}}}}]}}`

// Where receipts are logged they say why each engine was not to be had, and what
// the reports of those that were compared say.
func TestReceipt_full_form(t *testing.T) {
	fleet := engines(6)
	fleet[1].Draining, fleet[2].Healthy = true, false
	fleet[4].Stage = core.StageDecode
	m := newMachine(t, described, fleet...)
	native := core.LoadReport{
		Running: core.Known(1), Waiting: core.Known(0), WaitingUncached: core.Known(0), KVUsed: core.Known(5),
		KVTotal: core.Known(6), KVCapacity: core.Known(100), RunningCapacity: core.Known(8),
	}
	m.apply(wire.SyncReply{States: []wire.WorkerState{
		{ID: "e0", Generation: 1, HasReport: true, AgeMillis: 10, Report: core.LoadReport{Running: core.Known(3)}},
		{ID: "e3", Generation: 1, HasReport: true, AgeMillis: 20, Report: native},
		{ID: "e5", Generation: 1, HasReport: true, AgeMillis: 6000, Report: native},
	}})
	require.Equal(t, `model="m" input=3 (estimate) peak=unknown; order capped, rest; `+
		`capped plain rejected e0: max_running_requests 3 of 3 (e0 max_running_requests 3 of 3, e1 drains, e2 is down, e3 is no member, e4 is decode, e5 is no member); `+
		`rest picked; chose e3 by load_based of 2 [e3 in-flight 0 report 20 ms old (native) running 1 waiting 0 uncached 0 kv-used 5 kv-total 6 kv-capacity 100, `+
		`e5 in-flight 0 report 6000 ms old (stale)]`, m.routed().Receipt().Describe())
}

func TestReceipt_full_form_of_an_open_breaker(t *testing.T) {
	m := newMachine(t, `"receipts":"log",`+oneBucket, engines(1)...)
	m.trip()
	r, _ := m.chat(`{"model":"m"}`)
	require.Contains(t, r.Receipt().Describe(), "all plain has no candidates (e0 has an open breaker); answered no_healthy_workers")
}

// Nobody pays for the full form unless it is logged.
func TestReceipt_short_form(t *testing.T) {
	m := newMachine(t, oneBucket, engines(1)...)
	m.trip()
	r, _ := m.chat(`{"model":"m"}`)
	require.False(t, r.Receipt().IsFull())
	require.Contains(t, r.Receipt().Describe(), "all plain has no candidates; answered no_healthy_workers")
}
