package engine_test

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvevents/recorded"
	"github.com/stretchr/testify/require"
)

func TestDecode_recordedStreamsAreTheirDecodedView(t *testing.T) {
	for _, file := range find(t, "vllm-0*/*/frames.jsonl", "sglang-*/radix/*.frames.jsonl") {
		if strings.HasSuffix(file, "load.frames.jsonl") {
			continue
		}
		t.Run(strings.TrimPrefix(file, recordings), func(t *testing.T) {
			stream := messages(t, file)
			decoded := views(t, strings.Replace(file, "frames.jsonl", "decoded.jsonl", 1))
			require.Len(t, stream, len(decoded))
			var d engine.Decoder
			var batch kvevents.Batch
			for i, m := range stream {
				got, err := engine.Live(m.Raw())
				require.NoError(t, err)
				require.Equal(t, decoded[i]["topic"], string(got.Topic))
				require.EqualValues(t, uint32Of(t, decoded[i]["seq"]), got.Seq)
				require.NoError(t, d.Decode(got.Payload, &batch))
				require.Empty(t, cmp.Diff(batchOf(t, decoded[i]["payload"]), plain(&batch)), "message %d", i)
			}
		})
	}
}

// since is the first release, by its place among the recorded ones, that sends a field.
var since = []struct {
	release string
	forget  func(*kvevents.Event)
}{
	{"0.10.2", func(e *kvevents.Event) { e.Tier = kvevents.TierNone }},
	{"0.14.1", func(e *kvevents.Event) {
		if e.LoRA != "" {
			e.LoRA = engine.LoRAByNumber + "3"
		}
	}},
	{"0.18.1", func(e *kvevents.Event) { e.Salt, e.Extra = "", nil }},
	{"0.20.2", func(e *kvevents.Event) { e.Group = 0 }},
	{"0.22.1", func(e *kvevents.Event) { e.Scope, e.Window = kvevents.ScopeUnsaid, 0 }},
	{"0.26.0", func(e *kvevents.Event) { e.Remote = false }},
}

var releases = []string{
	"0.9.2", "0.10.2", "0.14.1", "0.18.1", "0.20.2", "0.22.1", "0.23.0", "0.24.0", "0.26.0", "0.29.0", "0.32.0",
}

func historyOf(t *testing.T, release string) (names []string, batches map[string]kvevents.Batch) {
	t.Helper()
	batches = map[string]kvevents.Batch{}
	var d engine.Decoder
	var b kvevents.Batch
	for _, line := range views(t, filepath.Join(recordings, "vllm-history", "events-"+release+".jsonl")) {
		payload, err := hex.DecodeString(line["payload_hex"].(string))
		require.NoError(t, err)
		require.NoError(t, d.Decode(payload, &b))
		got := plain(&b)
		require.Empty(t, cmp.Diff(batchOf(t, line["decoded"]), got), line["case"])
		name := line["case"].(string)
		if rank, ok := line["data_parallel_rank"].(json.Number); ok {
			name += " rank " + rank.String()
		}
		names, batches[name] = append(names, name), got
	}
	return names, batches
}

func TestDecode_elevenReleasesMeanTheSame(t *testing.T) {
	require.Len(t, find(t, "vllm-history/*.jsonl"), len(releases))
	_, newest := historyOf(t, releases[len(releases)-1])
	for at, release := range releases {
		t.Run(release, func(t *testing.T) {
			names, batches := historyOf(t, release)
			require.Len(t, names, len(newest))
			for _, name := range names {
				want, shared := newest[name]
				if !shared {
					require.Equal(t, "0.9.2", release, name) // negative hashes in the place of digests
					continue
				}
				events := append([]kvevents.Event(nil), want.Events...)
				for _, s := range since {
					for i := range events {
						if at < place(s.release) && events[i].Kind != kvevents.KindCleared {
							s.forget(&events[i])
						}
					}
				}
				want.Events = nil
				want.Events = append(want.Events, events...)
				require.Empty(t, cmp.Diff(want, batches[name]), name)
			}
		})
	}
}

func place(release string) int {
	for i, r := range releases {
		if r == release {
			return i
		}
	}
	return -1
}

func TestDecode_shortForms(t *testing.T) {
	forms := shortForms(t)
	var d engine.Decoder
	var b kvevents.Batch
	require.NoError(t, d.Decode(forms["KVEventBatch_no_rank"], &b))
	require.Equal(t, kvevents.Batch{Time: 1.5, Events: []kvevents.Event{{Kind: kvevents.KindCleared}}}, b)
	require.NoError(t, d.Decode(forms["KVEventBatch_rank_0"], &b))
	require.Equal(t, kvevents.Batch{Time: 1.5, RankKnown: true, Events: []kvevents.Event{{Kind: kvevents.KindCleared}}}, b)

	minus5 := ^kvevents.Hash(4)
	require.NoError(t, d.Decode(batchBytes(forms["BlockStored_minimal"], forms["BlockRemoved_minimal"]), &b))
	require.Equal(t, []kvevents.Event{
		{Kind: kvevents.KindStored, Hashes: []kvevents.Hash{minus5}, Tokens: []uint32{1}, BlockSize: 1},
		{Kind: kvevents.KindRemoved, Hashes: []kvevents.Hash{minus5}},
	}, b.Events)

	s, err := engine.DecodeLoad(forms["LoadStat_defaults"])
	require.NoError(t, err)
	require.Equal(t, engine.LoadStat{Running: 1, Waiting: 2, KVUsed: 3, KVCapacity: 4, HasNative: true}, s)
}

func shortForms(t testing.TB) map[string][]byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(recordings, "sglang-0.5.23/radix/short_forms.json"))
	require.NoError(t, err)
	var forms map[string]recorded.Frame
	require.NoError(t, json.Unmarshal(b, &forms))
	out := map[string][]byte{}
	for name, f := range forms {
		out[name] = f
	}
	return out
}

// TestReplayed_recordedReplaysEndWithTheirMarker reads both forms of replies.
func TestReplayed_recordedReplaysEndWithTheirMarker(t *testing.T) {
	seen := 0
	for _, file := range find(t, "vllm-0*/*/replay.jsonl") {
		f, err := os.Open(file)
		require.NoError(t, err)
		for r, err := range recorded.Replays(f) {
			require.NoError(t, err)
			require.Equal(t, r.Total, len(r.Replies)+r.Omitted)
			checkReplay(t, r)
			seen++
		}
		require.NoError(t, f.Close())
	}
	for _, file := range find(t, "sglang-*/radix/*.replay.json") {
		f, err := os.Open(file)
		require.NoError(t, err)
		r, err := recorded.ReplayOf(f)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		r.FinishedBy = "end-marker"
		checkReplay(t, r)
		seen++
	}
	require.Greater(t, seen, 20)
}

func checkReplay(t *testing.T, r recorded.Replay) {
	t.Helper()
	var d engine.Decoder
	var b kvevents.Batch
	next := int64(-1)
	for i, frames := range r.Replies {
		m, err := engine.Replayed(frames)
		require.NoError(t, err)
		if m.Seq == engine.EndOfReplay {
			require.Equal(t, "end-marker", r.FinishedBy)
			require.Equal(t, len(r.Replies)-1, i)
			return
		}
		if i > 0 && (r.Omitted == 0 || i != r.OmittedAfter) {
			require.Equal(t, next, m.Seq)
		}
		next = m.Seq + 1
		require.NoError(t, d.Decode(m.Payload, &b))
		require.False(t, b.Dropped.Any())
	}
	require.Equal(t, "timeout", r.FinishedBy)
}
