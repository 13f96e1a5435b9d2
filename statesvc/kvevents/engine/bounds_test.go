package engine_test

import (
	"runtime"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/stretchr/testify/require"
	"github.com/tinylib/msgp/msgp"
)

// zeros is a list of n small numbers.
func zeros(n int) []byte {
	return append(msgp.AppendArrayHeader(nil, uint32(n)), make([]byte, n)...)
}

// allocated measures how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestDecode_tenMillionTokensAreReadOver(t *testing.T) {
	payload := batchBytes(removed(), stored(pair{"token_ids", zeros(10_000_000)}), removed())
	var d engine.Decoder
	var b kvevents.Batch
	bytes := allocated(func() { require.NoError(t, d.Decode(payload, &b)) })
	require.Less(t, bytes, uint64(1<<20))
	require.Equal(t, kvevents.Drops{Tokens: 1}, b.Dropped)
	require.Len(t, b.Events, 3)
	require.Equal(t, []kvevents.Hash{1, 2}, b.Events[1].Hashes)
	require.True(t, b.Events[1].HasParent)
	require.Empty(t, b.Events[1].Tokens)
}

func TestDecode_pairsCountTwice(t *testing.T) {
	half := engine.MaxEventTokens / 2
	pairs := func(n int) []byte {
		return append(msgp.AppendArrayHeader(nil, uint32(n)), slices.Repeat([]byte{0x92, 0, 0}, n)...)
	}
	require.Equal(t, half, func() int { e := one(t, stored(pair{"token_ids", pairs(half)})); return e.Units() }())
	var d engine.Decoder
	var b kvevents.Batch
	require.NoError(t, d.Decode(batchBytes(stored(pair{"token_ids", pairs(half + 1)})), &b))
	require.Equal(t, kvevents.Drops{Tokens: 1}, b.Dropped)
}

func TestDecode_aBatchHasLimits(t *testing.T) {
	full := stored(pair{"token_ids", zeros(engine.MaxEventTokens)})
	share := engine.MaxBatchTokens / engine.MaxEventTokens
	hashes := removed(pair{"block_hashes", zeros(engine.MaxEventHashes)})
	hashShare := engine.MaxBatchHashes / engine.MaxEventHashes
	for what, c := range map[string]struct {
		events [][]byte
		kept   int
		drops  kvevents.Drops
	}{
		"tokens": {slices.Repeat([][]byte{full}, share+2), share + 2, kvevents.Drops{Tokens: 2}},
		"hashes": {slices.Repeat([][]byte{hashes}, hashShare+3), hashShare, kvevents.Drops{TooLarge: 3}},
		"events": {
			slices.Repeat([][]byte{arr(str("AllBlocksCleared"))}, engine.MaxBatchEvents+4),
			engine.MaxBatchEvents,
			kvevents.Drops{TooLarge: 4},
		},
		"bad ones do not count": {
			append(slices.Repeat([][]byte{stored(pair{"token_ids", zeros(engine.MaxEventTokens)}, pair{"medium", num(1)})}, share+2), full),
			1,
			kvevents.Drops{Malformed: uint32(share + 2)},
		},
	} {
		t.Run(what, func(t *testing.T) {
			var d engine.Decoder
			var b kvevents.Batch
			require.NoError(t, d.Decode(batchBytes(c.events...), &b))
			require.Len(t, b.Events, c.kept)
			require.Equal(t, c.drops, b.Dropped)
		})
	}
}

// TestDecode_allLimitsAtOnce reaches every limit in one batch. What is allocated in all
// bounds what is held.
func TestDecode_allLimitsAtOnce(t *testing.T) {
	content := append(msgp.AppendArrayHeader(nil, engine.MaxEventHashes), slices.Repeat([]byte{0x91, 5}, engine.MaxEventHashes)...)
	events := slices.Repeat([][]byte{stored(pair{"token_ids", zeros(engine.MaxEventTokens)})}, engine.MaxBatchTokens/engine.MaxEventTokens)
	events = append(events, slices.Repeat([][]byte{stored(pair{"block_hashes", zeros(engine.MaxEventHashes)},
		pair{"token_ids", arr()}, pair{"extra_keys", content})}, engine.MaxBatchHashes/engine.MaxEventHashes)...)
	events = append(events, slices.Repeat([][]byte{arr(str("AllBlocksCleared"))}, engine.MaxBatchEvents)...)
	payload := batchBytes(events...)
	var d engine.Decoder
	var b kvevents.Batch
	bytes := allocated(func() { require.NoError(t, d.Decode(payload, &b)) })
	require.Len(t, b.Events, engine.MaxBatchEvents)
	require.Less(t, bytes, uint64(256<<20))
}

// TestDecode_claimsAreNotBelieved has lists that claim to be longer than the payload.
func TestDecode_claimsAreNotBelieved(t *testing.T) {
	huge := raw(0xdd, 0x7f, 0xff, 0xff, 0xff)
	payloads := [][]byte{
		huge,
		batchBytes(huge),
		batchBytes(raw(0xdf, 0x7f, 0xff, 0xff, 0xff)),
		batchBytes(stored(pair{"token_ids", huge})),
		batchBytes(stored(pair{"block_hashes", huge})),
		batchBytes(stored(pair{"extra_keys", huge})),
		batchBytes(stored(pair{"cache_salt", raw(0xdb, 0x7f, 0xff, 0xff, 0xff)})),
		batchBytes(slices.Repeat(huge, 100_000)),
	}
	var d engine.Decoder
	var b kvevents.Batch
	for i, p := range payloads {
		bytes := allocated(func() {
			require.ErrorIs(t, d.Decode(p, &b), &engine.Error{Reason: engine.ReasonNotMsgpack}, "%d", i)
		})
		require.Less(t, bytes, uint64(1<<20))
	}
}

// TestDecode_costsNothingPerEvent states that a decoder that has seen a stream decodes it
// without allocating, names and digests included.
func TestDecode_costsNothingPerEvent(t *testing.T) {
	for _, file := range find(t,
		"vllm-0.32.0/main-bs16/frames.jsonl", "vllm-0.22.1/*/frames.jsonl", "sglang-*/radix/salt*.frames.jsonl",
		"sglang-*/radix/bigram.frames.jsonl") {
		var payloads [][]byte
		for _, m := range messages(t, file) {
			payloads = append(payloads, m.Frames[2])
		}
		payloads = append(payloads, batchBytes(
			stored(pair{"lora_id", num(12345)}), stored(pair{"lora_name", str("adapter-a")}),
			stored(pair{"extra_keys", arr(arr(arr(str("id"), num(1))), arr(bin(1, 2, 3)))})))
		var d engine.Decoder
		var b kvevents.Batch
		allocs := testing.AllocsPerRun(5, func() {
			for _, p := range payloads {
				if err := d.Decode(p, &b); err != nil {
					t.Error(err)
				}
			}
		})
		require.Zero(t, allocs, file)
	}
}
