package gauges_test

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/gauges"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// stage is a book with a fleet around it.
type stage struct {
	*gauges.Book
	lives map[core.WorkerID]*gauges.Life
	moved map[core.WorkerID]int
}

func newStage(limits gauges.Limits, workers ...core.WorkerID) *stage {
	s := &stage{Book: gauges.NewBook(limits), lives: map[core.WorkerID]*gauges.Life{}, moved: map[core.WorkerID]int{}}
	for _, id := range workers {
		s.begin(id, 1)
	}
	return s
}

func (s *stage) begin(id core.WorkerID, generation uint64) {
	s.lives[id] = &gauges.Life{Worker: id, Generation: generation}
}

func (s *stage) apply(now core.Instant, context, seq uint64, gs ...wire.WorkerGauge) (bool, error) {
	r := &wire.SyncRequest{Context: context, Seq: seq, Workers: gs}
	return s.Apply(now, r, func(id core.WorkerID) *gauges.Life { return s.lives[id] }, s.note)
}

func (s *stage) note(l *gauges.Life) { s.moved[l.Worker]++ }

func held(id core.WorkerID, generation uint64, inflight uint32) wire.WorkerGauge {
	return wire.WorkerGauge{ID: id, Generation: generation, Inflight: inflight}
}

var roomy = gauges.Limits{Contexts: 8, Gauges: 100, Expiry: 1500}

func TestBook_addsUpContexts(t *testing.T) {
	s := newStage(roomy, "a", "b")
	for context, inflight := range map[uint64]uint32{1: 3, 2: 4} {
		applied, err := s.apply(10, context, 1, held("a", 1, inflight))
		require.NoError(t, err)
		require.True(t, applied)
	}
	require.EqualValues(t, 7, s.lives["a"].Inflight())
	require.EqualValues(t, 3, s.Own(1, s.lives["a"]))
	_, err := s.apply(20, 1, 2, held("b", 1, 1))
	require.NoError(t, err)
	require.EqualValues(t, 4, s.lives["a"].Inflight(), "a worker left out has nothing in flight")
	require.EqualValues(t, 1, s.lives["b"].Inflight())
	require.Equal(t, 2, s.Gauges())
}

func TestBook_olderReportIsNotApplied(t *testing.T) {
	s := newStage(roomy, "a")
	_, err := s.apply(10, 1, 5, held("a", 1, 3))
	require.NoError(t, err)
	for _, seq := range []uint64{1, 4, 5} {
		applied, err := s.apply(20, 1, seq, held("a", 1, 9))
		require.NoError(t, err)
		require.False(t, applied)
	}
	require.EqualValues(t, 3, s.lives["a"].Inflight())
	s.Expire(1510, s.note)
	require.Zero(t, s.Contexts(), "a late report does not prolong a context's life")
}

func TestBook_expiresAfterTheLastReport(t *testing.T) {
	s := newStage(roomy, "a")
	for seq := range uint64(2) {
		_, err := s.apply(core.Instant(1000*seq), 1, seq+1, held("a", 1, 3))
		require.NoError(t, err)
	}
	at, ok := s.NextExpiry()
	require.True(t, ok)
	require.EqualValues(t, 2500, at)
	s.Expire(2499, s.note)
	require.Equal(t, 1, s.Contexts())
	s.Expire(2500, s.note)
	require.Zero(t, s.Contexts())
	require.Zero(t, s.lives["a"].Inflight())
	require.EqualValues(t, 1, s.Expired())
	_, ok = s.NextExpiry()
	require.False(t, ok)
}

func TestBook_ignoresOtherGenerationsAndUnknownWorkers(t *testing.T) {
	s := newStage(roomy, "a")
	_, err := s.apply(0, 1, 1, held("a", 2, 3), held("ghost", 1, 5))
	require.NoError(t, err)
	require.Zero(t, s.lives["a"].Inflight())
	require.Zero(t, s.Gauges(), "nothing is stored for them")
}

// A41, A50, A51: the table is emptied or the worker leaves and comes back while
// requests are in flight; what ends later never makes a total negative.
func TestBook_A41_A50_A51_totalsNeverFallBelowZero(t *testing.T) {
	s := newStage(roomy, "a")
	_, err := s.apply(0, 1, 1, held("a", 1, 5))
	require.NoError(t, err)
	s.begin("a", 2) // restarted
	_, err = s.apply(200, 1, 2, held("a", 1, 4))
	require.NoError(t, err)
	require.Zero(t, s.lives["a"].Inflight(), "late releases of the former life change nothing")
	_, err = s.apply(400, 1, 3, held("a", 2, 1))
	require.NoError(t, err)
	require.EqualValues(t, 1, s.lives["a"].Inflight())

	s.begin("a", 2) // left and came back in the same life
	_, err = s.apply(600, 1, 4, held("a", 2, 1))
	require.NoError(t, err)
	require.EqualValues(t, 1, s.lives["a"].Inflight(), "still in flight")
	_, err = s.apply(800, 1, 5)
	require.NoError(t, err)
	require.Zero(t, s.lives["a"].Inflight())
}

