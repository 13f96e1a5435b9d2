package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/stretchr/testify/require"
)

// One sync over HTTP handling, connection apart: decode 1,000 gauges, apply,
// answer 1,000 changed rows, encode. A fleet of 1,000 workers with 16 contexts
// at 5 syncs a second makes 80 of them a second.
func BenchmarkServer_sync(b *testing.B) {
	s := newStage(b, func(c *config.Config) {
		c.Limits = config.Default().Limits
	})
	list := make([]wire.WorkerGauge, 1000)
	for i := range list {
		id := core.WorkerID(fmt.Sprintf("worker-%04d", i))
		s.board.Describe(core.Worker{ID: id, Address: "127.0.0.1:1", Models: []string{"m"}, Generation: 1}, 0)
		s.board.Report(id, 1, core.LoadReport{Running: core.Known(1), Waiting: core.Known(2), KVUsed: core.Known(3)}, 0)
		list[i] = wire.WorkerGauge{ID: id, Generation: 1, RecentAges: []uint32{1, 5, 9}}
	}
	r := wire.SyncRequest{Context: 1, Replica: 77, Version: s.board.Counts().Version, Workers: list}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		r.Seq++
		for i := range list {
			list[i].Inflight = uint32(1 + n%2)
		}
		req := httptest.NewRequest(http.MethodPost, "/v1/sync", bytes.NewReader(encoded(r)))
		req.Header.Set(contentType, protobuf)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		require.Equal(b, http.StatusOK, w.Code)
	}
}
