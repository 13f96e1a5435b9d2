package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/wasmfile"
	"github.com/stretchr/testify/require"
)

// largeBody is a chat of exactly the largest size that is taken.
func largeBody() []byte {
	const limit = 32 << 20
	head, tail := `{"model":"m","messages":[{"role":"user","content":"`, `"}]}`
	return []byte(head + strings.Repeat("a", limit-len(head)-len(tail)) + tail)
}

// sendLarge routes one body of 32 MiB, which arrives in chunks of 1 MiB, and
// answers it. It reports false once the VM has died.
func (w *wasmVM) sendLarge(body []byte) bool {
	x := w.open()
	for at := 0; at < len(body); at += 1 << 20 {
		x.RequestData(body[at:min(at+1<<20, len(body))], false)
	}
	x.RequestData(nil, true)
	if w.vm.Failure() != nil {
		return false
	}
	require.NotEmpty(w.t, x.endpoint(), x.status())
	x.answer("200")
	w.tick()
	w.reply(fleetReply)
	return w.vm.Failure() == nil
}

// W01, W02: on a host whose poll_oneoff answers "not supported" and whose
// allocator allows hardly any import, a garbage collection kills a module with
// Go's own poller. The shipped module imports no poller and outlives the rounds
// that kill the other one.
func TestW01_W02_garbage_collections_on_old_hosts(t *testing.T) {
	t.Parallel()
	const rounds = 40
	shipped := module.Module(t)
	code, err := os.ReadFile(shipped)
	require.NoError(t, err)
	file, err := wasmfile.Parse(code)
	require.NoError(t, err)
	for _, i := range file.Imports {
		require.NotEqual(t, "poll_oneoff", i.Name)
	}
	body := largeBody()

	t.Run("shipped", func(t *testing.T) {
		w := newVMOf(t, loadModule(t, shipped, hostsim.Envoy133), "", nil)
		for range rounds {
			require.True(t, w.sendLarge(body), "%v", w.vm.Failure())
		}
		w.requireWorks()
	})
	t.Run("plain runtime", func(t *testing.T) {
		w := newVMOf(t, loadModule(t, plainRuntime(t), hostsim.Envoy133), "", func(o *hostsim.VMOptions) { o.Clock = hostsim.SystemClock{} })
		for round := range rounds {
			if !w.sendLarge(body) {
				t.Logf("dead in round %d: %v", round, w.vm.Failure())
				return
			}
		}
		require.Fail(t, "the module with Go's own poller lives: this test shows nothing")
	})
}

// plainRuntime builds the filter with Go's own poller.
func plainRuntime(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plain.wasm")
	cmd := exec.Command("go", "run", "./cmd/wasmbuild", "-o", path, "-plain-runtime")
	cmd.Dir = envoytest.Root(t)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return path
}

// W16: linear memory never shrinks, so it must stop growing: 200 bodies of
// 32 MiB through one VM.
func TestW16_memory_is_flat(t *testing.T) {
	t.Parallel()
	w := newVM(t, "", nil)
	body := largeBody()
	var warm int
	for i := range 200 {
		require.True(t, w.sendLarge(body), "%v", w.vm.Failure())
		if i == 2 {
			warm = w.vm.MemoryBytes()
		}
		w.trace.Reset()
	}
	t.Logf("%d MiB after the third body, %d MiB after 200", warm>>20, w.vm.MemoryBytes()>>20)
	// 6 GiB have gone through; what is allowed is the heap's own jitter.
	require.LessOrEqual(t, w.vm.MemoryBytes(), warm+4<<20)
	require.Less(t, warm, 200<<20)
	w.requireWorks()
}
