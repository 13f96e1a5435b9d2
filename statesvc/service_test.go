package statesvc_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fastHeader makes a service that notices things quickly.
const fastHeader = `version: 1
listen: 127.0.0.1:0
health: {interval_ms: 50, timeout_ms: 500, hang_after_ms: 500}
load: {interval_ms: 50, freshness_ms: 1000}
introspect: {interval_ms: 100}
shutdown: {drain_ms: 0}
`

func parse(t testing.TB, text string) *config.Config {
	t.Helper()
	cfg, err := config.Parse([]byte(text), func(name string) string {
		return map[string]string{"TOKEN": "s3cret"}[name]
	})
	require.NoError(t, err)
	return cfg
}

func fleetOf(engines ...*enginetest.Engine) string {
	var b strings.Builder
	b.WriteString("fleet:\n  static:\n")
	for i, e := range engines {
		fmt.Fprintf(&b, "    - {id: e%d, address: %q}\n", i+1, e.Address())
	}
	return b.String()
}

// start runs a service until the test ends.
func start(t testing.TB, text string) *statesvc.Service {
	t.Helper()
	s, err := statesvc.New(parse(t, text), statesvc.Options{})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(func() {
		require.NoError(t, s.Stop(context.Background()))
		http.DefaultClient.CloseIdleConnections()
	})
	select {
	case <-s.Ready():
	case <-time.After(20 * time.Second):
		require.Fail(t, "not ready")
	}
	return s
}

// sync posts one report over the filter's own encoder and decoder.
func sync(t *testing.T, s *statesvc.Service, r *wire.SyncRequest) *wire.SyncReply {
	t.Helper()
	resp, err := http.Post("http://"+s.Addr()+wire.SyncPath, wire.ContentType, bytes.NewReader(wire.AppendSyncRequest(nil, r)))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", body)
	reply, err := wire.DecodeSyncReply(body)
	require.NoError(t, err)
	return reply
}

type workerEntry struct {
	ID, Address, Role    string
	Models               []string
	Healthy, Draining    bool
	Generation, Inflight uint64
	Load                 map[string]uint64
	ProbeError           string `json:"probe_error"`
	LoadError            string `json:"load_error"`
	DescribeError        string `json:"describe_error"`
	Adapters             []struct{ Name, Base string }
	Bootstrap            int `json:"bootstrap_port"`
	Recoveries           uint64
}

func workers(t *testing.T, s *statesvc.Service) []workerEntry {
	t.Helper()
	resp, err := http.Get("http://" + s.Addr() + "/v1/workers")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	var list struct{ Workers []workerEntry }
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&list))
	return list.Workers
}

// eventually polls the worker list until the condition holds.
func eventually(t *testing.T, s *statesvc.Service, what string, holds func([]workerEntry) bool) []workerEntry {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		list := workers(t, s)
		if holds(list) {
			return list
		}
		require.True(t, time.Now().Before(deadline), "%s: %+v", what, list)
		time.Sleep(5 * time.Millisecond)
	}
}

func TestService_watchesEnginesAndAnswersSyncs(t *testing.T) {
	a, b := enginetest.Start(t), enginetest.Start(t)
	b.Set(func(s *enginetest.State) {
		s.Models = ""
		s.ServerInfo = `{"served_model_name":"q","disaggregation_mode":"prefill","disaggregation_bootstrap_port":8998,"dp_size":1}`
	})
	s := start(t, fastHeader+fleetOf(a, b))
	list := eventually(t, s, "both loaded", func(l []workerEntry) bool { return l[0].Load != nil && l[1].Load != nil })
	require.Equal(t, []string{"m"}, list[0].Models)
	require.Equal(t, "plain", list[0].Role)
	require.Equal(t, a.Address(), list[0].Address)
	require.EqualValues(t, 1000500, list[0].Generation)
	require.EqualValues(t, 8000, list[0].Load["kv_used"])
	require.Equal(t, "prefill", list[1].Role)
	require.Equal(t, 8998, list[1].Bootstrap)

	reply := sync(t, s, &wire.SyncRequest{Context: 7, Seq: 1})
	require.True(t, reply.Full)
	require.Len(t, reply.Workers, 2)
	require.Equal(t, core.StagePrefill, reply.Workers[1].Stage)
	gauge := wire.WorkerGauge{ID: "e1", Generation: 1000500, Inflight: 3}
	reply = sync(t, s, &wire.SyncRequest{Context: 7, Seq: 2, Replica: reply.Replica, Version: reply.Version, Workers: []wire.WorkerGauge{gauge}})
	require.False(t, reply.Full)
	require.EqualValues(t, 2, reply.Seq)
	other := sync(t, s, &wire.SyncRequest{Context: 8, Seq: 1})
	require.EqualValues(t, 3, other.States[0].OthersInflight)
	require.True(t, other.States[0].HasReport)
	require.Equal(t, core.Known(2), other.States[0].Report.Waiting)
}

