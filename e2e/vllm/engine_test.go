//go:build vllm

package vllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/stretchr/testify/require"
)

const (
	model = "tiny"
	// block is the tokens of a block. vLLM's attention on CPUs takes multiples of 32.
	block = 32
	// patience is how long a server may take to start on a busy machine.
	patience = 10 * time.Minute
)

// engine is a vLLM server that a test can stop and start at one address.
type engine struct {
	t              testing.TB
	id, addr       string
	events, replay string // ports of its sockets
	cmd            *exec.Cmd
	log            syncBuffer
	done           chan struct{}
}

func newEngine(t testing.TB, id string) *engine {
	t.Helper()
	e := &engine{t: t, id: id, addr: envoytest.FreePort(t), events: freePort(t), replay: freePort(t)}
	t.Cleanup(e.stop)
	return e
}

func freePort(t testing.TB) string {
	t.Helper()
	_, port, err := net.SplitHostPort(envoytest.FreePort(t))
	require.NoError(t, err)
	return port
}

// modelDir is where make e2e-vllm puts the model.
func modelDir(t testing.TB) string {
	t.Helper()
	return filepath.Join(envoytest.Root(t), ".venv-vllm", "tiny-qwen3")
}

// start runs the server and does not wait. Its processes are a group, since it starts
// more of them.
func (e *engine) start() {
	e.t.Helper()
	_, port, err := net.SplitHostPort(e.addr)
	require.NoError(e.t, err)
	kv, err := json.Marshal(map[string]any{
		"enable_kv_cache_events": true, "publisher": "zmq", "topic": "kv-events",
		"endpoint": "tcp://*:" + e.events, "replay_endpoint": "tcp://*:" + e.replay,
	})
	require.NoError(e.t, err)
	e.cmd = exec.Command(filepath.Join(envoytest.Root(e.t), ".venv-vllm", "bin", "vllm"),
		"serve", modelDir(e.t), "--served-model-name", model, "--host", "127.0.0.1", "--port", port,
		"--dtype", "bfloat16", "--max-model-len", "4096", "--max-num-seqs", "8", "--enforce-eager",
		"--enable-prefix-caching", "--enable-prompt-tokens-details", "--block-size", fmt.Sprint(block), "--num-gpu-blocks-override", "1024",
		"--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--kv-events-config", string(kv))
	e.cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1", "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_CPU_OMP_THREADS_BIND=nobind", "OMP_NUM_THREADS=1", "CUDA_VISIBLE_DEVICES=")
	e.cmd.Stdout, e.cmd.Stderr = &e.log, &e.log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	require.NoError(e.t, e.cmd.Start())
	e.done = make(chan struct{})
	go func() { defer close(e.done); _ = e.cmd.Wait() }()
}

// await waits until the server answers.
func (e *engine) await() {
	e.t.Helper()
	deadline := time.Now().Add(patience)
	for !e.healthy() {
		select {
		case <-e.done:
			require.FailNow(e.t, "vllm ended", "%s", &e.log)
		case <-time.After(200 * time.Millisecond):
		}
		require.True(e.t, time.Now().Before(deadline), "vllm does not answer:\n%s", &e.log)
	}
}

func (e *engine) healthy() bool {
	resp, err := http.Get("http://" + e.addr + "/health")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// stop kills the server's processes and waits for the first of them.
func (e *engine) stop() {
	if e.cmd == nil {
		return
	}
	_ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL)
	<-e.done
	e.cmd = nil
}

// tokenize asks the server for the tokens of a request.
func (e *engine) tokenize(body []byte) []uint32 {
	e.t.Helper()
	var reply struct{ Tokens []uint32 }
	postJSON(e.t, "http://"+e.addr+"/tokenize", body, &reply)
	require.NotEmpty(e.t, reply.Tokens)
	return reply.Tokens
}

// postJSON sends a body and reads the answer, which is to be a good one.
func postJSON(t testing.TB, url string, body []byte, reply any) http.Header {
	t.Helper()
	client := http.Client{Timeout: 2 * time.Minute}
	resp, err := client.Post(url, "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", text)
	require.NoError(t, json.Unmarshal(text, reply), "%s", text)
	return resp.Header
}

// syncBuffer collects what a process says.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