// A27: a mark that a worker is refused lapses with the report that made it.
func TestBook_A27_openBreakerMarkLapses(t *testing.T) {
	s := newStage(roomy, "a")
	open := wire.WorkerGauge{ID: "a", Generation: 1, BreakerOpen: true, BreakerStreak: 3}
	_, err := s.apply(0, 1, 1, open)
	require.NoError(t, err)
	_, err = s.apply(0, 2, 1, open)
	require.NoError(t, err)
	require.Equal(t, 2, s.lives["a"].OpenBreakers())
	_, err = s.apply(100, 1, 2)
	require.NoError(t, err)
	require.Equal(t, 1, s.lives["a"].OpenBreakers(), "by a healthy report")
	s.Expire(1500, s.note)
	require.Zero(t, s.lives["a"].OpenBreakers(), "by time")
}

func TestBook_refusesBeyondItsLimits(t *testing.T) {
	s := newStage(gauges.Limits{Contexts: 2, Gauges: 3, Expiry: 1500}, "a", "b")
	for context := uint64(1); context <= 2; context++ {
		_, err := s.apply(0, context, 1, held("a", 1, 1))
		require.NoError(t, err)
	}
	_, err := s.apply(0, 3, 1)
	require.ErrorIs(t, err, gauges.ErrTooManyContexts)
	_, err = s.apply(0, 1, 2, held("a", 1, 2), held("b", 1, 1))
	require.NoError(t, err)
	_, err = s.apply(0, 2, 2, held("a", 1, 2), held("b", 1, 1))
	require.ErrorIs(t, err, gauges.ErrTooManyGauges)
	require.EqualValues(t, 3, s.lives["a"].Inflight(), "a refused report changes nothing")
	_, err = s.apply(0, 2, 2, held("b", 1, 7), held("ghost", 1, 1))
	require.NoError(t, err, "the same number of gauges for other workers fits")
	require.Equal(t, 3, s.Gauges())
}

func TestLife_AnsweredWithin(t *testing.T) {
	s := newStage(roomy, "a")
	require.False(t, s.lives["a"].AnsweredWithin(0, 3000), "unknown is not an answer")
	g := wire.WorkerGauge{ID: "a", Generation: 1, AnsweredAge: core.Known(500)}
	_, err := s.apply(10_000, 1, 1, g)
	require.NoError(t, err)
	g.AnsweredAge = core.Known(5000)
	_, err = s.apply(10_000, 2, 1, g)
	require.NoError(t, err)
	require.True(t, s.lives["a"].AnsweredWithin(12_499, 3000))
	require.False(t, s.lives["a"].AnsweredWithin(12_500, 3000))
}

// F05: however many reports are lost, repeated or late, the totals are those of
// the last report of each live context.
func TestBook_F05_equalsTheSumOfLastReports(t *testing.T) {
	ids := []core.WorkerID{"a", "b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		s := newStage(gauges.Limits{Contexts: 5, Gauges: 1000, Expiry: 1500}, ids...)
		last := map[uint64]map[core.WorkerID]wire.WorkerGauge{}
		seqs, at := map[uint64]uint64{}, map[uint64]core.Instant{}
		now := core.Instant(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += core.Instant(rapid.IntRange(0, 600).Draw(t, "wait"))
			s.Expire(now, s.note)
			for context := range last {
				if now-at[context] >= 1500 {
					delete(last, context)
					delete(seqs, context)
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "restart") == 0 {
				id := rapid.SampledFrom(ids).Draw(t, "restarted")
				s.begin(id, s.lives[id].Generation+1)
			}
			context := rapid.Uint64Range(1, 4).Draw(t, "context")
			seq := rapid.Uint64Range(1, 20).Draw(t, "seq")
			report := map[core.WorkerID]wire.WorkerGauge{}
			var list []wire.WorkerGauge
			for _, id := range ids {
				if rapid.Bool().Draw(t, "says") {
					g := held(id, s.lives[id].Generation, uint32(rapid.IntRange(0, 5).Draw(t, "inflight")))
					report[id] = g
					list = append(list, g)
				}
			}
			applied, err := s.apply(now, context, seq, list...)
			if err != nil {
				t.Fatal(err)
			}
			if applied != (seq > seqs[context]) {
				t.Fatalf("seq %d after %d: applied %v", seq, seqs[context], applied)
			}
			if applied {
				last[context], seqs[context], at[context] = report, seq, now
			}
			for _, id := range ids {
				want := uint64(0)
				for _, report := range last {
					if g := report[id]; g.Generation == s.lives[id].Generation {
						want += uint64(g.Inflight)
					}
				}
				if got := s.lives[id].Inflight(); got != want {
					t.Fatalf("%s: %d in flight, want %d", id, got, want)
				}
			}
		}
	})
}
