package bucket_test

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/stretchr/testify/require"
)

// picky takes the first candidate that is not full, or the one it is told.
type picky struct {
	full   map[core.WorkerID]bool
	broken bool
	offers [][]core.WorkerID // candidates of each call
}

func (*picky) Name() string              { return "picky" }
func (*picky) Supports(core.Stage) error { return nil }

func (p *picky) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	var offer []core.WorkerID
	var refused []core.Rejection
	for _, w := range engines {
		offer = append(offer, w.ID)
	}
	p.offers = append(p.offers, offer)
	if p.broken {
		return core.Pick{}, &core.InvalidSignalError{Detail: "x"}
	}
	for _, w := range engines {
		if !p.full[w.ID] {
			return core.Pick{Worker: w, Reason: core.ReasonRandom}, nil
		}
		refused = append(refused, core.Rejection{Worker: w.ID})
	}
	return core.Pick{}, &core.NoAdmissibleError{Bucket: req.Bucket, Stage: req.Stage, Rejections: refused}
}

// versions makes a fleet of engines named by stage, number and version group:
// "p1a" prefills in group "a", "d2" decodes without a label.
func versions(ids ...core.WorkerID) *coretest.Fleet {
	var list []*core.Worker
	for _, id := range ids {
		w := coretest.Worker(id, core.StagePrefill)
		if id[0] == 'd' {
			w.Stage = core.StageDecode
		}
		w.Version = string(id[2:])
		list = append(list, w)
	}
	return coretest.NewFleet(list...)
}

func full(ids ...core.WorkerID) map[core.WorkerID]bool {
	m := map[core.WorkerID]bool{}
	for _, id := range ids {
		m[id] = true
	}
	return m
}

