package wire

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pointsman/pointsman/core"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// The writer of this file follows pointsman.proto and nothing else.

func number(b []byte, num protowire.Number, v uint64) []byte { return appendKnown(b, num, v) }

func body(b []byte, num protowire.Number, raw []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), raw)
}

func writeReply(r *SyncReply) (b []byte) {
	b = appendFixed(b, 1, r.Replica)
	b = number(b, 2, r.Version)
	b = appendBool(b, 3, r.Full)
	b = number(b, 4, r.Seq)
	for i := range r.Workers {
		b = body(b, 5, writeWorker(&r.Workers[i]))
	}
	for _, id := range r.Removed {
		b = body(b, 6, []byte(id))
	}
	for i := range r.States {
		b = body(b, 7, writeState(&r.States[i]))
	}
	if r.History.Present {
		b = body(b, 8, appendHistory(nil, &r.History))
	}
	return b
}

func writeWorker(w *Worker) (b []byte) {
	b = body(b, 1, []byte(w.ID))
	b = body(b, 2, []byte(w.Address))
	for _, m := range w.Models {
		b = body(b, 3, []byte(m))
	}
	for _, a := range w.Adapters {
		b = body(b, 4, body(body(nil, 1, []byte(a.Name)), 2, []byte(a.Base)))
	}
	b = number(b, 5, uint64(w.Stage))
	b = number(b, 6, w.Generation)
	b = appendBool(b, 7, w.Healthy)
	b = appendBool(b, 8, w.Draining)
	b = number(b, 9, w.Recoveries)
	b = body(b, 10, []byte(w.Version))
	b = appendBool(b, 11, w.Aborts)
	b = appendUint(b, 14, uint64(w.Ranks))
	b = appendBool(b, 15, w.InputIDs)
	for _, s := range w.Services {
		b = body(b, 12, []byte(s))
	}
	return b
}

func writeState(s *WorkerState) (b []byte) {
	b = body(b, 1, []byte(s.ID))
	b = number(b, 2, s.Generation)
	b = number(b, 3, uint64(s.OthersInflight))
	if !s.HasReport {
		return b
	}
	r := &s.Report
	report := number(nil, 1, s.AgeMillis)
	for i, c := range []core.Count{r.Running, r.Waiting, r.WaitingUncached, r.KVUsed, r.KVTotal, r.KVCapacity, r.RunningCapacity} {
		if c.Known {
			report = number(report, protowire.Number(i+2), c.N)
		}
	}
	if r.PrefillRate != 0 {
		report = appendFixed(report, 9, math.Float64bits(r.PrefillRate))
	}
	return body(b, 4, report)
}

// sample is a reply that uses every field.
func sample() *SyncReply {
	return &SyncReply{
		Replica: 1 << 63, Version: 12, Full: true, Seq: 3,
		Workers: []Worker{
			{
				ID: "e1", Address: "10.0.0.1:8000", Models: []string{"m", "größer"}, Adapters: []core.Adapter{{Name: "a", Base: "m"}, {Name: "b", Base: "m"}},
				Stage: core.StagePrefill, Generation: 1<<64 - 1, Healthy: true, Draining: true, Recoveries: 4, Version: "v2",
				Aborts: true, Ranks: 4, InputIDs: true, Services: []string{"prod/chat", "prod/batch"},
			},
			{ID: core.WorkerID(strings.Repeat("x", 300)), Address: "[::1]:1", Stage: core.StageNone},
		},
		Removed: []core.WorkerID{"e7", "e8"},
		States: []WorkerState{
			{ID: "e1", Generation: 9, OthersInflight: 1<<32 - 1, HasReport: true, AgeMillis: 400, Report: core.LoadReport{
				Running: core.Known(0), Waiting: core.Known(1), WaitingUncached: core.Known(1 << 40), KVUsed: core.Known(2),
				KVTotal: core.Known(3), KVCapacity: core.Known(4), RunningCapacity: core.Known(5), PrefillRate: 1234.5,
			}},
			{ID: "e2", HasReport: true, Report: core.LoadReport{Running: core.Known(7)}},
			{ID: "e3"},
		},
		History: History{Present: true, Log: 1 << 60, Cursor: 77, Runs: []Run{
			{Worker: "e1", Generation: 9, Parent: 5, Hashes: []uint64{1, 1<<64 - 1}, Sizes: []uint16{1024, 7}},
			{Worker: "e2", Hashes: []uint64{3}, Sizes: []uint16{65535}},
		}},
	}
}

