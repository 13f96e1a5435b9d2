package bucket_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
)

// scripted is a policy by hand. Without a script it takes the first candidate.
type scripted struct {
	refuses core.Stage
	script  func([]*core.Worker, *core.PickRequest) (core.Pick, error)
	calls   []core.PickRequest
	offered [][]core.WorkerID
}

func (s *scripted) Name() string { return "scripted" }

func (s *scripted) Supports(stage core.Stage) error {
	if stage == s.refuses {
		return errors.New("scripted does not serve " + stage.String())
	}
	return nil
}

func (s *scripted) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	s.calls = append(s.calls, *req)
	var ids []core.WorkerID
	for _, w := range engines {
		ids = append(ids, w.ID)
	}
	s.offered = append(s.offered, ids)
	if s.script != nil {
		return s.script(engines, req)
	}
	return core.Pick{Worker: engines[0], Reason: core.ReasonRoundRobin}, nil
}

func fails(err error) *scripted {
	return &scripted{script: func([]*core.Worker, *core.PickRequest) (core.Pick, error) { return core.Pick{}, err }}
}

func group(p bucket.Policy, ids ...core.WorkerID) bucket.Group {
	if len(ids) == 0 {
		return bucket.Group{Policy: p}
	}
	return bucket.Group{Members: bucket.Only(ids...), Policy: p}
}

func mustNew(t testing.TB, spec bucket.Spec) *bucket.Bucket {
	t.Helper()
	b, err := bucket.New(spec)
	require.NoError(t, err)
	return b
}

func roundRobin(t testing.TB, limits admission.Limits, loads policy.LoadView) bucket.Policy {
	p, err := policy.NewRoundRobin(limits, loads, 0)
	require.NoError(t, err)
	return p
}

func capInflight(n uint64) admission.Limits { return admission.Limits{MaxInflightRequests: &n} }

// pdFleet has prefill engines p1, p2, decode engines d1, d2 and a plain one.
func pdFleet() *coretest.Fleet {
	return coretest.NewFleet(
		coretest.Worker("d2", core.StageDecode), coretest.Worker("p2", core.StagePrefill),
		coretest.Worker("plain", core.StagePlain),
		coretest.Worker("p1", core.StagePrefill), coretest.Worker("d1", core.StageDecode),
	)
}

func TestBucket_plain_pick(t *testing.T) {
	fleet := pdFleet()
	b := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(group(&scripted{}))})
	pick, err := b.Pick(fleet, coretest.Request(1))
	require.NoError(t, err)

	engine, isPlain := pick.Plain()
	require.True(t, isPlain)
	require.Same(t, fleet.Worker("plain"), engine.Worker)
	require.Equal(t, core.ReasonRoundRobin, engine.Reason)
	_, _, isPair := pick.Pair()
	require.False(t, isPair)
}

func TestBucket_pair_uses_both_memberships(t *testing.T) {
	fleet := pdFleet()
	prefill, decode := &scripted{}, &scripted{}
	b := mustNew(t, bucket.Spec{ID: "pd", Groups: bucket.PD(group(prefill, "p2", "d1"), group(decode, "d2", "p1"))})
	pick, err := b.Pick(fleet, coretest.Request(1))
	require.NoError(t, err)

	p, d, isPair := pick.Pair()
	require.True(t, isPair)
	require.Same(t, fleet.Worker("p2"), p.Worker, "d1 is a member but plays another role")
	require.Same(t, fleet.Worker("d2"), d.Worker)
	_, isPlain := pick.Plain()
	require.False(t, isPlain)
}

func TestSelection_candidates(t *testing.T) {
	fleet := pdFleet()
	require.Empty(t, bucket.Selection{}.Candidates())
	for want, groups := range map[string]bucket.Groups{
		"plain": bucket.Plain(group(&scripted{})),
		"p1 p2": bucket.PD(group(&scripted{}), group(&scripted{})),
		"p2":    bucket.PD(group(&scripted{}, "p2"), group(&scripted{})),
	} {
		pick, err := mustNew(t, bucket.Spec{ID: "b", Groups: groups}).Pick(fleet, coretest.Request(1))
		require.NoError(t, err)
		var ids []string
		for _, w := range pick.Candidates() {
			ids = append(ids, string(w.ID))
		}
		require.Equal(t, want, strings.Join(ids, " "))
	}
}

