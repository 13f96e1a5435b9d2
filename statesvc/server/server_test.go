package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/stretchr/testify/require"
)

func TestServer_sync(t *testing.T) {
	s := newStage(t, nil)
	a := s.do(t, "POST", "/v1/sync", encoded(wire.SyncRequest{Context: 1, Seq: 4, Workers: one("a", 5)}), contentType, protobuf)
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, protobuf, a.header.Get(contentType))
	reply, err := wire.DecodeSyncReply([]byte(a.body))
	require.NoError(t, err)
	require.True(t, reply.Full)
	require.EqualValues(t, 4, reply.Seq)
	require.EqualValues(t, 2, reply.Workers[0].Recoveries)
	require.Zero(t, reply.States[1].OthersInflight)
	require.EqualValues(t, 5, s.board.Workers()[1].Inflight)
}

func TestServer_syncInJSON(t *testing.T) {
	s := newStage(t, nil)
	body := `{"context":"1","seq":"1","workers":[{"id":"a","generation":"1","inflight":2}]}`
	a := s.do(t, "POST", "/v1/sync", []byte(body), contentType, "application/json; charset=utf-8")
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Equal(t, "application/json", a.header.Get(contentType))
	var reply struct {
		Full    bool
		Workers []struct{ ID, Stage string }
		States  []struct {
			ID     string
			Report map[string]string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(a.body), &reply))
	require.True(t, reply.Full)
	require.Equal(t, "STAGE_PLAIN", reply.Workers[0].Stage)
	require.Equal(t, "3", reply.States[1].Report["running"])
	require.Equal(t, "0", reply.States[1].Report["waiting"], "an observed zero is there")
	require.NotContains(t, reply.States[1].Report, "kv_used", "an unknown one is not")

	a = s.do(t, "POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1}), contentType, protobuf, "Accept", "application/json")
	require.Contains(t, a.body, `"full"`)
	a = s.do(t, "POST", "/v1/sync", []byte(body), contentType, "application/json", "Accept", protobuf)
	require.Equal(t, protobuf, a.header.Get(contentType))
}

// Garbage on any endpoint is a 4xx with the envelope, and nothing changes.
func TestServer_garbage(t *testing.T) {
	s := newStage(t, nil)
	s.do(t, "POST", "/v1/sync", encoded(wire.SyncRequest{Context: 1, Seq: 1, Workers: one("a", 5)}), contentType, protobuf)
	pb := []string{contentType, protobuf}
	inJSON := []string{contentType, "application/json"}
	many := make([]wire.WorkerGauge, 6)
	for i := range many {
		many[i].ID = core.WorkerID(fmt.Sprint(i))
	}
	long := strings.Repeat("x", 33)
	cases := map[string]struct {
		method, path string
		body         []byte
		headers      []string
		status       int
		code         string
	}{
		"unknown path":        {"GET", "/v2", nil, nil, 404, "not_found"},
		"path traversal":      {"GET", "/v1/../secret", nil, nil, 404, "not_found"},
		"trailing slash":      {"POST", "/v1/sync/", nil, nil, 404, "not_found"},
		"GET sync":            {"GET", "/v1/sync", nil, nil, 405, "method_not_allowed"},
		"strange method":      {"BREW", "/v1/sync", nil, nil, 405, "method_not_allowed"},
		"register a worker":   {"POST", "/v1/workers", []byte(`{"id":"x"}`), inJSON, 405, "method_not_allowed"},
		"remove a worker":     {"DELETE", "/v1/workers", nil, nil, 405, "method_not_allowed"},
		"POST metrics":        {"POST", "/metrics", nil, nil, 405, "method_not_allowed"},
		"POST readyz":         {"POST", "/readyz", nil, nil, 405, "method_not_allowed"},
		"no content type":     {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1}), nil, 415, "unsupported_media_type"},
		"wrong content type":  {"POST", "/v1/sync", nil, []string{contentType, "text/plain"}, 415, "unsupported_media_type"},
		"broken content type": {"POST", "/v1/sync", nil, []string{contentType, ";;;"}, 415, "unsupported_media_type"},
		"compressed":          {"POST", "/v1/sync", nil, append([]string{"Content-Encoding", "gzip"}, pb...), 415, "unsupported_content_encoding"},
		"empty body":          {"POST", "/v1/sync", nil, pb, 400, "bad_request"},
		"not protobuf":        {"POST", "/v1/sync", []byte("hello, world"), pb, 400, "bad_request"},
		"truncated":           {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1, Proxy: "p"})[:10], pb, 400, "bad_request"},
		"invalid UTF-8":       {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1, Proxy: "\xff"}), pb, 400, "bad_request"},
		"no context":          {"POST", "/v1/sync", encoded(wire.SyncRequest{Seq: 1, Workers: one("a", 9)}), pb, 400, "bad_request"},
		"no seq":              {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Workers: one("a", 9)}), pb, 400, "bad_request"},
		"too many workers":    {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1, Workers: many}), pb, 400, "bad_request"},
		"worker twice":        {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1, Workers: append(one("a", 9), one("a", 9)...)}), pb, 400, "bad_request"},
		"worker without id":   {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1, Workers: one("", 9)}), pb, 400, "bad_request"},
		"long worker id":      {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1, Workers: one(core.WorkerID(long), 9)}), pb, 400, "bad_request"},
		"long proxy":          {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1, Proxy: long}), pb, 400, "bad_request"},
		"long version":        {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1, FilterVersion: long}), pb, 400, "bad_request"},
		"too many ages": {"POST", "/v1/sync", encoded(wire.SyncRequest{Context: 2, Seq: 1, Workers: []wire.WorkerGauge{
			{ID: "a", Generation: 1, Inflight: 9, RecentAges: []uint32{1, 2, 3, 4, 5}},
		}}), pb, 400, "bad_request"},
		"large body":           {"POST", "/v1/sync", make([]byte, 4097), pb, 413, "payload_too_large"},
		"JSON: not JSON":       {"POST", "/v1/sync", []byte("{"), inJSON, 400, "bad_request"},
		"JSON: an array":       {"POST", "/v1/sync", []byte("[]"), inJSON, 400, "bad_request"},
		"JSON: typing mistake": {"POST", "/v1/sync", []byte(`{"context":"2","seq":"1","wrokers":[]}`), inJSON, 400, "bad_request"},
		"JSON: negative":       {"POST", "/v1/sync", []byte(`{"context":"2","seq":"1","workers":[{"id":"a","inflight":-1}]}`), inJSON, 400, "bad_request"},
		"JSON: no context":     {"POST", "/v1/sync", []byte(`{}`), inJSON, 400, "bad_request"},
	}
	before, version := s.board.Workers(), s.board.Counts().Version
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := s.do(t, c.method, c.path, c.body, c.headers...)
			requireEnvelope(t, a, c.status, c.code)
		})
	}
	require.Equal(t, version, s.board.Counts().Version)
	require.Equal(t, 1, s.board.Counts().Contexts)
	require.Equal(t, before[1].Inflight, s.board.Workers()[1].Inflight)
}

