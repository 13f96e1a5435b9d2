package flow

import (
	"errors"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

func TestNo_fleet(t *testing.T) {
	for _, body := range []string{`{"model":"m"}`, `{"model":"perhaps an adapter"}`} {
		m := newMachine(t, oneBucket)
		r, effects := m.chat(body)
		require.Equal(t, []EffectKind{EffectPause}, kinds(effects), "the first sync may be on its way")
		require.True(t, r.Waiting())
		m.now += fleetWait
		code, message := refusal(t, r.Step(&Event{Kind: EventTick, Now: m.now}))
		require.Equal(t, CodeStateUnavailable, code)
		require.Equal(t, "the router does not know its engines yet; try again", message)
		_, effects = m.chat(body)
		code, _ = refusal(t, effects)
		require.Equal(t, CodeStateUnavailable, code, "a context makes its clients wait only once")

		m = newMachine(t, `"on_no_state":"host",`+oneBucket)
		r, effects = m.chat(body)
		require.Equal(t, []EffectKind{EffectContinue}, kinds(effects), "the host chooses")
		require.Equal(t, uint64(1), m.Counters[RequestsUnplaced])
		require.Empty(t, r.Step(&Event{Kind: EventResponse, Status: 500}))
		r.Step(&Event{Kind: EventDone})
		require.Zero(t, m.Counters[ChargesReleased])
	}
	m := newMachine(t, oneBucket)
	_, effects := m.chat(`{`)
	code, _ := refusal(t, effects)
	require.Equal(t, CodeBadRequest, code, "a bad body is the client's fault whatever is known")
}

// A context that replaces another begins without a fleet: its first requests are
// held until its first sync, and leave nothing behind if their clients give up.
func TestFirst_fleet_frees_what_waits(t *testing.T) {
	m := newMachine(t, oneBucket)
	known, _ := m.chat(`{"model":"m"}`)
	unknown, _ := m.chat(`{"model":"other"}`)
	gone, _ := m.chat(`{"model":"m"}`)
	m.now += fleetWait - 1
	require.Equal(t, []EffectKind{EffectPause}, kinds(known.Step(&Event{Kind: EventTick, Now: m.now})))
	gone.Step(&Event{Kind: EventDone, Now: m.now})

	m.apply(wire.SyncReply{Full: true, Workers: engines(1)})
	routed := known.Step(&Event{Kind: EventTick, Now: m.now})
	require.Equal(t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(routed))
	require.False(t, known.Waiting())
	code, _ := refusal(t, unknown.Step(&Event{Kind: EventTick, Now: m.now}))
	require.Equal(t, CodeModelNotFound, code)
	require.Equal(t, uint64(1), m.inflight())
	m.answer(known, 200)
	require.Zero(t, m.inflight())
}

func TestNo_engine(t *testing.T) {
	const noEngine = "no engine is available for this model; try again"
	sick, draining := engine(0), engine(1)
	sick.Healthy, draining.Draining = false, true
	for name, fleet := range map[string][]wire.Worker{
		"none serves the model": {{ID: "x", Address: "10.0.0.1:80", Models: []string{"other"}, Stage: core.StagePlain, Healthy: true}},
		"none of the stage":     {{ID: "x", Address: "10.0.0.1:80", Models: []string{"m"}, Stage: core.StageDecode, Healthy: true}},
		"all down":              {sick, draining},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, oneBucket, fleet...)
			_, effects := m.chat(`{"model":"m"}`)
			code, message := refusal(t, effects)
			require.Equal(t, CodeNoHealthyWorkers, code)
			require.Equal(t, noEngine, message)
		})
	}
	t.Run("all breakers open", func(t *testing.T) {
		m := newMachine(t, oneBucket, engines(2)...)
		m.trip()
		_, effects := m.chat(`{"model":"m"}`)
		code, _ := refusal(t, effects)
		require.Equal(t, CodeNoHealthyWorkers, code)
	})
}

func TestExhausted(t *testing.T) {
	for _, tt := range []struct {
		rejected bool
		missing  core.Stage
		want     Code
	}{
		{false, core.StageNone, CodeNoHealthyWorkers},
		{false, core.StagePlain, CodeNoHealthyWorkers},
		{false, core.StagePrefill, CodeNoPrefillWorkers},
		{false, core.StageDecode, CodeNoDecodeWorkers},
		{true, core.StageDecode, CodePolicySelectionFailed},
	} {
		code, message := exhausted(tt.rejected, tt.missing)
		require.Equal(t, tt.want, code)
		require.NotEmpty(t, message)
	}
}

// twoBuckets has a short bucket of e0 and a long one of the engines of its list.
func twoBuckets(long string) string {
	return `"models":{"m":{"buckets":[
		{"id":"short","limits":{"max":10},"groups":{"plain":{"worker_ids":["e0"],"policy":{"type":"round_robin","admission":{"max_inflight_requests":1}}}}},
		{"id":"long","groups":{"plain":{"worker_ids":` + long + `,"policy":{"type":"power_of_two","admission":{"max_inflight_requests":1}}}}}]}}`
}

func TestBuckets_overflow_and_exhaust(t *testing.T) {
	m := newMachine(t, twoBuckets(`["e1"]`), engines(2)...)
	first := m.routed()
	require.Equal(t, core.WorkerID("e0"), first.Receipt().Chosen)
	second := m.routed()
	require.Equal(t, core.WorkerID("e1"), second.Receipt().Chosen, "a full short bucket overflows")
	third, effects := m.chat(`{"model":"m"}`)
	code, message := refusal(t, effects)
	require.Equal(t, CodePolicySelectionFailed, code)
	require.Equal(t, "every engine that could take this request is at its limit; try again", message)
	tries, n := third.Receipt().Tries()
	require.Equal(t, 2, n)
	rejection := func(id core.WorkerID) core.Rejection {
		return core.Rejection{Worker: id, Limit: "max_inflight_requests", Value: 1, Cap: 1}
	}
	require.Equal(t, []receipt.Try{
		{Bucket: "short", Verdict: receipt.VerdictRejected, Stage: core.StagePlain, First: rejection("e0"), Refused: 1},
		{Bucket: "long", Verdict: receipt.VerdictRejected, Stage: core.StagePlain, First: rejection("e1"), Refused: 1},
	}, tries)
	m.answer(first, 200)
	require.Equal(t, core.WorkerID("e0"), m.routed().Receipt().Chosen)
}

