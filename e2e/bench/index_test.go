package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadBenchmarks(t *testing.T) {
	got := readBenchmarks(`goos: linux
BenchmarkIndex_ingest/resident=10000-2   18542   64962 ns/op   1.365 Mremoved/s   3.631 Mstored/s
BenchmarkIndex_ingest/resident=10000-2   18542   64964 ns/op   1.4 Mremoved/s   3.7 Mstored/s
BenchmarkIndex_bytes   1   9 ns/op   85.49 B/block
PASS
`)
	require.Len(t, got, 5)
	require.InDelta(t, 3.6655, got["Index_ingest/resident=10000 Mstored/s"].Median(), 1e-9)
	require.InDelta(t, 85.49, got["Index_bytes B/block"].Median(), 1e-9)
}
