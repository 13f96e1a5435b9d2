package board_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/board"
	"github.com/pointsman/pointsman/statesvc/gauges"
	"github.com/stretchr/testify/require"
)

const replica = 77

// stage is a board with a clock that the test turns.
type stage struct {
	*board.Board
	now core.Instant
}

func newStage() *stage {
	s := &stage{now: 10_000}
	s.Board = board.New(board.Options{
		Replica: replica, Clock: func() core.Instant { return s.now },
		Gauges:    gauges.Limits{Contexts: 4, Gauges: 1000, Expiry: 1500},
		Freshness: 5000, Tombstones: 2,
	})
	return s
}

func worker(id core.WorkerID, generation uint64) core.Worker {
	return core.Worker{
		ID: id, Address: "127.0.0.1:1", Models: []string{"m"}, Stage: core.StagePlain,
		Generation: generation, Healthy: true,
	}
}

func held(id core.WorkerID, generation uint64, inflight uint32) wire.WorkerGauge {
	return wire.WorkerGauge{ID: id, Generation: generation, Inflight: inflight}
}

func (s *stage) sync(t *testing.T, r wire.SyncRequest) *wire.SyncReply {
	t.Helper()
	reply, err := s.Sync(&r)
	require.NoError(t, err)
	require.Equal(t, r.Seq, reply.Seq)
	require.EqualValues(t, replica, reply.Replica)
	return reply
}

func ids(r *wire.SyncReply) (workers, states []core.WorkerID) {
	for i := range r.Workers {
		workers = append(workers, r.Workers[i].ID)
	}
	for i := range r.States {
		states = append(states, r.States[i].ID)
	}
	return workers, states
}

func TestBoard_firstReplyIsFullAndTheNextADelta(t *testing.T) {
	s := newStage()
	s.Describe(worker("b", 1), 0)
	s.Describe(worker("a", 1), 3)
	first := s.sync(t, wire.SyncRequest{Context: 1, Seq: 1})
	require.True(t, first.Full)
	workers, states := ids(first)
	require.Equal(t, []core.WorkerID{"a", "b"}, workers, "sorted")
	require.Equal(t, workers, states)
	require.EqualValues(t, 3, first.Workers[0].Recoveries)

	known := wire.SyncRequest{Context: 1, Seq: 2, Replica: replica, Version: first.Version}
	again := s.sync(t, known)
	require.False(t, again.Full)
	require.Empty(t, again.Workers)
	require.Empty(t, again.States)
	require.Equal(t, first.Version, again.Version)

	changed := worker("b", 1)
	changed.Draining = true
	s.Describe(changed, 0)
	s.Describe(worker("a", 1), 3) // unchanged
	known.Seq = 3
	workers, states = ids(s.sync(t, known))
	require.Equal(t, []core.WorkerID{"b"}, workers)
	require.Empty(t, states, "A05: a new descriptor of the same life changes no load")
}

func TestBoard_fullWhenTheKnownVersionIsNotOfItsPast(t *testing.T) {
	s := newStage()
	s.Describe(worker("a", 1), 0)
	version := s.sync(t, wire.SyncRequest{Context: 1, Seq: 1}).Version
	for name, r := range map[string]wire.SyncRequest{
		"another replica":     {Replica: replica + 1, Version: version},
		"no snapshot":         {},
		"version of tomorrow": {Replica: replica, Version: version + 1},
		"version zero":        {Replica: replica},
	} {
		t.Run(name, func(t *testing.T) {
			r.Context, r.Seq = 1, 2
			require.True(t, s.sync(t, r).Full)
		})
	}
}

func TestBoard_removedWorkersLeaveBoundedTombstones(t *testing.T) {
	s := newStage()
	for _, id := range []core.WorkerID{"a", "b", "c", "d"} {
		s.Describe(worker(id, 1), 0)
	}
	start := s.sync(t, wire.SyncRequest{Context: 1, Seq: 1}).Version
	s.Remove("a")
	s.Remove("ghost")
	s.Remove("b")
	s.Describe(worker("b", 1), 0)
	delta := s.sync(t, wire.SyncRequest{Context: 1, Seq: 2, Replica: replica, Version: start})
	require.False(t, delta.Full)
	require.Equal(t, []core.WorkerID{"a"}, delta.Removed, "b came back")
	workers, states := ids(delta)
	require.Equal(t, []core.WorkerID{"b"}, workers)
	require.Equal(t, workers, states)
	s.Remove("c")
	require.True(t, s.sync(t, wire.SyncRequest{Context: 1, Seq: 3, Replica: replica, Version: start}).Full,
		"the removal of a is forgotten by now")
	require.False(t, s.sync(t, wire.SyncRequest{Context: 1, Seq: 4, Replica: replica, Version: delta.Version}).Full)
}