func TestService_restartedEngineServesAgainWithinTwoSeconds(t *testing.T) {
	a := enginetest.Start(t)
	s := start(t, "version: 1\nlisten: 127.0.0.1:0\nshutdown: {drain_ms: 0}\n"+fleetOf(a))
	eventually(t, s, "up", func(l []workerEntry) bool { return l[0].Healthy })
	sync(t, s, &wire.SyncRequest{Context: 7, Seq: 1, Workers: []wire.WorkerGauge{{ID: "e1", Generation: 1000500, Inflight: 5}}})
	a.Stop()
	eventually(t, s, "down", func(l []workerEntry) bool { return !l[0].Healthy && l[0].ProbeError != "" })
	a.Set(func(st *enginetest.State) { st.Metrics = enginetest.VLLM(0, 0, 0, 2000.25) })
	a.Restart()
	began := time.Now()
	list := eventually(t, s, "up again", func(l []workerEntry) bool { return l[0].Healthy })
	t.Logf("serving %s after the restart", time.Since(began))
	require.EqualValues(t, 2000250, list[0].Generation)
	require.EqualValues(t, 1, list[0].Recoveries)
	require.Zero(t, list[0].Inflight, "a restarted engine starts at zero")
	reply := sync(t, s, &wire.SyncRequest{Context: 8, Seq: 1})
	require.EqualValues(t, 1, reply.Workers[0].Recoveries)
}

func get(t *testing.T, client *http.Client, url string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// certificate writes a self-signed pair and gives a client that trusts it.
func certificate(t *testing.T) (certFile, keyFile string, client *http.Client) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), 0o600))
	trusted := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	trusted.AddCert(parsed)
	client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}}
	t.Cleanup(client.CloseIdleConnections)
	return certFile, keyFile, client
}

