package engine

import (
	"strconv"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/stretchr/testify/require"
)

func TestDecoder_letsGoOfLargeBuffers(t *testing.T) {
	d := Decoder{
		tokens: make([]uint32, 0, MaxBatchTokens),
		hashes: make([]kvevents.Hash, 0, MaxBatchHashes),
		extra:  make([]uint64, 0, MaxBatchHashes),
	}
	b := kvevents.Batch{Events: make([]kvevents.Event, 0, MaxBatchEvents)}
	require.Error(t, d.Decode(nil, &b))
	require.LessOrEqual(t, cap(d.tokens), keptTokens)
	require.LessOrEqual(t, cap(d.hashes), keptHashes)
	require.LessOrEqual(t, cap(d.extra), keptHashes)
	require.LessOrEqual(t, cap(b.Events), keptEvents)
}

func TestNames_areBounded(t *testing.T) {
	var n names
	for i := range 20_000 {
		name := strconv.Itoa(1e6 + i)
		require.Equal(t, name, n.get([]byte(name)))
	}
	held := 0
	for name := range n.known {
		held += len(name)
	}
	require.Equal(t, n.bytes, held)
	require.LessOrEqual(t, held, maxNamesBytes)
}