func TestBoard_othersAreTheTotalWithoutOwn(t *testing.T) {
	s := newStage()
	s.Describe(worker("a", 1), 0)
	s.sync(t, wire.SyncRequest{Context: 1, Seq: 1, Workers: []wire.WorkerGauge{held("a", 1, 3)}})
	second := s.sync(t, wire.SyncRequest{Context: 2, Seq: 1, Workers: []wire.WorkerGauge{held("a", 1, 4)}})
	require.EqualValues(t, 3, second.States[0].OthersInflight)
	idle := s.sync(t, wire.SyncRequest{Context: 9, Seq: 1, Idle: true, Workers: []wire.WorkerGauge{held("a", 1, 100)}})
	require.EqualValues(t, 7, idle.States[0].OthersInflight)
	require.Equal(t, 2, s.Counts().Contexts, "an idle context is not kept")

	stale := s.sync(t, wire.SyncRequest{Context: 1, Seq: 1, Workers: []wire.WorkerGauge{held("a", 1, 50)}})
	require.EqualValues(t, 4, stale.States[0].OthersInflight, "answered by the last applied report")
	require.EqualValues(t, 1, s.Counts().Syncs.Stale)
}

func TestBoard_expiredContextChangesTheDeltaOfOthers(t *testing.T) {
	s := newStage()
	s.Describe(worker("a", 1), 0)
	s.sync(t, wire.SyncRequest{Context: 1, Seq: 1, Workers: []wire.WorkerGauge{held("a", 1, 3)}})
	s.now += 1000
	known := s.sync(t, wire.SyncRequest{Context: 2, Seq: 1}).Version
	s.now += 499
	require.Empty(t, s.sync(t, wire.SyncRequest{Context: 2, Seq: 2, Replica: replica, Version: known}).States)
	s.now++
	delta := s.sync(t, wire.SyncRequest{Context: 2, Seq: 3, Replica: replica, Version: known})
	require.Len(t, delta.States, 1)
	require.Zero(t, delta.States[0].OthersInflight)
	require.EqualValues(t, 1, s.Counts().ContextsExpired)
}

func TestBoard_reportsCarryAgesAndCeaseToBeSent(t *testing.T) {
	s := newStage()
	s.Describe(worker("a", 1), 0)
	s.Report("a", 1, core.LoadReport{Running: core.Known(0)}, s.now)
	s.now += 4000
	reply := s.sync(t, wire.SyncRequest{Context: 1, Seq: 1})
	require.True(t, reply.States[0].HasReport)
	require.EqualValues(t, 4000, reply.States[0].AgeMillis)
	require.Equal(t, core.Known(0), reply.States[0].Report.Running, "an observed zero is known")
	require.False(t, reply.States[0].Report.Waiting.Known)
	s.now += 1001
	reply = s.sync(t, wire.SyncRequest{Context: 1, Seq: 2, Replica: replica, Version: reply.Version})
	require.Len(t, reply.States, 1, "that it lapsed is a change")
	require.False(t, reply.States[0].HasReport)
}

func TestBoard_newGenerationStartsWithNothing(t *testing.T) {
	s := newStage()
	s.Describe(worker("a", 1), 0)
	s.Report("a", 1, core.LoadReport{Running: core.Known(9)}, s.now)
	s.sync(t, wire.SyncRequest{Context: 1, Seq: 1, Workers: []wire.WorkerGauge{held("a", 1, 3)}})
	s.Describe(worker("a", 2), 1)
	s.Report("a", 1, core.LoadReport{Running: core.Known(9)}, s.now) // too late
	reply := s.sync(t, wire.SyncRequest{Context: 2, Seq: 1})
	require.Empty(t, cmp.Diff([]wire.WorkerState{{ID: "a", Generation: 2}}, reply.States))
	reply = s.sync(t, wire.SyncRequest{Context: 1, Seq: 2, Workers: []wire.WorkerGauge{held("a", 1, 2)}})
	require.Zero(t, reply.States[0].OthersInflight)
	require.Zero(t, s.Workers()[0].Inflight)
}

func TestBoard_refusedReportIsCountedAndChangesNothing(t *testing.T) {
	s := newStage()
	s.Describe(worker("a", 1), 0)
	for context := uint64(1); context <= 4; context++ {
		s.sync(t, wire.SyncRequest{Context: context, Seq: 1})
	}
	version := s.Counts().Version
	_, err := s.Sync(&wire.SyncRequest{Context: 5, Seq: 1, Workers: []wire.WorkerGauge{held("a", 1, 1)}})
	require.ErrorIs(t, err, gauges.ErrTooManyContexts)
	require.Equal(t, version, s.Counts().Version)
	require.EqualValues(t, 1, s.Counts().Syncs.RefusedContexts)
}

func TestBoard_sweepSleepsUntilTheNextExpiry(t *testing.T) {
	s := newStage()
	require.EqualValues(t, 750, s.Sweep(750))
	s.Describe(worker("a", 1), 0)
	s.sync(t, wire.SyncRequest{Context: 1, Seq: 1})
	s.now += 1400
	require.EqualValues(t, 100, s.Sweep(750))
	s.now += 100
	require.EqualValues(t, 750, s.Sweep(750))
	require.Zero(t, s.Counts().Contexts)
}
