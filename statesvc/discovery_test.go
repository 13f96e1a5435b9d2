package statesvc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

func order(t *testing.T, s *statesvc.Service, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+s.Addr()+path, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// call posts a protobuf message and decodes the answer.
func call(t *testing.T, s *statesvc.Service, path string, in, out proto.Message) {
	t.Helper()
	body, err := proto.Marshal(in)
	require.NoError(t, err)
	resp, err := http.Post("http://"+s.Addr()+path, wire.ContentType, bytes.NewReader(body))
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", text)
	require.NoError(t, proto.Unmarshal(text, out))
}

func TestDiscovery_ordersOverHTTP(t *testing.T) {
	a, b := enginetest.Start(t), enginetest.Start(t)
	s := start(t, fastHeader+"discovery: {http: {enabled: true}}\n"+fleetOf(a))
	status, body := order(t, s, http.MethodPost, "/v1/workers", fmt.Sprintf(`{"id":"b","address":%q}`, b.Address()))
	require.Equal(t, http.StatusOK, status, body)
	eventually(t, s, "up", func(l []workerEntry) bool { return len(l) == 2 && l[0].ID == "b" && l[0].Healthy })

	scope := &wirepb.Scope{Digest: bytes.Repeat([]byte{1}, 16)}
	bound := &wirepb.BindReply{}
	call(t, s, wire.BindPath, &wirepb.BindRequest{Context: 7, Proposals: []*wirepb.Proposal{{Scope: scope, Worker: "b"}}}, bound)
	require.Equal(t, "b", bound.GetBindings()[0].GetWorker())

	status, body = order(t, s, http.MethodPost, "/v1/workers/e1/drain", "")
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"drained_by":["operator"],"note":"the worker is named by static`)
	require.True(t, workers(t, s)[1].Draining)
	status, body = order(t, s, http.MethodDelete, "/v1/workers/e1", "")
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, body, "worker e1 is named by static and stays as long as that does; remove it there, or drain it here")

	status, body = order(t, s, http.MethodDelete, "/v1/workers/b", "")
	require.Equal(t, http.StatusOK, status, body)
	require.Len(t, workers(t, s), 1)
	deadline := time.Now().Add(20 * time.Second)
	for {
		again := &wirepb.BindReply{}
		call(t, s, wire.BindPath, &wirepb.BindRequest{Context: 7, Proposals: []*wirepb.Proposal{{Scope: scope, Worker: "e1"}}}, again)
		if again.GetBindings()[0].GetWorker() == "e1" {
			break
		}
		require.True(t, time.Now().Before(deadline), "the binding to the engine that was removed is forgotten")
		time.Sleep(5 * time.Millisecond)
	}
	_, metrics := get(t, http.DefaultClient, "http://"+s.Addr()+"/metrics")
	require.Contains(t, metrics, `pointsman_state_bindings_removed_total{reason="worker_removed"} 1`)
	require.Contains(t, metrics, `pointsman_state_discovery_workers{source="http"} 0`)
}

// Without anything else to go by, a service that was restarted says nothing rather than
// telling contexts that there are no engines.
func TestDiscovery_registrationsOnly(t *testing.T) {
	e := enginetest.Start(t)
	file := filepath.Join(t.TempDir(), "state.yaml")
	begin := func(text string) *statesvc.Service {
		s, err := statesvc.New(parse(t, fastHeader+text), statesvc.Options{})
		require.NoError(t, err)
		require.NoError(t, s.Start(t.Context()))
		t.Cleanup(func() {
			require.NoError(t, s.Stop(context.Background()))
			http.DefaultClient.CloseIdleConnections()
		})
		return s
	}
	s := begin("discovery: {http: {enabled: true}}\n")
	status, body := get(t, http.DefaultClient, "http://"+s.Addr()+"/readyz?verbose")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "starting: nothing heard yet of discovery by http\n")
	status, body = order(t, s, http.MethodDelete, "/v1/workers/nobody", "")
	require.Equal(t, http.StatusOK, status, body)
	status, _ = get(t, http.DefaultClient, "http://"+s.Addr()+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status, "an order that changes nothing says nothing")
	register := fmt.Sprintf(`{"address":%q}`, e.Address())
	status, body = order(t, s, http.MethodPost, "/v1/workers", register)
	require.Equal(t, http.StatusOK, status, body)
	<-s.Ready()

	kept := fmt.Sprintf("discovery: {http: {enabled: true, state_file: %q}}\n", file)
	first := begin(kept)
	<-first.Ready()
	status, body = order(t, first, http.MethodPost, "/v1/workers", register)
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, first.Stop(t.Context()))
	second := begin(kept)
	<-second.Ready()
	require.Len(t, workers(t, second), 1)
}

func TestDiscovery_watchedFile(t *testing.T) {
	a, b := enginetest.Start(t), enginetest.Start(t)
	path := filepath.Join(t.TempDir(), "workers.yaml")
	put := func(text string) {
		require.NoError(t, os.WriteFile(path+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(path+".new", path))
	}
	put(fmt.Sprintf("workers: [{id: a, address: %q}]", a.Address()))
	s := start(t, fastHeader+fmt.Sprintf("discovery: {file: {path: %q}}\n", path))
	require.Equal(t, "a", ids(workers(t, s)))
	put(fmt.Sprintf("workers: [{id: a, address: %q, draining: true}, {id: b, address: %q}]", a.Address(), b.Address()))
	eventually(t, s, "b joins and a drains", func(l []workerEntry) bool { return ids(l) == "a b" && l[0].Draining && l[1].Healthy })
	put("workers: [{id: b, rolle: x}]")
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, text := get(t, http.DefaultClient, "http://"+s.Addr()+"/readyz?verbose")
		if strings.Contains(text, "discovery file: 2 workers: "+path+": 2 problems:;   workers[0].rolle: unknown key; did you mean role?") {
			break
		}
		require.True(t, time.Now().Before(deadline), text)
		time.Sleep(5 * time.Millisecond)
	}
	require.Equal(t, "a b", ids(workers(t, s)))
	_, metrics := get(t, http.DefaultClient, "http://"+s.Addr()+"/metrics")
	require.Contains(t, metrics, `pointsman_state_discovery_failing{source="file"} 1`)
	put(fmt.Sprintf("workers: [{id: b, address: %q}]", b.Address()))
	eventually(t, s, "a left", func(l []workerEntry) bool { return ids(l) == "b" })
}

func TestDiscovery_badFilesAreProblems(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "workers.yaml")
	require.NoError(t, os.WriteFile(path, []byte("workers: [{address: x}, {address: y}]"), 0o600))
	cfg := parse(t, fastHeader+fmt.Sprintf("discovery: {file: {path: %q}, http: {enabled: true, state_file: %q}}\n", path, dir))
	_, err := statesvc.New(cfg, statesvc.Options{})
	var problems config.Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 3)
	require.Equal(t, "discovery.file.path", problems[0].Path)
	require.Contains(t, problems[0].Reason, "workers[0].address")
	require.Equal(t, "discovery.http.state_file", problems[2].Path)
	require.Equal(t, problems, statesvc.Check(cfg))
}