func requireEnvelope(t testing.TB, a answer, status int, code string) {
	t.Helper()
	require.Equal(t, status, a.status, a.body)
	require.Equal(t, "application/json", a.header.Get(contentType))
	var e map[string]map[string]string
	require.NoError(t, json.Unmarshal([]byte(a.body), &e))
	require.Equal(t, code, e["error"]["code"])
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	require.Equal(t, kind, e["error"]["type"])
	require.NotEmpty(t, e["error"]["message"])
}

func TestServer_chunkedBodyIsBoundedToo(t *testing.T) {
	s := newStage(t, nil)
	req, err := http.NewRequest("POST", s.url+"/v1/sync", struct{ *strings.Reader }{strings.NewReader(strings.Repeat("x", 5000))})
	require.NoError(t, err)
	req.Header.Set(contentType, protobuf)
	resp, err := s.client.Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode)
}

func TestServer_headersAreBounded(t *testing.T) {
	s := newStage(t, nil)
	var headers []string
	for i := range 20 {
		headers = append(headers, fmt.Sprintf("x-h%d", i), "1")
	}
	requireEnvelope(t, s.do(t, "GET", "/v1/workers", nil, headers...), 431, "too_many_headers")
	req, err := http.NewRequest("GET", s.url+"/v1/workers", nil)
	require.NoError(t, err)
	req.Header.Set("x-long", strings.Repeat("x", 16<<10))
	resp, err := s.client.Do(req)
	if err != nil {
		require.ErrorIs(t, err, syscall.ECONNRESET, "the server hung up before all was sent")
		return
	}
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 431, resp.StatusCode)
	require.Contains(t, resp.Header.Get("content-type"), "text/plain", "net/http's own, as README.md says")
}

