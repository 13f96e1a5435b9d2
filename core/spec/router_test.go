package spec

import (
	"math/rand/v2"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/stretchr/testify/require"
)

// noLoad is a load view that knows nothing.
type noLoad struct{}

func (noLoad) Report(*core.Worker, core.Instant) (*core.LoadReport, bool) { return nil, false }
func (noLoad) Inflight(*core.Worker) uint64                               { return 0 }
func (noLoad) SinceReport(*core.Worker) uint64                            { return 0 }

// adapters maps adapter names to base models.
type adapters map[string]string

func (a adapters) Base(name string) (string, bool) {
	base, ok := a[name]
	return base, ok
}

func build(t *testing.T, doc string, h Handles) *Router {
	t.Helper()
	cfg, err := Decode([]byte(doc))
	require.NoError(t, err)
	if h.Load == nil {
		h.Load = noLoad{}
	}
	r, err := Build(Defaults(cfg), h)
	require.NoError(t, err)
	return r
}

const routes = `{"version":1,"state":{"cluster":"s"},"models":{
  "zeta":  {"aliases":["z","last"],"buckets":[{"id":"all","groups":{"plain":{"worker_ids":["w2","w1"],"policy":{"type":"round_robin"}}}}]},
  "alpha": {"buckets":[
    {"id":"long","rank":3,"max_context_tokens":100,"groups":{"plain":{"worker_ids":["w3","w1"],"policy":{"type":"power_of_two","choices":3,"admission":{"max_kv_tokens":5}}}}},
    {"id":"short","limits":{"min":1,"max":10},"groups":{"plain":{"policy":{"type":"random"}}}},
    {"id":"none","limits":{"min":50},"groups":{"plain":{"worker_ids":[],"policy":{"type":"random"}}}}
  ]}}}`

func TestRouter_route(t *testing.T) {
	r := build(t, routes, Handles{})
	fleet := adapters{"lora": "alpha", "lora-of-alias": "z", "lora-of-none": "other", "zeta": "alpha"}
	for asked, want := range map[string]Target{
		"alpha":         {Name: "alpha", Model: "alpha", Asked: "alpha", Resolver: r.directory.find("alpha").model.resolver},
		"zeta":          {Name: "zeta", Model: "zeta", Asked: "zeta", Resolver: r.directory.find("zeta").model.resolver}, // a model before an adapter of its name
		"z":             {Name: "z", Model: "zeta", Asked: "zeta", Resolver: r.directory.find("zeta").model.resolver},
		"last":          {Name: "last", Model: "zeta", Asked: "zeta", Resolver: r.directory.find("zeta").model.resolver},
		"lora":          {Name: "lora", Model: "alpha", Asked: "lora", Resolver: r.directory.find("alpha").model.resolver},
		"lora-of-alias": {Name: "lora-of-alias", Model: "zeta", Asked: "lora-of-alias", Resolver: r.directory.find("zeta").model.resolver},
	} {
		got, ok := r.Route(asked, fleet)
		require.True(t, ok, asked)
		require.Equal(t, want, got, asked)
		require.NotNil(t, got.Resolver)
	}
	for _, asked := range []string{"", "Alpha", "other", "lora-of-none", "alpha "} {
		_, ok := r.Route(asked, fleet)
		require.False(t, ok, asked)
	}
	_, ok := r.Route("lora", adapters{})
	require.False(t, ok)
}

func TestRouter_lists(t *testing.T) {
	r := build(t, routes, Handles{})
	require.Equal(t, []string{"alpha", "last", "z", "zeta"}, r.Names())
	require.Equal(t, []core.WorkerID{"w1", "w2", "w3"}, r.Members())
	_, one := r.Only()
	require.False(t, one)

	only, one := build(t, document("", ""), Handles{}).Only()
	require.True(t, one)
	require.Equal(t, "m", only)
}

func TestBuild_buckets(t *testing.T) {
	buckets := build(t, routes, Handles{}).directory.find("alpha").model.resolver.Buckets()
	require.Len(t, buckets, 3)
	short, long, none := buckets[0], buckets[1], buckets[2]
	require.Equal(t, []string{"short", "long", "none"}, []string{short.ID(), long.ID(), none.ID()})
	require.Equal(t, uint64(1), *short.Spec().Min)
	require.Equal(t, uint64(10), *short.Spec().Max)
	require.Equal(t, uint64(100), *long.Spec().MaxContext)
	require.Equal(t, uint32(3), long.Spec().Rank)

	require.Equal(t, bucket.All(), short.EngineGroups()[0].Members(), "no worker_ids is every engine")
	require.Equal(t, bucket.Only(), none.EngineGroups()[0].Members(), "an empty list is none")
	require.NotEqual(t, bucket.All(), bucket.Only())
	require.Equal(t, "power_of_two", long.EngineGroups()[0].Policy().Name())
}

func TestBuild_pairs(t *testing.T) {
	policy := &Policy{Type: PolicyRandom, Admission: &admission.Limits{}}
	cfg := &Config{Models: map[string]Model{"m": {Buckets: []Bucket{{ID: "b", Groups: Groups{PD: &PD{Prefill: &Group{Policy: policy}, Decode: &Group{Policy: policy}}}}}}}}
	r, err := Build(cfg, Handles{Load: noLoad{}})
	require.NoError(t, err)
	groups := r.directory.find("m").model.resolver.Buckets()[0].EngineGroups()
	require.Equal(t, core.StagePrefill, groups[0].Stage())
	require.Equal(t, core.StageDecode, groups[1].Stage())
}