func TestDecodeSyncReply_round_trip(t *testing.T) {
	for name, want := range map[string]*SyncReply{"empty": {}, "every field": sample()} {
		t.Run(name, func(t *testing.T) {
			msg := writeReply(want)
			got, err := DecodeSyncReply(msg)
			require.NoError(t, err)
			require.Equal(t, want, got)
			clear(msg) // hosts reuse the memory of a reply
			require.Equal(t, want, got, "nothing of the message is kept")
		})
	}
}

func TestDecodeSyncReply_truncated(t *testing.T) {
	msg := writeReply(sample())
	whole := map[int]bool{0: true} // lengths that end at a field of the outer message
	for at := 0; at < len(msg); {
		_, _, n := protowire.ConsumeField(msg[at:])
		require.Positive(t, n)
		at += n
		whole[at] = true
	}
	for n := range msg {
		got, err := DecodeSyncReply(msg[:n])
		if whole[n] {
			require.NoError(t, err, n)
			continue
		}
		require.ErrorContains(t, err, "sync reply: ", n)
		require.Nil(t, got)
	}
}

func TestDecodeSyncReply_skips_what_it_does_not_know(t *testing.T) {
	group := protowire.AppendTag(nil, 31, protowire.StartGroupType)
	group = number(group, 1, 5)
	group = protowire.AppendTag(group, 31, protowire.EndGroupType)
	unknown := number(nil, 30, 1)
	unknown = body(unknown, 30, []byte{0xff, 0xfe})
	unknown = appendFixed(unknown, 30, 1)
	unknown = protowire.AppendFixed32(protowire.AppendTag(unknown, 30, protowire.Fixed32Type), 1)
	unknown = append(unknown, group...)

	worker := append(writeWorker(&Worker{ID: "e", Adapters: []core.Adapter{}}), unknown...)
	worker = body(worker, 4, append(body(nil, 1, []byte("lora")), unknown...))
	state := append(writeState(&WorkerState{ID: "e", Generation: 2}), unknown...)
	state = body(state, 4, append(number(nil, 2, 6), unknown...))
	msg := append(writeReply(&SyncReply{Replica: 1, Seq: 2}), unknown...)
	msg = body(msg, 5, worker)
	msg = body(msg, 7, state)

	got, err := DecodeSyncReply(msg)
	require.NoError(t, err)
	require.Equal(t, &SyncReply{
		Replica: 1, Seq: 2,
		Workers: []Worker{{ID: "e", Adapters: []core.Adapter{{Name: "lora"}}}},
		States:  []WorkerState{{ID: "e", Generation: 2, HasReport: true, Report: core.LoadReport{Running: core.Known(6)}}},
	}, got)
}

func TestDecodeSyncReply_skips_another_type(t *testing.T) {
	wrong := func(numbers ...protowire.Number) (b []byte) {
		for _, n := range numbers {
			b = protowire.AppendFixed32(protowire.AppendTag(b, n, protowire.Fixed32Type), 9)
		}
		return b
	}
	worker := append(body(nil, 1, []byte("e")), wrong(2, 3, 4, 5, 6, 7, 8, 9)...)
	worker = body(worker, 6, []byte{1}) // a number as bytes
	worker = number(worker, 3, 1)       // a string as a number
	report := append(number(nil, 9, 5), wrong(1, 2, 3, 4, 5, 6, 7, 8)...)
	report = body(report, 2, []byte{1})
	state := body(append(wrong(1, 2, 3), number(nil, 1, 4)...), 4, report)
	msg := append(wrong(1, 2, 3, 4, 5, 6, 7), number(nil, 1, 5)...)
	msg = body(body(msg, 5, worker), 7, state)
	msg = number(msg, 5, 1)

	got, err := DecodeSyncReply(msg)
	require.NoError(t, err)
	require.Equal(t, &SyncReply{Workers: []Worker{{ID: "e"}}, States: []WorkerState{{HasReport: true}}}, got)
}

func TestDecodeSyncReply_refuses_text_that_is_not_utf8(t *testing.T) {
	bad := []byte{'a', 0xff}
	for name, msg := range map[string][]byte{
		"worker id":      body(nil, 5, body(nil, 1, bad)),
		"worker address": body(nil, 5, body(nil, 2, bad)),
		"model":          body(nil, 5, body(nil, 3, bad)),
		"adapter name":   body(nil, 5, body(nil, 4, body(nil, 1, bad))),
		"adapter base":   body(nil, 5, body(nil, 4, body(nil, 2, bad))),
		"removed":        body(nil, 6, bad),
		"state id":       body(nil, 7, body(nil, 1, bad)),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeSyncReply(msg)
			require.ErrorIs(t, err, errText)
			require.Nil(t, got)
		})
	}
}

