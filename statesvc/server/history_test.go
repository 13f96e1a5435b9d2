package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func requireSameHistory(t *testing.T, want *wirepb.History, got *wire.History) {
	t.Helper()
	require.Equal(t, want != nil, got.Present)
	require.Equal(t, want.GetLog(), got.Log)
	require.Equal(t, want.GetCursor(), got.Cursor)
	require.Len(t, got.Runs, len(want.GetRuns()))
	for i, run := range want.GetRuns() {
		require.Equal(t, run.GetWorker(), string(got.Runs[i].Worker))
		require.Equal(t, run.GetGeneration(), got.Runs[i].Generation)
		require.Equal(t, run.GetParent(), got.Runs[i].Parent)
		require.ElementsMatch(t, run.GetHashes(), got.Runs[i].Hashes)
		require.Len(t, got.Runs[i].Sizes, len(run.GetSizes()))
	}
}

// tell posts a report with history and gives the history of the reply.
func (s *stage) tell(t *testing.T, context, seq uint64, h wire.History) wire.History {
	t.Helper()
	h.Present = true
	reply := s.report(t, wire.SyncRequest{Context: context, Seq: seq, History: h})
	require.True(t, reply.History.Present)
	return reply.History
}

// report posts a report, which must be answered.
func (s *stage) report(t *testing.T, r wire.SyncRequest) *wire.SyncReply {
	t.Helper()
	a := s.do(t, http.MethodPost, wire.SyncPath, encoded(r), contentType, protobuf)
	require.Equal(t, http.StatusOK, a.status, a.body)
	reply, err := wire.DecodeSyncReply([]byte(a.body))
	require.NoError(t, err)
	return reply
}

// What one context has sent where reaches the others with their next report, once,
// and never comes back to itself.
func TestSync_passes_history_on(t *testing.T) {
	s := newStage(t, nil)
	run := wire.Run{Worker: "a", Generation: 1, Parent: 5, Hashes: []uint64{6, 7}, Sizes: []uint16{1024, 3}}
	first := s.tell(t, 1, 1, wire.History{Runs: []wire.Run{run}})
	require.Empty(t, first.Runs)
	other := s.tell(t, 2, 1, wire.History{})
	require.Equal(t, []wire.Run{run}, other.Runs)
	other.Runs = nil
	require.Empty(t, s.tell(t, 2, 2, other).Runs)
	require.False(t, s.report(t, wire.SyncRequest{Context: 3, Seq: 1}).History.Present, "to those who ask only")
}

func TestSync_refuses_bad_history(t *testing.T) {
	s := newStage(t, nil)
	good := func() *wirepb.Run { return &wirepb.Run{Worker: "a", Hashes: []uint64{1}, Sizes: []uint32{9}} }
	for want, change := range map[string]func(r *wirepb.Run){
		"runs[0]: worker: missing":            func(r *wirepb.Run) { r.Worker = "" },
		"runs[0]: worker: longer":             func(r *wirepb.Run) { r.Worker = strings.Repeat("a", 1000) },
		"runs[0]: hashes: missing":            func(r *wirepb.Run) { r.Hashes, r.Sizes = nil, nil },
		"runs[0]: sizes: 0 for 1 hashes":      func(r *wirepb.Run) { r.Sizes = nil },
		"runs[0]: sizes: 0 is not from 1":     func(r *wirepb.Run) { r.Sizes[0] = 0 },
		"runs[0]: sizes: 66000 is not from 1": func(r *wirepb.Run) { r.Sizes[0] = 66_000 },
	} {
		run := good()
		change(run)
		body, err := proto.Marshal(&wirepb.SyncRequest{Context: 1, Seq: 1, History: &wirepb.History{Runs: []*wirepb.Run{run}}})
		require.NoError(t, err)
		a := s.do(t, http.MethodPost, wire.SyncPath, body, contentType, protobuf)
		require.Equal(t, http.StatusBadRequest, a.status)
		require.Contains(t, a.body, "history: "+want)
	}
}
