package bucket_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/coretest"
)

// calm is a fleet that says whether it is settled, and counts how often it is
// asked about an engine.
type calm struct {
	*coretest.Fleet
	settled bool
	asked   int
}

func (c *calm) Settled() bool { return c.settled }

func (c *calm) Available(w *core.Worker, now core.Instant) bool {
	c.asked++
	return c.Fleet.Available(w, now)
}

func TestEngineGroup_remembers_who_is_available_in_a_settled_fleet(t *testing.T) {
	fleet := &calm{Fleet: plainFleet("a", "b", "c"), settled: true}
	sick := coretest.Worker("sick", core.StagePlain)
	sick.Healthy = false
	fleet.Add(sick)
	p := &scripted{}
	g := plainGroup(t, group(p))
	pick := func(excluded ...*core.Worker) {
		t.Helper()
		req := coretest.Request(1)
		req.Excluded = excluded
		_, err := g.Pick(fleet, "b", req)
		require.NoError(t, err)
	}

	pick()
	pick(fleet.Worker("b"))
	pick()
	require.Equal(t, 4, fleet.asked, "once for each engine")

	fleet.settled = false
	trip(fleet.Fleet, fleet.Worker("a"))
	pick()
	pick(fleet.Worker("b"))
	require.Equal(t, 12, fleet.asked)

	fleet.settled = true // as it would be with the breaker closed again
	pick()
	require.Equal(t, 12, fleet.asked)

	fleet.Add(coretest.Worker("d", core.StagePlain))
	fleet.settled = false
	pick()
	require.Equal(t, [][]core.WorkerID{
		{"a", "b", "c"},
		{"a", "c"},
		{"a", "b", "c"},
		{"b", "c"},
		{"c"},
		{"a", "b", "c"},
		{"b", "c", "d"},
	}, p.offered)
}

// What a pair leaves out for one request is there again for the next.
func TestPair_keeps_what_is_remembered(t *testing.T) {
	fleet := &calm{Fleet: coretest.NewFleet(), settled: true}
	for _, w := range []struct {
		id, version string
		stage       core.Stage
	}{{"d1", "1", core.StageDecode}, {"d2", "2", core.StageDecode}, {"p1", "1", core.StagePrefill}, {"p2", "2", core.StagePrefill}, {"p3", "3", core.StagePrefill}} {
		worker := coretest.Worker(core.WorkerID(w.id), w.stage)
		worker.Version = w.version
		fleet.Add(worker)
	}
	prefill := &scripted{}
	full := &scripted{script: func(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
		if engines[0].Version == "1" {
			return core.Pick{}, &core.AdmissionError{Bucket: req.Bucket, Stage: req.Stage}
		}
		return core.Pick{Worker: engines[0]}, nil
	}}
	b := mustNew(t, bucket.Spec{ID: "pd", Groups: bucket.PD(group(prefill), group(full))})
	for range 2 {
		selection, err := b.Pick(fleet, coretest.Request(1))
		require.NoError(t, err)
		first, second, _ := selection.Pair()
		require.EqualValues(t, "p2", first.Worker.ID)
		require.EqualValues(t, "d2", second.Worker.ID)
	}
	require.Equal(t, [][]core.WorkerID{{"p1", "p2"}, {"p2"}, {"p1", "p2"}, {"p2"}}, prefill.offered)
	require.Equal(t, 5, fleet.asked)
}
