package history_test

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/history"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func run(hash uint64, n int) wire.Run {
	r := wire.Run{Worker: "w", Hashes: make([]uint64, n), Sizes: make([]uint16, n)}
	r.Hashes[0] = hash
	return r
}

func TestLog_is_bounded(t *testing.T) {
	l := history.New(7)
	for i := range uint64(10_000) {
		l.Exchange(1, &wire.History{Runs: []wire.Run{run(i, 100)}})
		require.LessOrEqual(t, l.Kept(), 1<<16)
	}
	require.Equal(t, uint64(1_000_000), l.Total())
	var got []wire.Run
	cursor, replies := wire.History{}, 0
	for {
		reply := l.Exchange(2, &wire.History{Log: cursor.Log, Cursor: cursor.Cursor})
		if len(reply.Runs) == 0 {
			break
		}
		require.LessOrEqual(t, len(reply.Runs), 40)
		got, cursor, replies = append(got, reply.Runs...), reply, replies+1
	}
	require.Len(t, got, 655, "the latest")
	require.Equal(t, uint64(9999), got[654].Hashes[0])
	require.Equal(t, 17, replies)
}

// A cursor of another log, or one that makes no sense, hurts nobody.
func TestLog_foreign_cursors(t *testing.T) {
	l := history.New(0)
	l.Exchange(1, &wire.History{Runs: []wire.Run{run(1, 1)}})
	require.Len(t, l.Exchange(2, &wire.History{Log: 99, Cursor: 1}).Runs, 1)
	reply := l.Exchange(2, &wire.History{Log: 1, Cursor: 1 << 63})
	require.Empty(t, reply.Runs)
	require.Equal(t, uint64(1), reply.Cursor)
}

// Whoever reports and asks in whatever order hears every run of the others once,
// in order.
func TestLog_everybody_hears_everything_once(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := history.New(7)
		heard, cursors, said := map[uint64][]uint64{}, map[uint64]wire.History{}, map[uint64][]uint64{}
		exchange := func(context uint64, runs ...wire.Run) {
			c := cursors[context]
			c.Runs = runs
			reply := l.Exchange(context, &c)
			for _, r := range reply.Runs {
				heard[context] = append(heard[context], r.Hashes[0])
			}
			cursors[context] = wire.History{Log: reply.Log, Cursor: reply.Cursor}
		}
		steps := rapid.IntRange(1, 40).Draw(t, "steps")
		for i := range steps {
			context := rapid.Uint64Range(1, 3).Draw(t, "context")
			var runs []wire.Run
			for range rapid.IntRange(0, 2).Draw(t, "runs") {
				runs = append(runs, run(uint64(i), 1))
				for other := range uint64(3) {
					if other+1 != context {
						said[other+1] = append(said[other+1], uint64(i))
					}
				}
			}
			exchange(context, runs...)
		}
		for context := range uint64(3) {
			exchange(context + 1)
			require.Equal(t, said[context+1], heard[context+1])
		}
	})
}

func TestLog_forgetsAnEngineThatLeft(t *testing.T) {
	l := history.New(7)
	sent := func(worker core.WorkerID, hash uint64) wire.Run {
		return wire.Run{Worker: worker, Hashes: []uint64{hash}, Sizes: []uint16{8}}
	}
	l.Exchange(1, &wire.History{Runs: []wire.Run{sent("a", 1), sent("b", 2), sent("a", 3)}})
	half := l.Exchange(2, &wire.History{})
	require.Len(t, half.Runs, 3)
	l.Forget("a")
	reply := l.Exchange(3, &wire.History{})
	require.Equal(t, []wire.Run{sent("b", 2)}, reply.Runs)
	require.Equal(t, half.Cursor, reply.Cursor, "numbers stay")
	l.Exchange(1, &wire.History{Log: 7, Cursor: reply.Cursor, Runs: []wire.Run{sent("a", 4)}})
	next := l.Exchange(2, &wire.History{Log: 7, Cursor: half.Cursor})
	require.Equal(t, []wire.Run{sent("a", 4)}, next.Runs)
}