func TestDecodeSyncReply_malformed(t *testing.T) {
	for name, msg := range map[string][]byte{
		"field number zero":     {0x00, 0x01},
		"field number too high": append(protowire.AppendVarint(nil, (1<<29)<<3), 1),
		"end of no group":       protowire.AppendTag(nil, 9, protowire.EndGroupType),
		"group never ends":      protowire.AppendTag(nil, 9, protowire.StartGroupType),
		"varint too long":       {0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		"type 7":                {0x0f, 0x00},
		"length beyond the end": {0x2a, 0xff, 0xff, 0xff, 0x7f},
		"json":                  []byte(`{"replica":1}`),
		"text of a proxy":       []byte("upstream connect error or disconnect/reset before headers"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeSyncReply(msg)
			require.ErrorContains(t, err, "sync reply: ")
		})
	}
}

func TestDecodeSyncReply_stages(t *testing.T) {
	for v, want := range map[uint64]core.Stage{
		0: core.StageNone, 1: core.StagePlain, 2: core.StagePrefill, 3: core.StageDecode, 4: core.StageNone,
		1<<32 | 1: core.StagePlain, 1<<64 - 1: core.StageNone,
	} {
		got, err := DecodeSyncReply(body(nil, 5, number(nil, 5, v)))
		require.NoError(t, err)
		require.Equal(t, want, got.Workers[0].Stage, v)
	}
}

// The last value of a field that stands twice counts; messages merge.
func TestDecodeSyncReply_repeated_fields(t *testing.T) {
	state := body(nil, 4, number(number(nil, 1, 10), 2, 20))
	state = body(state, 4, number(nil, 2, 21))
	msg := number(number(nil, 4, 1), 4, 2)
	got, err := DecodeSyncReply(body(msg, 7, state))
	require.NoError(t, err)
	require.Equal(t, uint64(2), got.Seq)
	require.Equal(t, []WorkerState{{HasReport: true, AgeMillis: 10, Report: core.LoadReport{Running: core.Known(21)}}}, got.States)
}

func FuzzDecodeSyncReply(f *testing.F) {
	f.Add([]byte{})
	f.Add(writeReply(sample()))
	f.Add(writeReply(sample())[:40])
	f.Add([]byte("upstream connect error"))
	f.Add(body(nil, 5, body(nil, 4, []byte{0x0a, 0x01, 0xff})))
	f.Fuzz(func(t *testing.T, msg []byte) {
		got, err := DecodeSyncReply(msg)
		if err != nil {
			require.Nil(t, got)
			return
		}
		for i := range got.States {
			if rate := &got.States[i].Report.PrefillRate; math.IsNaN(*rate) {
				*rate = 0 // not equal to itself
			}
		}
		msg = writeReply(got)
		again, err := DecodeSyncReply(msg)
		require.NoError(t, err)
		require.Equal(t, got, again)
		used := sample()
		require.NoError(t, used.Decode(msg))
		require.Empty(t, cmp.Diff(got, used, cmpopts.EquateEmpty()), "in a reply that was used before")
	})
}

// A reply of the same workers as the last costs no memory.
func TestSyncReply_Decode_allocates_nothing_in_steady_state(t *testing.T) {
	reply := sample()
	reply.Workers, reply.Removed = nil, nil
	msg := writeReply(reply)
	var used SyncReply
	require.NoError(t, used.Decode(msg))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := used.Decode(msg); err != nil {
			t.Error(err)
		}
	}))
	require.Empty(t, cmp.Diff(reply, &used, cmpopts.EquateEmpty()))
}

func TestSyncReply_Decode_overwrites_what_was_there(t *testing.T) {
	used := sample()
	require.NoError(t, used.Decode(writeReply(&SyncReply{Replica: 3, Seq: 9, States: []WorkerState{{ID: "other"}}})))
	require.Empty(t, cmp.Diff(&SyncReply{Replica: 3, Seq: 9, States: []WorkerState{{ID: "other"}}}, used, cmpopts.EquateEmpty()))
	require.Error(t, used.Decode([]byte{0x0a}))
}

func BenchmarkDecodeSyncReply(b *testing.B) {
	r := &SyncReply{Replica: 1, Full: true, Seq: 1}
	for range 100 {
		r.Workers = append(r.Workers, sample().Workers[0])
		r.States = append(r.States, sample().States[0])
	}
	msg := writeReply(r)
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeSyncReply(msg); err != nil {
			b.Fatal(err)
		}
	}
}