// Version groups as engine-selection.md 2.5 has them.
func TestPair_version_groups(t *testing.T) {
	type ids = []core.WorkerID
	for name, tt := range map[string]struct {
		fleet           ids
		prefill, decode picky
		want            [2]core.WorkerID // the pair; none on error
		stage           core.Stage       // of the error
		offers          [2][]ids
	}{
		"pairs within a group": {
			fleet: ids{"p1a", "p2b", "d1b", "d2a"}, want: [2]core.WorkerID{"p1a", "d2a"},
			offers: [2][]ids{{{"p1a", "p2b"}}, {{"d2a"}}},
		},
		"no label is a group": {
			fleet: ids{"p1", "p2a", "d1a", "d2"}, want: [2]core.WorkerID{"p1", "d2"},
			offers: [2][]ids{{{"p1", "p2a"}}, {{"d2"}}},
		},
		"prefill without a decode of its group is no candidate": {
			fleet: ids{"p1a", "p2b", "d1b"}, want: [2]core.WorkerID{"p2b", "d1b"},
			offers: [2][]ids{{{"p2b"}}, {{"d1b"}}},
		},
		"no group has both": {
			fleet: ids{"p1a", "d1b"}, stage: core.StageDecode,
		},
		"no decode at all":  {fleet: ids{"p1a"}, stage: core.StageDecode},
		"no prefill at all": {fleet: ids{"d1a"}, stage: core.StagePrefill},
		"nobody":            {stage: core.StagePrefill},
		"decode of the first group is full: the next group": {
			fleet: ids{"p1a", "p2a", "p3b", "d1a", "d2b"}, decode: picky{full: full("d1a")}, want: [2]core.WorkerID{"p3b", "d2b"},
			offers: [2][]ids{{{"p1a", "p2a", "p3b"}, {"p3b"}}, {{"d1a"}, {"d2b"}}},
		},
		"decode of every group is full": {
			fleet: ids{"p1a", "p2b", "d1a", "d2b"}, decode: picky{full: full("d1a", "d2b")}, stage: core.StageDecode,
			offers: [2][]ids{{{"p1a", "p2b"}, {"p2b"}}, {{"d1a"}, {"d2b"}}},
		},
		"prefill of the other group is full too": {
			fleet: ids{"p1a", "p2b", "d1a", "d2b"}, prefill: picky{full: full("p2b")}, decode: picky{full: full("d1a")}, stage: core.StagePrefill,
			offers: [2][]ids{{{"p1a", "p2b"}, {"p2b"}}, {{"d1a"}}},
		},
		"a broken decode policy is not tried again": {
			fleet: ids{"p1a", "p2b", "d1a", "d2b"}, decode: picky{broken: true},
			offers: [2][]ids{{{"p1a", "p2b"}}, {{"d1a"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := mustNew(t, bucket.Spec{ID: "pd", Groups: bucket.PD(bucket.Group{Policy: &tt.prefill}, bucket.Group{Policy: &tt.decode})})
			picked, err := b.Pick(versions(tt.fleet...), coretest.Request(1))
			prefill, decode, ok := picked.Pair()
			if tt.want[0] == "" {
				require.Error(t, err)
				require.False(t, ok)
				require.Equal(t, bucket.Selection{}, picked)
				require.Equal(t, tt.stage, core.StageOf(err))
			} else {
				require.NoError(t, err)
				require.Equal(t, tt.want, [2]core.WorkerID{prefill.Worker.ID, decode.Worker.ID})
				require.Equal(t, len(tt.offers[0]) > 1, picked.Moved())
			}
			require.Equal(t, tt.offers[0], tt.prefill.offers)
			require.Equal(t, tt.offers[1], tt.decode.offers)
		})
	}
}

// Candidates are left out by exclusion before version groups are formed.
func TestPair_version_groups_of_a_retry(t *testing.T) {
	fleet := versions("p1a", "p2b", "d1a", "d2b")
	b := mustNew(t, bucket.Spec{ID: "pd", Groups: bucket.PD(bucket.Group{Policy: &picky{}}, bucket.Group{Policy: &picky{}})})
	req := coretest.Request(1)
	req.Excluded = []*core.Worker{fleet.Worker("d1a")}
	picked, err := b.Pick(fleet, req)
	require.NoError(t, err)
	prefill, _, _ := picked.Pair()
	require.Equal(t, core.WorkerID("p2b"), prefill.Worker.ID)
}

func TestResume_picks_only_what_is_missing(t *testing.T) {
	fleet := versions("p1a", "p2a", "p3b", "d1a", "d2a", "d3b")
	for name, tt := range map[string]struct {
		drop          []core.Stage
		prefill       map[core.WorkerID]bool
		decode        map[core.WorkerID]bool
		want          [2]core.WorkerID
		picks, joined int
	}{
		"nothing":                     {nil, nil, nil, [2]core.WorkerID{"p1a", "d1a"}, 0, 0},
		"prefill":                     {[]core.Stage{core.StagePrefill}, full("p1a"), nil, [2]core.WorkerID{"p2a", "d1a"}, 1, 0},
		"decode":                      {[]core.Stage{core.StageDecode}, nil, full("d1a"), [2]core.WorkerID{"p1a", "d2a"}, 0, 1},
		"both":                        {[]core.Stage{core.StagePrefill, core.StageDecode}, full("p1a"), full("d1a"), [2]core.WorkerID{"p2a", "d2a"}, 1, 1},
		"prefill of another group":    {[]core.Stage{core.StagePrefill}, full("p1a", "p2a"), nil, [2]core.WorkerID{"p3b", "d3b"}, 1, 1},
		"decode of the group is full": {[]core.Stage{core.StageDecode}, nil, full("d1a", "d2a"), [2]core.WorkerID{"p3b", "d3b"}, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			prefill, decode := &picky{}, &picky{}
			b := mustNew(t, bucket.Spec{ID: "pd", Groups: bucket.PD(bucket.Group{Policy: prefill}, bucket.Group{Policy: decode})})
			picked, err := b.Pick(fleet, coretest.Request(1))
			require.NoError(t, err)
			require.True(t, picked.Whole())
			kept := picked.Kept(nil)
			for _, stage := range tt.drop {
				kept = kept.Without(stage)
				_, there := kept.Pick(stage)
				require.False(t, there)
				require.False(t, kept.Whole())
				_, _, isPair := kept.Pair()
				require.False(t, isPair)
				_, isPlain := kept.Plain()
				require.False(t, isPlain)
			}
			prefill.offers, decode.offers = nil, nil
			prefill.full, decode.full = tt.prefill, tt.decode
			picked, err = b.Resume(fleet, coretest.Request(1), kept)
			require.NoError(t, err)
			p, d, _ := picked.Pair()
			require.Equal(t, tt.want, [2]core.WorkerID{p.Worker.ID, d.Worker.ID})
			require.Len(t, prefill.offers, tt.picks)
			require.Len(t, decode.offers, tt.joined)
			require.Len(t, picked.Candidates(), map[bool]int{true: 1, false: 3}[picked.Moved()])
		})
	}
}

func TestResume_of_a_plain_selection(t *testing.T) {
	fleet := coretest.NewFleet(coretest.Workers(2)...)
	policy := &picky{}
	b := mustNew(t, bucket.Spec{ID: "b", Groups: bucket.Plain(bucket.Group{Policy: policy})})
	picked, err := b.Pick(fleet, coretest.Request(1))
	require.NoError(t, err)
	_, isPrefill := picked.Pick(core.StagePrefill)
	require.False(t, isPrefill)
	again, err := b.Resume(fleet, coretest.Request(1), picked)
	require.NoError(t, err)
	require.Equal(t, picked, again)
	require.Len(t, policy.offers, 1, "what is there is kept")
	again, err = b.Resume(fleet, coretest.Request(1), picked.Without(core.StagePlain))
	require.NoError(t, err)
	require.Equal(t, picked, again)
	require.Len(t, policy.offers, 2)
}

// A pick over two version groups allocates nothing after warm-up.
func TestPair_version_groups_do_not_allocate(t *testing.T) {
	fleet := versions("p1a", "p2b", "d1a", "d2b")
	first := firstOf{}
	b := mustNew(t, bucket.Spec{ID: "pd", Groups: bucket.PD(bucket.Group{Policy: first}, bucket.Group{Policy: first})})
	req := coretest.Request(1)
	pick := func() { _, _ = b.Pick(fleet, req) }
	pick()
	require.Zero(t, testing.AllocsPerRun(100, pick))
}

type firstOf struct{}

func (firstOf) Name() string              { return "first" }
func (firstOf) Supports(core.Stage) error { return nil }
func (firstOf) Pick(engines []*core.Worker, _ *core.PickRequest) (core.Pick, error) {
	return core.Pick{Worker: engines[0]}, nil
}
