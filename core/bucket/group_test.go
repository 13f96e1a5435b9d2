package bucket_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/coretest"
)

// plainGroup is the group of a plain bucket.
func plainGroup(t testing.TB, g bucket.Group) *bucket.EngineGroup {
	return mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(g)}).EngineGroups()[0]
}

func plainFleet(ids ...core.WorkerID) *coretest.Fleet {
	fleet := coretest.NewFleet()
	for _, id := range ids {
		fleet.Add(coretest.Worker(id, core.StagePlain))
	}
	return fleet
}

func TestEngineGroup_isolates_candidates(t *testing.T) {
	fleet := plainFleet("b", "a", "c")
	fleet.Add(coretest.Worker("prefill", core.StagePrefill))
	sick, draining, other := coretest.Worker("sick", core.StagePlain), coretest.Worker("draining", core.StagePlain), coretest.Worker("other", core.StagePlain)
	sick.Healthy, draining.Draining, other.Models = false, true, []string{"another"}
	for _, w := range []*core.Worker{sick, draining, other} {
		fleet.Add(w)
	}
	tripped := coretest.Worker("tripped", core.StagePlain)
	fleet.Add(tripped)
	trip(fleet, tripped)

	tests := map[string]struct {
		members bucket.Members
		want    []core.WorkerID
	}{
		"all, in ID order":      {bucket.All(), []core.WorkerID{"a", "b", "c"}},
		"zero value is all":     {bucket.Members{}, []core.WorkerID{"a", "b", "c"}},
		"explicit set":          {bucket.Only("c", "nobody", "a", "sick", "prefill"), []core.WorkerID{"a", "c"}},
		"explicit empty set":    {bucket.Only(), nil},
		"set of strangers":      {bucket.Only("nobody"), nil},
		"only unavailable ones": {bucket.Only("sick", "draining", "tripped"), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &scripted{}
			g := plainGroup(t, bucket.Group{Members: tt.members, Policy: p})
			_, err := g.Pick(fleet, "b", coretest.Request(1))
			if tt.want == nil {
				require.Equal(t, &core.NoCandidatesError{Bucket: "b", Stage: core.StagePlain}, err)
				require.Empty(t, p.calls, "the policy is not asked")
				return
			}
			require.NoError(t, err)
			require.Equal(t, [][]core.WorkerID{tt.want}, p.offered)
		})
	}
}

// The name the client asked for decides, so an adapter goes where it is loaded.
func TestEngineGroup_follows_the_asked_name(t *testing.T) {
	fleet := plainFleet("a", "b")
	adapted := coretest.Worker("c", core.StagePlain)
	adapted.Adapters = []core.Adapter{{Name: "lora", Base: coretest.Model}}
	fleet.Add(adapted)
	p := &scripted{}
	g := plainGroup(t, group(p))
	for _, asked := range []string{"", "lora", coretest.Model, "lora"} {
		req := coretest.Request(1)
		req.Asked = asked
		_, err := g.Pick(fleet, "b", req)
		require.NoError(t, err)
	}
	require.Equal(t, [][]core.WorkerID{{"a", "b", "c"}, {"c"}, {"a", "b", "c"}, {"c"}}, p.offered)
	require.Equal(t, 2, fleet.Lookups(), "each name once per fleet version")
}

func TestEngineGroup_sees_fleet_changes(t *testing.T) {
	fleet := plainFleet("a")
	p := &scripted{}
	g := plainGroup(t, group(p))
	pick := func() { _, _ = g.Pick(fleet, "b", coretest.Request(1)) }
	pick()
	fleet.Add(coretest.Worker("0", core.StagePlain))
	pick()
	fleet.Remove("a")
	pick()
	require.Equal(t, [][]core.WorkerID{{"a"}, {"0", "a"}, {"0"}}, p.offered)
}

