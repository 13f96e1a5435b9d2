package server_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

var ageless = regexp.MustCompile(`"age_ms":\d+`)

// Whatever is posted is answered with 200, 4xx or a refusal by limit, never with
// a server error; a refused body changes nothing.
func FuzzServer_sync(f *testing.F) {
	f.Add(encoded(wire.SyncRequest{Context: 1, Seq: 1, Workers: one("a", 3)}), false)
	f.Add([]byte(`{"context":"1","seq":"1"}`), true)
	f.Add([]byte{0x4a, 0x00, 0x4a, 0x00, 0x4a, 0x00, 0x4a, 0x00, 0x4a, 0x00, 0x4a, 0x00}, false)
	s := newStage(f, nil)
	f.Fuzz(func(t *testing.T, body []byte, inJSON bool) {
		before := s.board.Counts()
		r := httptest.NewRequest(http.MethodPost, "/v1/sync", bytes.NewReader(body))
		r.Header.Set(contentType, protobuf)
		if inJSON {
			r.Header.Set(contentType, "application/json")
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch {
		case w.Code == http.StatusOK:
		case w.Code/100 == 4 || w.Code == http.StatusServiceUnavailable:
			after := s.board.Counts()
			require.Equal(t, before.Version, after.Version)
			require.Equal(t, before.Contexts, after.Contexts)
		default:
			t.Fatalf("status %d for %q", w.Code, body)
		}
		require.LessOrEqual(t, s.board.Counts().Contexts, small.MaxContexts)
	})
}

// core/wire walks the messages by hand; the generated code is the measure. What
// one writes the other reads as the same, and both refuse the same bytes.
func FuzzWire_request(f *testing.F) {
	f.Add(uint64(1), "proxy", uint64(2), uint64(3), uint64(4), true, uint32(200), "v1", "w", uint64(5), uint32(6), []byte{1, 2, 200}, true, uint64(0), true)
	f.Add(uint64(0), "", uint64(0), uint64(0), uint64(0), false, uint32(0), "", "", uint64(0), uint32(0), []byte{}, false, uint64(0), false)
	f.Fuzz(func(t *testing.T, context uint64, proxy string, seq, replica, version uint64, idle bool, tick uint32, filter, id string, generation uint64, inflight uint32, ages []byte, open bool, answered uint64, known bool) {
		in := wire.SyncRequest{
			Context: context, Proxy: proxy, Seq: seq, Replica: replica, Version: version, Idle: idle, TickMillis: tick, FilterVersion: filter,
			Workers: []wire.WorkerGauge{{}, {ID: core.WorkerID(id), Generation: generation, Inflight: inflight, BreakerStreak: inflight / 2, BreakerOpen: open}},
		}
		for _, age := range ages {
			in.Workers[1].RecentAges = append(in.Workers[1].RecentAges, uint32(age)<<(age%24))
		}
		if known {
			in.Workers[1].AnsweredAge, in.Workers[1].FailedAge = core.Known(answered), core.Known(answered/2)
			in.History = wire.History{Present: true, Log: answered, Cursor: seq, Runs: []wire.Run{
				{}, {Worker: core.WorkerID(id), Generation: generation, Parent: replica, Hashes: []uint64{context, 0}, Sizes: []uint16{uint16(tick), 9}},
			}}
		}
		var out wirepb.SyncRequest
		if err := proto.Unmarshal(wire.AppendSyncRequest(nil, &in), &out); err != nil {
			require.ErrorContains(t, err, "UTF-8")
			return
		}
		require.Empty(t, cmp.Diff(in, server.FromProto(&out), cmpopts.EquateEmpty()))
	})
}

func FuzzWire_reply(f *testing.F) {
	seed := wire.SyncReply{
		Replica: 9, Version: 300, Full: true, Seq: 7, Removed: []core.WorkerID{"gone"},
		Workers: []wire.Worker{{
			ID: "a", Address: "[::1]:8000", Models: []string{"m", "n"}, Adapters: []core.Adapter{{Name: "l", Base: "m"}, {}},
			Stage: core.StageDecode, Generation: 1795998209890, Healthy: true, Draining: true, Recoveries: 2,
			Version: "v7", Aborts: true, Ranks: 4, InputIDs: true, Services: []string{"prod/chat", "prod/batch"},
		}, {}},
		States: []wire.WorkerState{{
			ID: "a", Generation: 3, OthersInflight: 4, HasReport: true, AgeMillis: 5,
			Report: core.LoadReport{
				Running: core.Known(0), Waiting: core.Known(1), WaitingUncached: core.Known(2), KVUsed: core.Known(3),
				KVTotal: core.Known(4), KVCapacity: core.Known(5), RunningCapacity: core.Known(6), PrefillRate: 7.5,
			},
		}, {ID: "b", HasReport: true}, {}},
		History: wire.History{Present: true, Log: 1 << 60, Cursor: 5, Runs: []wire.Run{
			{Worker: "a", Generation: 3, Parent: 1, Hashes: []uint64{2, 3}, Sizes: []uint16{1024, 7}}, {},
		}},
	}
	encodedSeed, err := proto.Marshal(server.ToProto(&seed))
	require.NoError(f, err)
	got, err := wire.DecodeSyncReply(encodedSeed)
	require.NoError(f, err)
	require.Empty(f, cmp.Diff(&seed, got, cmpopts.EquateEmpty()))
	f.Add(encodedSeed)
	f.Add([]byte{})
	f.Add([]byte("\x42\x02\x10\x05\x42\x07\x1a\x05*\x03\xff\xff\x07"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var want wirepb.SyncReply
		wantErr := proto.Unmarshal(body, &want)
		got, err := wire.DecodeSyncReply(body)
		require.Equal(t, wantErr == nil, err == nil, "generated: %v, by hand: %v", wantErr, err)
		if err != nil {
			return
		}
		again, err := proto.Marshal(server.ToProto(got))
		require.NoError(t, err)
		reread, err := wire.DecodeSyncReply(again)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(got, reread, cmpopts.EquateEmpty(), cmpopts.EquateNaNs()))
		require.Equal(t, want.GetReplica(), got.Replica)
		require.Equal(t, want.GetVersion(), got.Version)
		require.Equal(t, want.GetFull(), got.Full)
		require.Equal(t, want.GetSeq(), got.Seq)
		require.Len(t, got.Workers, len(want.GetWorkers()))
		for i, w := range want.GetWorkers() {
			requireSameWorker(t, w, &got.Workers[i])
		}
		requireSameHistory(t, want.GetHistory(), &got.History)
		require.Len(t, got.States, len(want.GetStates()))
		for i, s := range want.GetStates() {
			require.Equal(t, s.GetId(), string(got.States[i].ID))
			require.Equal(t, s.GetGeneration(), got.States[i].Generation)
			require.Equal(t, s.GetOthersInflight(), got.States[i].OthersInflight)
			require.Equal(t, s.Report != nil, got.States[i].HasReport)
			require.Equal(t, s.GetReport().GetRunning(), got.States[i].Report.Running.N)
			require.Equal(t, s.GetReport().GetAgeMs(), got.States[i].AgeMillis)
		}
	})
}

func requireSameWorker(t *testing.T, want *wirepb.Worker, got *wire.Worker) {
	t.Helper()
	require.Equal(t, want.GetId(), string(got.ID))
	require.Equal(t, want.GetAddress(), got.Address)
	require.Empty(t, cmp.Diff(want.GetModels(), got.Models, cmpopts.EquateEmpty()))
	require.Len(t, got.Adapters, len(want.GetAdapters()))
	for i, a := range want.GetAdapters() {
		require.Equal(t, core.Adapter{Name: a.GetName(), Base: a.GetBase()}, got.Adapters[i])
	}
	if got.Stage != core.StageNone { // a number beyond the enum is none, however a reader wraps it
		require.EqualValues(t, want.GetStage(), got.Stage)
	}
	require.Equal(t, want.GetGeneration(), got.Generation)
	require.Equal(t, want.GetHealthy(), got.Healthy)
	require.Equal(t, want.GetDraining(), got.Draining)
	require.Equal(t, want.GetRecoveries(), got.Recoveries)
}