func TestService_TLSAndToken(t *testing.T) {
	a := enginetest.Start(t)
	certFile, keyFile, client := certificate(t)
	s := start(t, fastHeader+fmt.Sprintf("tls: {cert_file: %q, key_file: %q}\ntoken_env: TOKEN\n", certFile, keyFile)+fleetOf(a))
	url := "https://" + s.Addr()
	status, _ := get(t, client, url+"/v1/workers")
	require.Equal(t, http.StatusUnauthorized, status)
	status, body := get(t, client, url+"/v1/workers", "Authorization", "Bearer s3cret")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"id":"e1"`)
	status, _ = get(t, client, url+"/readyz")
	require.Equal(t, http.StatusOK, status)
	client.CloseIdleConnections()
}

// A05: probes and descriptions that say the same again leave the load alone.
func TestService_A05_healthRefreshKeepsInflight(t *testing.T) {
	a := enginetest.Start(t)
	s := start(t, fastHeader+fleetOf(a))
	eventually(t, s, "up", func(l []workerEntry) bool { return l[0].Healthy })
	report := &wire.SyncRequest{Context: 7, Seq: 1, Workers: []wire.WorkerGauge{{ID: "e1", Generation: 1000500, Inflight: 6}}}
	sync(t, s, report)
	probed := a.Calls("/health")
	eventually(t, s, "probed again", func(l []workerEntry) bool {
		report.Seq++
		sync(t, s, report) // the context lives on
		require.EqualValues(t, 6, l[0].Inflight)
		return a.Calls("/health") > probed+5
	})
}

// A41: the service restarts with requests in flight. The next report of each
// context restores the truth, and it never falls below zero.
func TestService_A41_restartRecoversFromTheNextReports(t *testing.T) {
	a := enginetest.Start(t)
	text := fastHeader + fleetOf(a)
	first := start(t, text)
	eventually(t, first, "up", func(l []workerEntry) bool { return l[0].Healthy })
	gauge := wire.WorkerGauge{ID: "e1", Generation: 1000500, Inflight: 5}
	before := sync(t, first, &wire.SyncRequest{Context: 7, Seq: 1, Workers: []wire.WorkerGauge{gauge}})
	require.NoError(t, first.Stop(t.Context()))

	second := start(t, text)
	require.True(t, workers(t, second)[0].Healthy, "ready means that the engines have been probed")
	require.EqualValues(t, 1000500, workers(t, second)[0].Generation, "the generation outlives the service")
	gauge.Inflight = 4
	after := sync(t, second, &wire.SyncRequest{Context: 7, Seq: 2, Replica: before.Replica, Version: before.Version, Workers: []wire.WorkerGauge{gauge}})
	require.True(t, after.Full, "another instance knows nothing of that version")
	require.NotEqual(t, before.Replica, after.Replica)
	require.EqualValues(t, 4, workers(t, second)[0].Inflight)
	sync(t, second, &wire.SyncRequest{Context: 7, Seq: 3})
	require.Zero(t, workers(t, second)[0].Inflight)
}

// E14: syncs are answered at once while an engine's metrics page hangs.
func TestService_E14_syncsDoNotWaitForAScrape(t *testing.T) {
	a := enginetest.Start(t)
	a.Set(func(s *enginetest.State) { s.Delay = time.Minute })
	s := start(t, fastHeader+fleetOf(a))
	eventually(t, s, "up without load", func(l []workerEntry) bool { return l[0].Healthy && l[0].Load == nil })
	reply := sync(t, s, &wire.SyncRequest{Context: 7, Seq: 1})
	require.True(t, reply.Workers[0].Healthy)
	require.False(t, reply.States[0].HasReport)
}

func TestService_stopsGracefully(t *testing.T) {
	a := enginetest.Start(t)
	s := start(t, strings.Replace(fastHeader, "drain_ms: 0", "drain_ms: 60000", 1)+fleetOf(a))
	address := "http://" + s.Addr()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	ctx, cut := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	deadline := time.Now().Add(20 * time.Second)
	for status := 0; status != http.StatusServiceUnavailable; status, _ = get(t, client, address+"/readyz") {
		require.True(t, time.Now().Before(deadline))
	}
	sync(t, s, &wire.SyncRequest{Context: 7, Seq: 1}) // served while draining
	http.DefaultClient.CloseIdleConnections()
	client.CloseIdleConnections()
	cut()
	<-stopped
	_, err := client.Get(address + "/healthz")
	require.Error(t, err)
	require.NoError(t, s.Stop(t.Context()), "a second stop does nothing")
}

func TestService_startsOnceAndSaysWhyNot(t *testing.T) {
	a := enginetest.Start(t)
	s := start(t, fastHeader+fleetOf(a))
	require.ErrorContains(t, s.Start(t.Context()), "started before")
	other, err := statesvc.New(parse(t, strings.Replace(fastHeader, "127.0.0.1:0", s.Addr(), 1)+fleetOf(a)), statesvc.Options{})
	require.NoError(t, err)
	require.Empty(t, other.Addr())
	require.ErrorContains(t, other.Start(t.Context()), "listen: ")
	require.NoError(t, other.Stop(t.Context()))
}

func TestService_warnsWhenItIsOpenToTheNetwork(t *testing.T) {
	a := enginetest.Start(t)
	var log bytes.Buffer
	s, err := statesvc.New(parse(t, strings.Replace(fastHeader, "127.0.0.1:0", "0.0.0.0:0", 1)+fleetOf(a)),
		statesvc.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	require.NoError(t, s.Stop(t.Context()))
	require.Contains(t, log.String(), "without TLS")
	require.Contains(t, log.String(), "without a token")
}

// Ready is about verdicts, not about good ones: a fleet that is down is known.
func TestService_isReadyWithEveryEngineDown(t *testing.T) {
	a := enginetest.Start(t)
	a.Stop()
	s := start(t, fastHeader+fleetOf(a))
	reply := sync(t, s, &wire.SyncRequest{Context: 7, Seq: 1})
	require.Len(t, reply.Workers, 1)
	require.False(t, reply.Workers[0].Healthy)
	require.Equal(t, a.Address(), reply.Workers[0].Address)
	require.Contains(t, workers(t, s)[0].ProbeError, "connection refused")
}

// An engine's own load reports come before its metrics, and its events show in /v1/index.
func TestService_followsSockets(t *testing.T) {
	events, load := zmqtest.Start(t, "kv"), zmqtest.Start(t, "load")
	e := enginetest.Start(t)
	s := start(t, fastHeader+fmt.Sprintf("fleet: {static: [{id: e1, address: %q, kv: {events: %q, load: %q}}]}\n", e.Address(), events.Endpoint(), load.Endpoint()))
	deadline := time.Now().Add(20 * time.Second)
	for load.Subscribers() == 0 || events.Subscribers() == 0 {
		require.True(t, time.Now().Before(deadline))
		time.Sleep(time.Millisecond)
	}
	frame := append([]byte{0x9b, 0xa8}, "LoadStat\x09\x02\x1e\x64\x00\x05\x3c\x08\x07\x07"...)
	eventually(t, s, "native load", func(list []workerEntry) bool {
		load.SendAs(0, frame)
		l := list[0].Load
		return l["running"] == 9 && l["waiting_uncached"] == 5 && l["running_capacity"] == 8
	})
	events.Publish([]byte{0x92, 0xcb, 0, 0, 0, 0, 0, 0, 0, 0, 0x90})
	for {
		resp, err := http.Get("http://" + s.Addr() + "/v1/index")
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		if strings.Contains(string(body), `"trust":"full"`) {
			break
		}
		require.True(t, time.Now().Before(deadline), "%s", body)
		time.Sleep(5 * time.Millisecond)
	}
}