func TestEngineGroup_sees_availability_at_each_pick(t *testing.T) {
	fleet := plainFleet("a", "b")
	p := &scripted{}
	g := plainGroup(t, group(p))
	for _, now := range []core.Instant{0, 1, 40_000} {
		req := coretest.Request(1)
		req.Now = now
		_, err := g.Pick(fleet, "b", req)
		require.NoError(t, err)
		if now == 0 {
			trip(fleet, fleet.Worker("a"))
		}
	}
	require.Equal(t, [][]core.WorkerID{{"a", "b"}, {"b"}, {"a", "b"}}, p.offered)
	require.Equal(t, 1, fleet.Lookups())
}

// A registry that forgets to sort does not break cursor policies.
func TestEngineGroup_sorts_what_the_registry_did_not(t *testing.T) {
	workers := coretest.Workers(3)
	p := &scripted{}
	_, err := plainGroup(t, group(p)).Pick(unsorted{workers[2], workers[0], workers[1]}, "b", coretest.Request(1))
	require.NoError(t, err)
	require.Equal(t, []core.WorkerID{"w0000", "w0001", "w0002"}, p.offered[0])
}

type unsorted []*core.Worker

func (u unsorted) Version() uint64                           { return 1 }
func (u unsorted) Serving(string) []*core.Worker             { return u }
func (u unsorted) Available(*core.Worker, core.Instant) bool { return true }
func (u unsorted) Settled() bool                             { return true }
func (u unsorted) Drains(*core.Worker, core.Instant) bool    { return false }

// placements bind every group's key to one engine.
type placements core.WorkerID

func (p placements) Placed(bucket string, stage core.Stage) core.WorkerID {
	if bucket != "b" || stage != core.StagePlain {
		return ""
	}
	return core.WorkerID(p)
}

// A draining engine is a candidate for what is bound to it and for nothing else.
func TestEngineGroup_draining_engine_keeps_what_is_bound_to_it(t *testing.T) {
	for name, tt := range map[string]struct {
		placed   core.Placements
		sick     bool
		excluded bool
		want     []core.WorkerID
	}{
		"nothing known":    {nil, false, false, []core.WorkerID{"a", "c"}},
		"bound to another": {placements("a"), false, false, []core.WorkerID{"a", "c"}},
		"bound to it":      {placements("b"), false, false, []core.WorkerID{"a", "b", "c"}},
		"and it is down":   {placements("b"), true, false, []core.WorkerID{"a", "c"}},
		"and it failed":    {placements("b"), false, true, []core.WorkerID{"a", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			fleet, p := plainFleet("a", "b", "c"), &scripted{}
			w := *fleet.Worker("b")
			w.Draining, w.Healthy = true, !tt.sick
			fleet.Add(&w)
			req := coretest.Request(1)
			req.Placed = tt.placed
			if tt.excluded {
				req.Excluded = []*core.Worker{&w}
			}
			_, err := plainGroup(t, group(p)).Pick(fleet, "b", req)
			require.NoError(t, err)
			require.Equal(t, tt.want, p.offered[0])
		})
	}
}

func TestEngineGroup_refuses_a_foreign_pick(t *testing.T) {
	fleet := plainFleet("a", "b")
	twin := *fleet.Worker("a")
	tests := map[string]*core.Worker{
		"same ID, another object": &twin,
		"no engine at all":        nil,
		"member that is not live": coretest.Worker("gone", core.StagePlain),
	}
	for name, foreign := range tests {
		t.Run(name, func(t *testing.T) {
			p := &scripted{script: func([]*core.Worker, *core.PickRequest) (core.Pick, error) {
				return core.Pick{Worker: foreign}, nil
			}}
			_, err := plainGroup(t, group(p)).Pick(fleet, "b", coretest.Request(1))
			require.ErrorIs(t, err, core.ErrOutsideCandidates)
			require.False(t, core.Advance(err))
			require.EqualError(t, err, `bucket "b": plain: scripted: policy picked an engine outside its candidates`)
		})
	}
}