func TestServer_contextsAreBounded(t *testing.T) {
	s := newStage(t, nil)
	for context := uint64(1); context <= 3; context++ {
		a := s.do(t, "POST", "/v1/sync", encoded(wire.SyncRequest{Context: context, Seq: 1}), contentType, protobuf)
		require.Equal(t, http.StatusOK, a.status)
	}
	a := s.do(t, "POST", "/v1/sync", encoded(wire.SyncRequest{Context: 4, Seq: 1}), contentType, protobuf)
	requireEnvelope(t, a, 503, "too_many_contexts")
	require.Equal(t, "1", a.header.Get("Retry-After"))
	require.Contains(t, s.do(t, "GET", "/metrics", nil).body, `pointsman_state_syncs_total{result="too_many_contexts"} 1`)
	a = s.do(t, "POST", "/v1/sync", encoded(wire.SyncRequest{Context: 4, Seq: 1, Idle: true}), contentType, protobuf)
	require.Equal(t, http.StatusOK, a.status, "an idle context takes no place")
}

func TestServer_refusesEarlyWhenEverySlotIsTaken(t *testing.T) {
	s := newStage(t, func(c *config.Config) { c.Limits.MaxConcurrent = 1 })
	refuses := func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		_, err = fmt.Fprintf(conn, "POST /v1/sync HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: 10\r\n\r\n", protobuf)
		require.NoError(t, err)
		a := s.do(t, "GET", "/v1/workers", nil)
		if a.status != http.StatusServiceUnavailable {
			return false // it took the place first
		}
		requireEnvelope(t, a, 503, "overloaded")
		require.Equal(t, http.StatusOK, s.do(t, "GET", "/healthz", nil).status, "urgent routes are answered all the same")
		require.Equal(t, http.StatusOK, s.do(t, "GET", "/readyz", nil).status)
		return true
	}
	for deadline := time.Now().Add(20 * time.Second); !refuses(); {
		require.True(t, time.Now().Before(deadline))
	}
}

func TestServer_connectionsAreBounded(t *testing.T) {
	s := newStage(t, func(c *config.Config) { c.Limits.MaxConnections = 1 })
	address := strings.TrimPrefix(s.url, "http://")
	require.Equal(t, http.StatusOK, s.do(t, "GET", "/healthz", nil).status) // its connection stays open
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
	require.NotErrorIs(t, err, timeoutError(err), "closed, not left hanging")
	s.client.CloseIdleConnections()
}

func timeoutError(err error) error {
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return err
	}
	return http.ErrAbortHandler
}

