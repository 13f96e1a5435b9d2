package server_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// One client that makes up sessions fills the store and no more: others come in,
// the oldest go out, and both are counted.
func TestServer_floodOfSessionsIsBounded(t *testing.T) {
	const room, sessions, perCall = 1000, 20_000, 250
	store := affinity.NewMemory(affinity.Limits{Bindings: room, Bytes: 1 << 20})
	s := newStageWith(t, func(c *config.Config) { c.Limits.MaxBodyBytes = 1 << 20 }, func(o *server.Options) {
		o.Bindings = store
	})
	for from := 0; from < sessions; from += perCall {
		proposals := make([]*wirepb.Proposal, perCall)
		for i := range proposals {
			proposals[i] = &wirepb.Proposal{Scope: numbered(from + i), Worker: "a"}
		}
		require.Len(t, s.bind(t, proposals...), perCall)
	}
	require.Equal(t, map[string]string{string(numbered(sessions - 1).GetDigest()): "a"}, s.observe(t, numbered(sessions-1)))
	require.Equal(t, map[string]string{string(numbered(sessions - room - 1).GetDigest()): "none"}, s.observe(t, numbered(sessions-room-1)))
	s.counted(t, "proposals_total", "won", sessions)
	stats := store.Stats()
	require.Equal(t, room, stats.Bindings)
	require.Equal(t, room*affinity.Size, stats.Bytes)
	require.EqualValues(t, sessions-room, stats.Evicted)
}

func numbered(i int) *wirepb.Scope {
	digest := binary.BigEndian.AppendUint64([]byte("session/"), uint64(i))
	return &wirepb.Scope{Digest: digest}
}

// What a caller writes into a scope is for people who read messages: it decides
// nothing and stays nowhere.
func TestServer_namesInScopesStayNowhere(t *testing.T) {
	s := newStage(t, nil)
	const secret = "sk-secret"
	at := &wirepb.Scope{Digest: scope("x").GetDigest(), Model: secret, Bucket: secret + "/../\x00", Kind: 99, Stage: -1}
	require.Equal(t, map[string]string{"x": "a"}, s.bind(t, &wirepb.Proposal{Scope: at, Worker: "a", IdleSecs: 1 << 31}))
	require.Equal(t, map[string]string{"x": "a"}, s.observe(t, scope("x")), "the digest is all there is to a scope")
	for _, path := range []string{"/metrics", "/", "/v1/workers", "/readyz?verbose"} {
		a := s.do(t, "GET", path, nil)
		require.Equal(t, http.StatusOK, a.status)
		require.NotContains(t, a.body, secret, path)
	}
	body := fmt.Sprintf(`{"context":"1","proposals":[{"scope":{"digest":%q},"worker":%q}]}`, "c2hvcnQ=", secret)
	a := s.do(t, "POST", wire.BindPath, []byte(body), contentType, "application/json")
	requireEnvelope(t, a, 400, "bad_request")
	require.NotContains(t, a.body, secret, "refusals do not repeat what was sent")
}
