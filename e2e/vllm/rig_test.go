//go:build vllm

package vllm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/stretchr/testify/require"
)

var module envoytest.Builder

func TestMain(m *testing.M) {
	code := m.Run()
	if err := module.Close(); err != nil && code == 0 {
		code = 1
	}
	os.Exit(code)
}

// filterConfig routes by the state service's index and says why. Waits are as long as a
// busy machine needs; a block is enough of a match. The bucket has a bound, so that prompts
// are counted, and what was sent a moment ago counts for nothing, so that receipts say what
// the engines told.
const filterConfig = `{"version":1,"proxy":"e2e","endpoint_mode":"override_host","worker_header":true,"receipts":"log",
	"state":{"cluster":"pointsman_state","call_stream":true,"observe_timeout_ms":10000,"pending_prefix_ms":0},
	"models":{"tiny":{"buckets":[{"id":"all","limits":{"max":4096},"groups":{"plain":{"policy":{"type":"cache_aware","source":"local","min_matched_tokens":32}}}}]}}}`

// rig is a fleet of vLLM servers, a state service and an Envoy.
type rig struct {
	t       *testing.T
	engines map[string]*engine
	state   string // the state service's address
	envoy   *envoytest.Envoy
	log     syncBuffer // of the state service
}

// newRig starts everything and waits until the filter routes by the index.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, engines: map[string]*engine{}, state: envoytest.FreePort(t)}
	var addrs []string
	for _, id := range []string{"one", "two"} {
		e := newEngine(t, id)
		r.engines[id] = e
		addrs = append(addrs, e.addr)
		e.start()
	}
	wasm := module.Module(t)
	for _, e := range r.engines {
		e.await()
	}
	r.startState()
	r.envoy = envoytest.Start(t, envoytest.Options{
		Version: "1.40.0", Bootstrap: envoytest.OverrideHost, Module: wasm, Filter: []byte(filterConfig),
		State: r.state, Engines: addrs, Concurrency: 2,
	})
	r.eventually(func() bool { return r.healthy() == len(r.engines) && r.routed() }, "the engines are not routed to")
	r.eventually(func() bool {
		page := r.ofState("/metrics")
		return strings.Contains(page, `pointsman_state_tokens_verified{feature="chat",model="tiny"} 1`) &&
			strings.Contains(page, `pointsman_state_tokens_verified{feature="tools",model="tiny"} 1`)
	}, "the tokenizer is not verified")
	return r
}

func (r *rig) startState() {
	r.t.Helper()
	var file strings.Builder
	fmt.Fprintf(&file, "version: 1\nlisten: %q\ntokenize: {timeout_ms: 20000, sample_every: 1, models: {%s: {dir: %q, engine: vllm}}}\nfleet:\n  static:\n", r.state, model, modelDir(r.t))
	for _, e := range r.engines {
		fmt.Fprintf(&file, "    - {id: %s, address: %q}\n", e.id, e.addr)
	}
	cfg, err := config.Parse([]byte(file.String()), os.Getenv)
	require.NoError(r.t, err)
	service, err := statesvc.New(cfg, statesvc.Options{Logger: slog.New(slog.NewTextHandler(&r.log, nil))})
	require.NoError(r.t, err)
	require.NoError(r.t, service.Start(context.Background()))
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = service.Stop(ctx)
	})
}

// eventually waits for something that other parts bring about.
func (r *rig) eventually(done func() bool, format string, args ...any) {
	r.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(r.t, fmt.Sprintf(format, args...), "%s\n%s", r.log.String(), r.ofState("/v1/index"))
		}
	}
}

// ofState gets a page of the state service.
func (r *rig) ofState(path string) string {
	r.t.Helper()
	return get(r.t, "http://"+r.state+path)
}

// routed reports whether the proxy knows the model.
func (r *rig) routed() bool { return strings.Contains(get(r.t, r.envoy.URL()+"/v1/models"), model) }

// healthy counts the engines that take requests.
func (r *rig) healthy() (n int) {
	for _, w := range r.workers() {
		if w.Healthy {
			n++
		}
	}
	return n
}

type worker struct {
	ID         string
	Healthy    bool
	Generation uint64
}

func (r *rig) workers() map[string]worker {
	r.t.Helper()
	var doc struct{ Workers []worker }
	require.NoError(r.t, json.Unmarshal([]byte(r.ofState("/v1/workers")), &doc))
	rows := map[string]worker{}
	for _, w := range doc.Workers {
		rows[w.ID] = w
	}
	return rows
}

// held is how many tokens from the start of a prompt the index finds at an engine.
func (r *rig) held(worker string, prompt []uint32) int {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"tokens": prompt})
	require.NoError(r.t, err)
	var reply struct {
		Matches []struct {
			Worker string
			Tokens int
		}
	}
	postJSON(r.t, "http://"+r.state+"/v1/index/match", body, &reply)
	for _, m := range reply.Matches {
		if m.Worker == worker {
			return m.Tokens
		}
	}
	return 0
}

// receipt is what the filter logs of one decision.
var receipt = regexp.MustCompile(`model="tiny" input=(\d+) \(([a-z ]+)\).*; chose (\w+) by (\w+) of \d+(?:, holding (\d+) tokens by local(?:, \d+ ms old)?(, \w+)?)?`)

// receipts are all receipts so far, each with its parts.
func (r *rig) receipts() [][]string { return receipt.FindAllStringSubmatch(r.envoy.Log(), -1) }

func get(t testing.TB, url string) string {
	t.Helper()
	client := http.Client{Timeout: time.Minute}
	resp, err := client.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}