func TestEngineGroup_refuses_an_engine_that_became_unavailable(t *testing.T) {
	fleet := plainFleet("a", "b")
	former := fleet.Worker("b")
	trip(fleet, former)
	p := &scripted{script: func([]*core.Worker, *core.PickRequest) (core.Pick, error) { return core.Pick{Worker: former}, nil }}
	_, err := plainGroup(t, group(p)).Pick(fleet, "b", coretest.Request(1))
	require.ErrorIs(t, err, core.ErrOutsideCandidates)
}

// Names no engine serves, and more names than are remembered, still answer right.
func TestEngineGroup_many_names(t *testing.T) {
	fleet := plainFleet("a")
	const names = 200
	loaded := coretest.Worker("b", core.StagePlain)
	for i := range names {
		loaded.Adapters = append(loaded.Adapters, core.Adapter{Name: fmt.Sprint("lora-", i), Base: coretest.Model})
	}
	fleet.Add(loaded)
	p := &scripted{}
	g := plainGroup(t, group(p))
	req := coretest.Request(1)
	for range 3 {
		for i := range names {
			req.Asked = fmt.Sprint("lora-", i)
			_, err := g.Pick(fleet, "b", req)
			require.NoError(t, err)
			req.Asked = fmt.Sprint("unknown-", i)
			_, err = g.Pick(fleet, "b", req)
			require.ErrorIs(t, err, core.ErrUnavailable)
		}
	}
	for _, offered := range p.offered {
		require.Equal(t, []core.WorkerID{"b"}, offered)
	}
}

// What clients ask for does not push out what engines serve.
func TestEngineGroup_forgets_names_that_nobody_serves(t *testing.T) {
	fleet := plainFleet("a")
	g := plainGroup(t, group(&scripted{}))
	_, err := g.Pick(fleet, "b", coretest.Request(1))
	require.NoError(t, err)
	for i := range 1000 {
		req := coretest.Request(1)
		req.Asked = fmt.Sprint("unknown-", i)
		_, err = g.Pick(fleet, "b", req)
		require.ErrorIs(t, err, core.ErrUnavailable)
	}
	before := fleet.Lookups()
	_, err = g.Pick(fleet, "b", coretest.Request(1))
	require.NoError(t, err)
	require.Equal(t, before, fleet.Lookups())
}

func TestMembers_contains(t *testing.T) {
	x := coretest.Worker("x", core.StagePlain)
	x.Services = []string{"prod/chat", "prod/batch"}
	for _, tt := range []struct {
		members bucket.Members
		want    bool
	}{
		{bucket.All(), true},
		{bucket.Only(), false},
		{bucket.Only("z", "x", "y"), true},
		{bucket.Only("z", "y"), false},
		{bucket.All().Behind(), false},
		{bucket.All().Behind("prod/other", "prod/batch"), true},
		{bucket.All().Behind("prod/other"), false},
		{bucket.All().Behind("batch"), false},
		{bucket.Only("x").Behind("prod/chat"), true},
		{bucket.Only("y").Behind("prod/chat"), false},
		{bucket.Only("x").Behind("prod/other"), false},
	} {
		require.Equal(t, tt.want, tt.members.Contains(x), "%+v", tt.members)
	}
	require.True(t, bucket.All().Contains(coretest.Worker("y", core.StagePlain)))
	require.False(t, bucket.All().Behind("prod/chat").Contains(coretest.Worker("y", core.StagePlain)), "behind nothing")
}

func TestEngineGroup_leaves_out_the_excluded(t *testing.T) {
	fleet := plainFleet("a", "b", "c")
	p := &scripted{}
	g := plainGroup(t, bucket.Group{Policy: p})
	req := coretest.Request(1)
	req.Excluded = fleet.Serving(req.Model)[:2]
	picked, err := g.Pick(fleet, "b", req)
	require.NoError(t, err)
	require.EqualValues(t, "c", picked.Worker.ID)
	req.Excluded = fleet.Serving(req.Model)
	_, err = g.Pick(fleet, "b", req)
	require.Equal(t, &core.NoCandidatesError{Bucket: "b", Stage: core.StagePlain}, err)
}
