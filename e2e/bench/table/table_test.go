package table_test

import (
	"math"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/bench/table"
	"github.com/stretchr/testify/require"
)

func TestSeries_compares_within_rounds(t *testing.T) {
	a, b := table.Series{2, 6, 30}, table.Series{1, 2, 10}
	require.Equal(t, table.Series{2, 3, 3}, a.Over(b))
	require.Equal(t, table.Series{1, 4, 20}, a.Minus(b))
	require.InDelta(t, 6, a.Median(), 0)
	require.InDelta(t, 4, table.Series{2, 6}.Median(), 0)
	require.Equal(t, "6.0 (4.0 to 18.0)", a.Text(1))
	require.Equal(t, "-", table.Series(nil).Text(1))
	require.True(t, math.IsNaN(table.Series(nil).Median()))
}

func TestTable_is_Markdown(t *testing.T) {
	tab := table.Table{Title: "T", Command: "make x", Target: "1.6", Columns: []string{"a", "long name"}, Notes: []string{"Note."}}
	tab.Row("value", "1")
	var b strings.Builder
	require.NoError(t, tab.Write(&b))
	require.Equal(t, "### T\n\n`make x`\n\nTarget (design section 9): 1.6\n\n"+
		"| a     | long name |\n| ----- | --------- |\n| value | 1         |\n\nNote.\n\n", b.String())
}