func TestBuild_refuses_what_Validate_would(t *testing.T) {
	plain := func(p *Policy) Groups { return Groups{Plain: &Group{Policy: p}} }
	for want, b := range map[string]Bucket{
		`models.m: bucket "b": groups are incomplete`:                 {ID: "b"},
		`models.m: bucket "b": policy "magic" is not known`:           {ID: "b", Groups: plain(&Policy{Type: "magic"})},
		`models.m: bucket "b": the group has no policy`:               {ID: "b", Groups: plain(nil)},
		`models.m: invalid configuration: bucket "": the id is blank`: {Groups: plain(&Policy{Type: PolicyRandom})},
	} {
		_, err := Build(&Config{Models: map[string]Model{"m": {Buckets: []Bucket{b}}}}, Handles{Load: noLoad{}})
		require.EqualError(t, err, want)
	}
	_, err := Build(&Config{Models: map[string]Model{"m": {}}}, Handles{Load: noLoad{}})
	require.ErrorContains(t, err, "models.m: ")
}

// Two builds of one configuration with one seed rotate alike, whatever the order
// of maps; without a source every rotation starts at zero.
func TestBuild_is_deterministic(t *testing.T) {
	fleet := coretest.NewFleet(coretest.Workers(7)...)
	first := func(source *rand.Rand) (picked []core.WorkerID) {
		models := map[string]Model{}
		for _, name := range []string{coretest.Model, "a", "b", "c", "d", "e", "f"} {
			models[name] = Model{Buckets: []Bucket{{ID: "all", Groups: Groups{Plain: &Group{Policy: &Policy{Type: PolicyRoundRobin}}}}}}
		}
		r, err := Build(&Config{Models: models}, Handles{Load: noLoad{}, Offset: source})
		require.NoError(t, err)
		for _, name := range r.Names() {
			target, _ := r.Route(name, adapters{})
			pick, err := target.Resolver.Buckets()[0].Pick(fleet, coretest.Request(1))
			require.NoError(t, err)
			engine, _ := pick.Plain()
			picked = append(picked, engine.Worker.ID)
		}
		return picked
	}
	seeded := func() []core.WorkerID { return first(rand.New(rand.NewPCG(3, 4))) }
	want := seeded()
	require.Greater(t, len(unique(want)), 1, "rotations of one context do not start in step")
	for range 10 {
		require.Equal(t, want, seeded())
	}
	require.Equal(t, []core.WorkerID{"w0000"}, unique(first(nil)))
}

func unique(ids []core.WorkerID) (list []core.WorkerID) {
	seen := map[core.WorkerID]bool{}
	for _, id := range ids {
		if !seen[id] {
			list = append(list, id)
		}
		seen[id] = true
	}
	return list
}

func TestDefaults(t *testing.T) {
	cfg, err := Decode([]byte(document("", "")))
	require.NoError(t, err)
	c := Defaults(cfg)
	require.Equal(t, []string{"/v1/chat/completions", "/v1/completions"}, c.Paths)
	require.Equal(t, uint64(32<<20), *c.MaxBodyBytes)
	require.Equal(t, uint64(60_000), *c.BodyTimeoutMillis)
	require.Equal(t, []string{"reject", "override_host", "off"}, []string{c.OnNoState, c.EndpointMode, c.Receipts})
	require.Equal(t, "s", c.State.Authority)
	require.Equal(t, uint64(200), *c.State.SyncIntervalMillis)
	require.Equal(t, uint64(1000), *c.State.TimeoutMillis)
	require.Empty(t, cfg.State.Authority, "the input is not changed")
	require.Nil(t, cfg.MaxBodyBytes)

	five := uint64(5)
	c = Defaults(&Config{MaxBodyBytes: &five, OnNoState: OnNoStateHost, Paths: []string{"/v1/completions"}})
	require.Equal(t, five, *c.MaxBodyBytes)
	require.Equal(t, OnNoStateHost, c.OnNoState)
	require.Equal(t, []string{"/v1/completions"}, c.Paths)
	require.Nil(t, c.State)
}

func TestConfig_parts(t *testing.T) {
	cfg, err := Decode([]byte(`{"version":1,"breaker":{"threshold":5,"cool_down_ms":70},
		"workers":[{"address":"10.0.0.1:80","models":["m"]},{"id":"e2","address":"[::1]:80","models":["m","n"],"role":"plain"}],
		"models":{"m":{"buckets":[{"id":"b","groups":{"plain":{"policy":{"type":"random"}}}}]}}}`))
	require.NoError(t, err)
	require.Equal(t, breaker.Config{Threshold: 5, CoolDown: 70}, cfg.BreakerConfig())
	require.Equal(t, breaker.Config{}, (&Config{}).BreakerConfig())
	require.Equal(t, breaker.Config{}, (&Config{Breaker: &Breaker{}}).BreakerConfig())
	require.Equal(t, []core.Worker{
		{ID: "10.0.0.1:80", Address: "10.0.0.1:80", Models: []string{"m"}, Stage: core.StagePlain},
		{ID: "e2", Address: "[::1]:80", Models: []string{"m", "n"}, Stage: core.StagePlain},
	}, cfg.Static())
}
