package server_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// scope is a scope of the given digest, padded.
func scope(name string) *wirepb.Scope {
	return &wirepb.Scope{Digest: []byte(name + strings.Repeat("-", 16-len(name))), Kind: wirepb.KeyKind_KEY_KIND_SESSION, Model: "m", Bucket: "b"}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	body, err := proto.Marshal(m)
	require.NoError(t, err)
	return body
}

func (s *stage) bind(t *testing.T, proposals ...*wirepb.Proposal) map[string]string {
	t.Helper()
	a := s.do(t, "POST", wire.BindPath, marshal(t, &wirepb.BindRequest{Context: 1, TimeoutMs: 150, Proposals: proposals}), contentType, protobuf)
	require.Equal(t, http.StatusOK, a.status, a.body)
	var reply wirepb.BindReply
	require.NoError(t, proto.Unmarshal([]byte(a.body), &reply))
	return bound(reply.GetBindings())
}

func (s *stage) observe(t *testing.T, scopes ...*wirepb.Scope) map[string]string {
	t.Helper()
	header := base64.RawURLEncoding.EncodeToString(marshal(t, &wirepb.ObserveRequest{Context: 1, TimeoutMs: 150, Scopes: scopes, Sources: []string{"local"}, Tokens: true}))
	a := s.do(t, "POST", wire.ObservePath, nil, wire.ObserveHeader, header)
	require.Equal(t, http.StatusOK, a.status, a.body)
	var reply wirepb.ObserveReply
	require.NoError(t, proto.Unmarshal([]byte(a.body), &reply))
	require.Nil(t, reply.Tokens, "nobody counts tokens, and unknown is not zero")
	require.Empty(t, reply.GetLookups(), "no source answers")
	return bound(reply.GetBindings())
}

// bound gives the worker of each digest's name; "none" for a scope without one.
func bound(list []*wirepb.Binding) map[string]string {
	out := map[string]string{}
	for _, b := range list {
		worker := b.GetWorker()
		if b.GetState() == wirepb.BindingState_BINDING_NONE {
			worker = "none"
		}
		out[strings.TrimRight(string(b.GetDigest()), "-")] = worker
	}
	return out
}

func TestServer_bindingsConverge(t *testing.T) {
	s := newStage(t, nil)
	require.Equal(t, map[string]string{"x": "none", "y": "none"}, s.observe(t, scope("x"), scope("y")))
	require.Equal(t, map[string]string{"x": "a"}, s.bind(t, &wirepb.Proposal{Scope: scope("x"), Worker: "a"}))
	require.Equal(t, map[string]string{"x": "a"}, s.bind(t, &wirepb.Proposal{Scope: scope("x"), Worker: "<script>b"}), "the first one won")
	require.Equal(t, map[string]string{"x": "a", "y": "none"}, s.observe(t, scope("x"), scope("y")))
	require.Equal(t, map[string]string{"x": "<script>b"}, s.bind(t, &wirepb.Proposal{Scope: scope("x"), Worker: "<script>b", Seen: "a"}))
}

// A pair's two stages are bound by one call.
func TestServer_bindsSeveralScopes(t *testing.T) {
	s := newStage(t, nil)
	got := s.bind(t, &wirepb.Proposal{Scope: scope("p"), Worker: "a"}, &wirepb.Proposal{Scope: scope("d"), Worker: "<script>b"})
	require.Equal(t, map[string]string{"p": "a", "d": "<script>b"}, got)
}

func TestServer_bindsOnlyEnginesItKnows(t *testing.T) {
	s := newStage(t, nil)
	got := s.bind(t, &wirepb.Proposal{Scope: scope("x"), Worker: "made up"}, &wirepb.Proposal{Scope: scope("y"), Worker: "a"})
	require.Equal(t, map[string]string{"y": "a"}, got, "what is left out is unavailable")
	require.Equal(t, map[string]string{"x": "none"}, s.observe(t, scope("x")))
}

func TestServer_reportsRefreshBindings(t *testing.T) {
	s := newStage(t, nil)
	s.bind(t, &wirepb.Proposal{Scope: scope("x"), Worker: "a"})
	body := marshal(t, &wirepb.SyncRequest{Context: 9, Seq: 1, UsedBindings: []*wirepb.UsedBinding{
		{Digest: scope("x").GetDigest(), Worker: "a"}, {Digest: []byte("short"), Worker: "a"}, {Digest: scope("none").GetDigest()},
	}})
	a := s.do(t, "POST", "/v1/sync", body, contentType, protobuf)
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Equal(t, map[string]string{"x": "a"}, s.observe(t, scope("x")))
}

// Every wrong input has a 4xx that says what is wrong, and binds nothing.
func TestServer_bindingsRefuse(t *testing.T) {
	s := newStage(t, func(c *config.Config) { c.Limits.MaxBodyBytes = 1 << 20 })
	many := make([]*wirepb.Proposal, 257)
	scopes := make([]*wirepb.Scope, 257)
	for i := range many {
		scopes[i] = scope("x")
		many[i] = &wirepb.Proposal{Scope: scopes[i], Worker: "a"}
	}
	for name, c := range map[string]struct {
		request *wirepb.BindRequest
		says    string
	}{
		"no context":    {&wirepb.BindRequest{Proposals: many[:1]}, "context"},
		"no proposals":  {&wirepb.BindRequest{Context: 1}, "proposals: missing"},
		"too many":      {&wirepb.BindRequest{Context: 1, Proposals: many}, "more than 256"},
		"no scope":      {&wirepb.BindRequest{Context: 1, Proposals: []*wirepb.Proposal{{Worker: "a"}}}, "digest"},
		"no worker":     {&wirepb.BindRequest{Context: 1, Proposals: []*wirepb.Proposal{{Scope: scope("x")}}}, "worker: missing"},
		"a long worker": {&wirepb.BindRequest{Context: 1, Proposals: []*wirepb.Proposal{{Scope: scope("x"), Worker: strings.Repeat("w", 40)}}}, "longer than"},
	} {
		a := s.do(t, "POST", wire.BindPath, marshal(t, c.request), contentType, protobuf)
		require.Equal(t, http.StatusBadRequest, a.status, name)
		require.Contains(t, a.body, c.says, name)
		require.Contains(t, a.body, `"code":"bad_request"`, name)
	}
	encoded := func(r *wirepb.ObserveRequest) string { return base64.RawURLEncoding.EncodeToString(marshal(t, r)) }
	for name, c := range map[string]struct{ header, says string }{
		"no header":   {"", "missing"},
		"not base64":  {"***", "base64url"},
		"no protobuf": {base64.RawURLEncoding.EncodeToString([]byte{0xff, 0xff}), "not an observe request"},
		"no context":  {encoded(&wirepb.ObserveRequest{Model: "m"}), "context"},
		"bad digest":  {encoded(&wirepb.ObserveRequest{Context: 1, Scopes: []*wirepb.Scope{{Digest: []byte("short")}}}), "digest"},
	} {
		a := s.do(t, "POST", wire.ObservePath, nil, wire.ObserveHeader, c.header)
		require.Equal(t, http.StatusBadRequest, a.status, name)
		require.Contains(t, a.body, c.says, name)
	}
	a := s.do(t, "POST", wire.BindPath, []byte("garbage"), contentType, protobuf)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, map[string]string{"x": "none"}, s.observe(t, scope("x")))
}
