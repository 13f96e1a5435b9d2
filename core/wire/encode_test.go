package wire

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// readRequest reads a request back as pointsman.proto describes it.
func readRequest(t *testing.T, msg []byte) *SyncRequest {
	t.Helper()
	r := &SyncRequest{}
	require.NoError(t, walk(msg, func(f field) error {
		switch f.number {
		case 1:
			require.Equal(t, protowire.Fixed64Type, f.kind)
			r.Context = f.num
		case 2:
			r.Proxy = string(f.raw)
		case 3:
			r.Seq = f.num
		case 4:
			require.Equal(t, protowire.Fixed64Type, f.kind)
			r.Replica = f.num
		case 5:
			r.Version = f.num
		case 6:
			r.Idle = f.num == 1
		case 7:
			r.TickMillis = uint32(f.num)
		case 8:
			r.FilterVersion = string(f.raw)
		case 9:
			r.Workers = append(r.Workers, readGauge(t, f.raw))
		default:
			t.Errorf("field %d is not in the contract", f.number)
		}
		return nil
	}))
	return r
}

func readGauge(t *testing.T, msg []byte) (g WorkerGauge) {
	t.Helper()
	require.NoError(t, walk(msg, func(f field) error {
		switch f.number {
		case 1:
			g.ID = core.WorkerID(f.raw)
		case 2:
			g.Generation = f.num
		case 3:
			g.Inflight = uint32(f.num)
		case 4:
			for packed := f.raw; len(packed) > 0; {
				age, n := protowire.ConsumeVarint(packed)
				require.Positive(t, n)
				g.RecentAges, packed = append(g.RecentAges, uint32(age)), packed[n:]
			}
		case 5:
			g.BreakerStreak = uint32(f.num)
		case 6:
			g.BreakerOpen = f.num == 1
		case 7:
			g.AnsweredAge = core.Known(f.num)
		case 8:
			g.FailedAge = core.Known(f.num)
		default:
			t.Errorf("gauge field %d is not in the contract", f.number)
		}
		return nil
	}))
	return g
}

func ages(n int) []uint32 {
	list := make([]uint32, n)
	for i := range list {
		list[i] = uint32(i * 37)
	}
	return list
}

func TestAppendSyncRequest_round_trip(t *testing.T) {
	for name, r := range map[string]*SyncRequest{
		"empty":        {},
		"first report": {Context: 1 << 63, Seq: 1, Idle: true, TickMillis: 200, FilterVersion: "v1", Proxy: "edge"},
		"a snapshot":   {Context: 7, Seq: 1<<64 - 1, Replica: 9, Version: 1 << 40},
		"gauges": {Context: 7, Seq: 2, Workers: []WorkerGauge{
			{ID: "e1", Generation: 1<<64 - 1, Inflight: 1<<32 - 1, RecentAges: []uint32{0, 1, 1<<32 - 1}, BreakerStreak: 3, BreakerOpen: true, AnsweredAge: core.Known(0), FailedAge: core.Known(0)},
			{ID: "e2"},
			{},
		}},
		"bodies of every length size": {Context: 7, Workers: []WorkerGauge{
			{ID: core.WorkerID(strings.Repeat("a", 124))}, // gauge of 126 bytes
			{ID: core.WorkerID(strings.Repeat("a", 125))}, // 127, the most one length byte holds
			{ID: core.WorkerID(strings.Repeat("a", 126))},
			{ID: "b", RecentAges: ages(128)},
			{ID: "c", RecentAges: ages(20_000)}, // three length bytes
			{ID: "d", AnsweredAge: core.Known(1 << 50)},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, r, readRequest(t, AppendSyncRequest(nil, r)))
			prefix := []byte("kept")
			require.Equal(t, r, readRequest(t, AppendSyncRequest(prefix, r)[len(prefix):]), "the buffer's contents are kept")
		})
	}
}

func TestAppendSyncRequest_leaves_out_what_is_unknown(t *testing.T) {
	msg := AppendSyncRequest(nil, &SyncRequest{Context: 1, Workers: []WorkerGauge{{ID: "e"}}})
	seen := map[protowire.Number]bool{}
	require.NoError(t, walk(msg, func(f field) error {
		seen[f.number] = true
		return nil
	}))
	require.Equal(t, map[protowire.Number]bool{1: true, 9: true}, seen)
	require.Equal(t, WorkerGauge{ID: "e"}, readGauge(t, msg[11:]))
}

// request is a report of one context over many workers.
func request(workers int) *SyncRequest {
	r := &SyncRequest{Context: 1, Proxy: "edge", Seq: 1, Replica: 5, Version: 8, TickMillis: 200, FilterVersion: "v"}
	for range workers {
		r.Workers = append(r.Workers, WorkerGauge{ID: "engine", Generation: 1_700_000_000_000, Inflight: 20, RecentAges: ages(20), AnsweredAge: core.Known(3)})
	}
	return r
}

func TestAppendSyncRequest_does_not_allocate(t *testing.T) {
	r := request(100)
	buffer := AppendSyncRequest(nil, r)
	require.Zero(t, testing.AllocsPerRun(100, func() { buffer = AppendSyncRequest(buffer[:0], r) }))
}

func BenchmarkAppendSyncRequest(b *testing.B) {
	r := request(100)
	buffer := AppendSyncRequest(nil, r)
	b.SetBytes(int64(len(buffer)))
	b.ReportAllocs()
	for b.Loop() {
		buffer = AppendSyncRequest(buffer[:0], r)
	}
}