func TestBucket_request_facts_reach_each_policy_unchanged(t *testing.T) {
	prefill, decode := &scripted{}, &scripted{}
	b := mustNew(t, bucket.Spec{ID: "pd", Groups: bucket.PD(group(prefill), group(decode))})
	req := coretest.Request(1)
	req.Peak, req.SessionKey, req.RoutingKey, req.Now = core.Known(500), "s", "r", 77
	_, err := b.Pick(pdFleet(), req)
	require.NoError(t, err)
	require.Equal(t, []core.PickRequest{{BucketRequest: req, Stage: core.StagePrefill, Bucket: "pd"}}, prefill.calls)
	require.Equal(t, []core.PickRequest{{BucketRequest: req, Stage: core.StageDecode, Bucket: "pd"}}, decode.calls)
}

func TestBucket_failure_keeps_the_stage_it_happened_in(t *testing.T) {
	rejection := core.Rejection{Worker: "d1", Limit: "max_kv_tokens", Value: 9, Cap: 9}
	tests := map[string]struct {
		prefill, decode bucket.Group
		stage           core.Stage
		advance         bool
	}{
		"no prefill member": {group(&scripted{}, "none"), group(&scripted{}), core.StagePrefill, true},
		"no decode member":  {group(&scripted{}), group(&scripted{}, "none"), core.StageDecode, true},
		"decode rejected": {
			group(&scripted{}),
			group(fails(&core.AdmissionError{Bucket: "pd", Stage: core.StageDecode, Rejection: rejection})),
			core.StageDecode, true,
		},
		"prefill broken": {group(fails(&core.InvalidSignalError{Detail: "x"})), group(&scripted{}), core.StageNone, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := mustNew(t, bucket.Spec{ID: "pd", Groups: bucket.PD(tt.prefill, tt.decode)})
			pick, err := b.Pick(pdFleet(), coretest.Request(1))
			require.Equal(t, bucket.Selection{}, pick, "half a pair is discarded")
			require.Equal(t, tt.stage, core.StageOf(err))
			require.Equal(t, tt.advance, core.Advance(err))
			require.ErrorContains(t, err, `bucket "pd": `)
		})
	}
}

func TestNew_lists_every_problem(t *testing.T) {
	_, err := bucket.New(bucket.Spec{
		ID: " ", Min: new(core.Tokens(10)), Max: new(core.Tokens(5)), MaxContext: new(core.Tokens(0)),
		Groups: bucket.PD(group(nil, "a", "b", "a", "a", ""), group(&scripted{refuses: core.StageDecode})),
	})
	require.ErrorIs(t, err, core.ErrInvalid)
	require.EqualError(t, err, `invalid configuration: bucket " ": the id is blank
invalid configuration: bucket " ": min 10 is above max 5
invalid configuration: bucket " ": a max context of 0 takes no request; leave it out for no bound
invalid configuration: bucket " ": prefill: a worker id is blank
invalid configuration: bucket " ": prefill: worker id a is repeated
invalid configuration: bucket " ": prefill: the group has no policy
invalid configuration: bucket " ": decode: scripted does not serve decode`)

	_, err = bucket.New(bucket.Spec{ID: "b", Min: new(core.Tokens(10)), MaxContext: new(core.Tokens(9))})
	require.EqualError(t, err, `invalid configuration: bucket "b": min 10 is above max context 9
invalid configuration: bucket "b": no engine groups`)

	members := bucket.All().Behind("prod/x", "chat", "prod/x")
	_, err = bucket.New(bucket.Spec{ID: "b", Groups: bucket.Plain(bucket.Group{Members: members, Policy: &scripted{}})})
	require.EqualError(t, err, `invalid configuration: bucket "b": plain: "chat" is no service, as namespace/name
invalid configuration: bucket "b": plain: service prod/x is repeated`)
}

func TestBucket_says_what_it_is_made_of(t *testing.T) {
	prefill, decode := &scripted{}, &scripted{}
	b := mustNew(t, bucket.Spec{ID: "pd", Rank: 3, Groups: bucket.PD(group(prefill, "p1"), group(decode))})
	require.Equal(t, "pd", b.ID())
	require.Equal(t, uint32(3), b.Spec().Rank)
	groups := b.EngineGroups()
	require.Len(t, groups, 2)
	require.Equal(t, core.StagePrefill, groups[0].Stage())
	require.Equal(t, core.StageDecode, groups[1].Stage())
	require.Same(t, prefill, groups[0].Policy())
	require.Equal(t, bucket.Only("p1"), groups[0].Members())
	require.Equal(t, bucket.All(), groups[1].Members())
}

func TestBucket_bounded(t *testing.T) {
	n := new(core.Tokens(1))
	groups := bucket.Plain(group(&scripted{}))
	for spec, want := range map[*bucket.Spec]bool{
		{ID: "b"}: false, {ID: "b", Min: n}: true, {ID: "b", Max: n}: true, {ID: "b", MaxContext: n}: true,
	} {
		spec.Groups = groups
		require.Equal(t, want, mustNew(t, *spec).Bounded())
	}
}
