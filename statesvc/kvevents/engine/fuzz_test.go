package engine_test

import (
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/stretchr/testify/require"
	"github.com/tinylib/msgp/msgp"
)

// FuzzDecode starts from everything that was recorded.
func FuzzDecode(f *testing.F) {
	for _, file := range find(f, "vllm-0*/*/frames.jsonl", "sglang-*/radix/*.frames.jsonl") {
		for _, m := range messages(f, file) {
			f.Add([]byte(m.Frames[2]))
		}
	}
	for _, file := range find(f, "vllm-history/*.jsonl") {
		for _, line := range views(f, file) {
			payload, err := hex.DecodeString(line["payload_hex"].(string))
			require.NoError(f, err)
			f.Add(payload)
		}
	}
	for _, form := range shortForms(f) {
		f.Add(batchBytes(form))
	}
	f.Add(batchBytes(stored(pair{"extra_keys", arr(arr(str("s"), bin(1)), null())}), nested(100)))
	f.Fuzz(func(t *testing.T, payload []byte) {
		var used engine.Decoder
		var first, again kvevents.Batch
		err := used.Decode(payload, &first)
		if err != nil {
			require.ErrorAs(t, err, new(*engine.Error))
			require.Empty(t, first.Events)
			return
		}
		checkBatch(t, payload, &first)
		var fresh engine.Decoder
		require.NoError(t, fresh.Decode(payload, &again))
		want := plain(&again)
		require.NoError(t, used.Decode(payload, &again))
		require.Empty(t, cmp.Diff(want, plain(&again)), "a used decoder and a fresh one")
	})
}

// checkBatch states what holds of every batch that was decoded.
func checkBatch(t *testing.T, payload []byte, b *kvevents.Batch) {
	t.Helper()
	_, rest, err := msgp.ReadArrayHeaderBytes(payload)
	require.NoError(t, err)
	rest, err = msgp.Skip(rest)
	require.NoError(t, err)
	n, _, err := msgp.ReadArrayHeaderBytes(rest)
	require.NoError(t, err)
	drops := b.Dropped
	require.EqualValues(t, n, len(b.Events)+int(drops.Malformed+drops.UnknownKind+drops.TooLarge))
	for i := range b.Events {
		checkEvent(t, &b.Events[i])
	}
}

func checkEvent(t *testing.T, e *kvevents.Event) {
	t.Helper()
	require.LessOrEqual(t, len(e.Hashes), engine.MaxEventHashes)
	require.LessOrEqual(t, len(e.Tokens), engine.MaxEventTokens)
	if e.Extra != nil {
		require.Len(t, e.Extra, len(e.Hashes))
	}
	switch e.Kind {
	case kvevents.KindStored:
		if e.Units() > 0 && len(e.Hashes) > 0 {
			require.Positive(t, e.BlockSize)
			require.LessOrEqual(t, len(e.Hashes)*int(e.BlockSize), e.Units())
		}
		if e.Bigram {
			require.Zero(t, len(e.Tokens)%2)
		}
		require.True(t, e.Window == 0 || e.Scope == kvevents.ScopeWindow)
	case kvevents.KindRemoved:
		require.Empty(t, e.Tokens)
	case kvevents.KindCleared:
		require.Empty(t, e.Hashes)
	case kvevents.KindNone:
		t.Fatal("an event of no kind")
	}
}

// FuzzDecodeLoad starts from the recorded load reports.
func FuzzDecodeLoad(f *testing.F) {
	for _, file := range find(f, "sglang-*/radix/load.frames.jsonl") {
		for _, m := range messages(f, file) {
			f.Add([]byte(m.Frames[2]))
		}
	}
	f.Add(shortForms(f)["LoadStat_defaults"])
	f.Add(report(num(1), num(2), num(3), num(4), null(), null(), null(), null(), null(), null()))
	f.Fuzz(func(t *testing.T, payload []byte) {
		s, err := engine.DecodeLoad(payload)
		if err != nil {
			require.ErrorAs(t, err, new(*engine.Error))
			require.Equal(t, engine.LoadStat{}, s)
			return
		}
		require.True(t, s.HasNative || s.Native == engine.NativeLoad{})
	})
}

// FuzzFrames reads three and four frames of any bytes.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("kv"), seq5, []byte{1})
	f.Add([]byte{}, ended, []byte{})
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		m, err := engine.Live([][]byte{a, b, c})
		if err != nil {
			require.ErrorIs(t, err, &engine.Error{Reason: engine.ReasonSequenceFrame})
			return
		}
		require.GreaterOrEqual(t, m.Seq, engine.EndOfReplay)
		again, err := engine.Replayed([][]byte{nil, a, b, c})
		require.NoError(t, err)
		require.Equal(t, m, again)
	})
}
