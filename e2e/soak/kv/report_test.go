package kv

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/stretchr/testify/require"
)

func TestReport_saysWhatIsBad(t *testing.T) {
	good := Report{Options: Options{Budget: 1 << 20}, Tally: Tally{Exact: 1}, MostBytes: 1 << 20}
	require.Empty(t, good.Problems())
	for says, spoil := range map[string]func(*Report){
		"its budget is":         func(r *Report) { r.MostBytes = 4 << 20 },
		"promised more":         func(r *Report) { r.Wrong = 1 },
		"were not decoded":      func(r *Report) { r.Undecoded = 1 },
		"the index still holds": func(r *Report) { r.End = kvindex.Stats{Nodes: 1} },
		"no lookup was judged":  func(r *Report) { r.Exact = 0 },
	} {
		r := good
		spoil(&r)
		require.Len(t, r.Problems(), 1)
		require.Contains(t, r.Problems()[0], says)
		var b strings.Builder
		require.NoError(t, r.Write(&b, "kvsoak"))
		require.Contains(t, b.String(), "**KV index: bad")
	}
}