// A rejection anywhere beats candidates missing later.
func TestBuckets_rejected_beats_missing(t *testing.T) {
	m := newMachine(t, twoBuckets(`["nobody"]`), engines(1)...)
	m.routed()
	r, effects := m.chat(`{"model":"m"}`)
	code, _ := refusal(t, effects)
	require.Equal(t, CodePolicySelectionFailed, code)
	tries, _ := r.Receipt().Tries()
	require.Equal(t, receipt.VerdictNoCandidates, tries[1].Verdict)
}

func TestBuckets_empty_one_is_passed_over(t *testing.T) {
	m := newMachine(t, twoBuckets(`["e1"]`), engine(1))
	require.Equal(t, core.WorkerID("e1"), m.routed().Receipt().Chosen)
}

// Whatever is no lack of engines stops the request, and the log learns why.
func TestFault_of_a_policy(t *testing.T) {
	m := newMachine(t, `"models":{"m":{"buckets":[
		{"id":"one","limits":{"max":100},"groups":{"plain":{"policy":{"type":"random"}}}},
		{"id":"two","groups":{"plain":{"policy":{"type":"round_robin"}}}}]}}`, engines(2)...)
	r, ev := m.NewRequest(), m.headers()
	r.Step(&ev)
	source := r.rand
	r.rand = nil // random cannot do without
	effects := r.Step(&Event{Kind: EventBody, Body: `{"model":"m"}`})
	r.rand = source
	require.Equal(t, []EffectKind{EffectFault, EffectRespond, EffectReceipt}, kinds(effects))
	require.ErrorIs(t, effects[0].Fault, core.ErrInvalid)
	require.ErrorContains(t, effects[0].Fault, `bucket "one"`)
	code, message := refusal(t, effects)
	require.Equal(t, CodeInternal, code)
	require.Equal(t, "the router could not handle the request; its log says why", message)
	tries, n := r.Receipt().Tries()
	require.Equal(t, 1, n, "no further bucket is tried")
	require.Equal(t, receipt.VerdictFailed, tries[0].Verdict)
	require.Equal(t, map[string]uint64{"fault": 1}, m.failures())
}

func TestFault_of_a_body_that_cannot_be_read(t *testing.T) {
	m := newMachine(t, oneBucket, engines(1)...)
	r, ev := m.NewRequest(), m.headers()
	r.Step(&ev)
	cause := errors.New("bad argument")
	effects := r.Step(&Event{Kind: EventBody, BodyErr: cause})
	require.Equal(t, []EffectKind{EffectFault, EffectRespond, EffectReceipt}, kinds(effects))
	require.Equal(t, cause, effects[0].Fault)
	code, message := refusal(t, effects)
	require.Equal(t, CodeInternal, code)
	require.NotContains(t, message, cause.Error())
}

// pick makes a selection by hand.
func pick(t *testing.T, registry bucket.Registry, groups bucket.Groups) bucket.Selection {
	t.Helper()
	b, err := bucket.New(bucket.Spec{ID: "b", Groups: groups})
	require.NoError(t, err)
	picked, err := b.Pick(registry, coretest.Request(1))
	require.NoError(t, err)
	return picked
}

func TestDispatch_refuses_when_the_door_closed_since_the_pick(t *testing.T) {
	for name, news := range map[string]func(*machine){
		"breaker":     (*machine).trip,
		"engine left": func(m *machine) { m.apply(wire.SyncReply{Full: true}) },
		"new life": func(m *machine) {
			next := engine(0)
			next.Generation = 2
			m.apply(wire.SyncReply{Full: true, Workers: []wire.Worker{next}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, oneBucket, engines(1)...)
			group := bucket.Group{Policy: m.policy()}
			picked := pick(t, m.Fleet, bucket.Plain(group))
			news(m)
			r := m.NewRequest()
			r.dispatch(0, nil, picked)
			require.Equal(t, []EffectKind{EffectRespond, EffectReceipt}, kinds(r.effects))
			code, message := refusal(t, r.effects)
			require.Equal(t, CodeBreakerOpen, code)
			require.Equal(t, "the chosen engine stopped taking requests; try again", message)
			require.False(t, r.charge.Held())
			require.Zero(t, m.inflight())
		})
	}
}

func TestDispatch_of_a_pair_is_a_fault(t *testing.T) {
	p, d := engine(0), engine(1)
	p.Stage, d.Stage = core.StagePrefill, core.StageDecode
	m := newMachine(t, oneBucket, p, d)
	group := bucket.Group{Policy: m.policy()}
	r := m.NewRequest()
	r.dispatch(0, nil, pick(t, m.Fleet, bucket.PD(group, group)))
	require.Equal(t, errPair, r.effects[0].Fault)
	code, _ := refusal(t, r.effects)
	require.Equal(t, CodeInternal, code)
	require.Zero(t, m.inflight(), "nothing is charged for half a dispatch")
}

// policy is the one of the machine's first bucket.
func (m *machine) policy() bucket.Policy {
	target, _ := m.Router.Route("m", m.Fleet)
	return target.Resolver.Buckets()[0].EngineGroups()[0].Policy()
}