func TestServer_token(t *testing.T) {
	s := newStage(t, func(c *config.Config) { c.Token = "s3cret" })
	for _, header := range []string{"", "s3cret", "Basic s3cret", "Bearer", "Bearer s3cre", "Bearer s3cret2", "Bearer S3CRET"} {
		a := s.do(t, "GET", "/v1/workers", nil, "Authorization", header)
		requireEnvelope(t, a, 401, "unauthorized")
		require.Equal(t, "Bearer", a.header.Get("WWW-Authenticate"))
	}
	requireEnvelope(t, s.do(t, "POST", "/v1/sync", encoded(wire.SyncRequest{Context: 1, Seq: 1}), contentType, protobuf), 401, "unauthorized")
	requireEnvelope(t, s.do(t, "GET", "/", nil), 401, "unauthorized")
	for _, header := range []string{"Bearer s3cret", "bearer s3cret"} {
		require.Equal(t, http.StatusOK, s.do(t, "GET", "/v1/workers", nil, "Authorization", header).status)
	}
	require.Equal(t, "ready\n", s.do(t, "GET", "/readyz?verbose", nil).body, "no names without the token")
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		require.Equal(t, http.StatusOK, s.do(t, "GET", path, nil).status, path)
	}
}

func TestServer_workers(t *testing.T) {
	s := newStage(t, nil)
	a := s.do(t, "GET", "/v1/workers", nil)
	require.Equal(t, http.StatusOK, a.status)
	require.JSONEq(t, `{"contexts":0,"workers":[
	 {"id":"a","address":"127.0.0.1:1","url":"http://127.0.0.1:1","models":["m"],"adapters":[],"role":"plain",
	  "healthy":true,"health":"up","draining":false,"generation":1,"recoveries":0,"inflight":0,"open_breakers":0,
	  "load":{"age_ms":"AGE","running":3,"waiting":0}},
	 {"id":"<script>b","address":"127.0.0.1:1","url":"http://127.0.0.1:1","models":["m"],"adapters":[],"role":"plain",
	  "healthy":true,"health":"up","draining":false,"generation":1,"recoveries":0,"inflight":0,"open_breakers":0,
	  "load":null,"probe_error":"<img src=x>"}]}`, ageless.ReplaceAllString(a.body, `"age_ms":"AGE"`))
}

func TestServer_statusPageEscapes(t *testing.T) {
	s := newStage(t, nil)
	a := s.do(t, "GET", "/", nil)
	require.Equal(t, http.StatusOK, a.status)
	require.Contains(t, a.body, "&lt;script&gt;b")
	require.NotContains(t, a.body, "<script>")
	require.NotContains(t, a.body, "<img")
	require.Contains(t, a.body, "v1 &amp; co")
	require.Contains(t, a.header.Get("Content-Security-Policy"), "default-src 'none'")
}

func TestServer_readyz(t *testing.T) {
	s := newStage(t, nil)
	require.Equal(t, "ready\n", s.do(t, "GET", "/readyz", nil).body)
	verbose := s.do(t, "GET", "/readyz?verbose", nil).body
	require.Contains(t, verbose, "workers 2, healthy 2, with fresh load 1\n")
	require.Contains(t, verbose, "worker <script>b (up): <img src=x>\n")
	s.Drain()
	a := s.do(t, "GET", "/readyz", nil)
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, "stopping\n", a.body)
	a = s.do(t, "POST", "/v1/sync", encoded(wire.SyncRequest{Context: 1, Seq: 1}), contentType, protobuf)
	require.Equal(t, http.StatusOK, a.status, "requests are answered while draining")
	require.Equal(t, http.StatusOK, s.do(t, "GET", "/healthz", nil).status)
}

// A restarted service must not tell contexts that every engine is down.
func TestServer_syncWaitsForTheFirstVerdicts(t *testing.T) {
	s := newStage(t, nil)
	s.engines.ready = make(chan struct{})
	a := s.do(t, "POST", "/v1/sync", encoded(wire.SyncRequest{Context: 1, Seq: 1}), contentType, protobuf)
	requireEnvelope(t, a, 503, "starting")
	require.Equal(t, http.StatusServiceUnavailable, s.do(t, "GET", "/readyz", nil).status)
	requireEnvelope(t, s.do(t, "POST", "/v1/sync", []byte("x"), contentType, protobuf), 400, "bad_request")
}
