package loadtable_test

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/loadtable"
	"github.com/stretchr/testify/require"
)

func reading(at core.Instant, running uint64) loadtable.Reading {
	return loadtable.Reading{Report: core.LoadReport{Running: core.Known(running)}, At: at}
}

func TestTable_readingIsFreshUntilItsEnd(t *testing.T) {
	table := loadtable.New(5000)
	require.True(t, table.Put("a", reading(100, 1)))
	for now, fresh := range map[core.Instant]bool{100: true, 5100: true, 5101: false} {
		_, ok := table.Get("a", now)
		require.Equal(t, fresh, ok, "at %d", now)
	}
	_, ok := table.Get("b", 100)
	require.False(t, ok)
}

func TestTable_keepsTheNewestReading(t *testing.T) {
	table := loadtable.New(5000)
	require.True(t, table.Put("a", reading(200, 2)))
	require.False(t, table.Put("a", reading(100, 1)))
	r, _ := table.Get("a", 300)
	require.Equal(t, core.Known(2), r.Report.Running)
}

func TestTable_lapsesInOrder(t *testing.T) {
	table := loadtable.New(1000)
	table.Put("late", reading(300, 1))
	table.Put("early", reading(100, 1))
	table.Put("middle", reading(200, 1))
	table.Put("early", reading(250, 1))
	at, ok := table.NextLapse()
	require.True(t, ok)
	require.EqualValues(t, 1201, at)
	var lapsed []core.WorkerID
	table.Lapse(1251, func(id core.WorkerID) { lapsed = append(lapsed, id) })
	require.Equal(t, []core.WorkerID{"middle", "early"}, lapsed)
	table.Drop("late")
	_, ok = table.NextLapse()
	require.False(t, ok)
}
