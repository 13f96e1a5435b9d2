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
// allocator allows hardly any import, garbage collections must not reach either.
// The shipped module imports no poller, and lives.
func TestW01_W02_garbage_collections_on_old_hosts(t *testing.T) {
	t.Parallel()
	path := module.Module(t)
	code, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := wasmfile.Parse(code)
	require.NoError(t, err)
	for _, i := range file.Imports {
		require.NotEqual(t, "poll_oneoff", i.Name)
	}
	body := largeBody()
	w := newVMOf(t, loadModule(t, path, hostsim.Envoy133), "", nil)
	for range 100 {
		require.True(t, w.sendLarge(body), "%v", w.vm.Failure())
	}
	w.requireWorks()
}

// The fault of W01 needs a timer, which starts Go's poller. The filter arms none,
// so a guest that does shows what the build's runtime is worth: with it the guest
// lives through a timer and a collection, with Go's own it dies.
func TestW01_the_runtime_that_is_built_in(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args  []string
		alive bool
	}{
		"shipped": {nil, true},
		"plain":   {[]string{"-plain-runtime"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := loadModule(t, buildGuest(t, tc.args...), hostsim.Envoy133)
			vm, err := m.NewVM(t.Context(), hostsim.VMOptions{})
			require.NoError(t, err)
			defer vm.Close()
			for range 20 {
				vm.NewStream(&hostsim.Recorder{}, hostsim.StreamOptions{}).RequestHeaders(hostsim.NewHeaders(
					[2]string{":method", "GET"}, [2]string{":path", "/"}, [2]string{":authority", "a"},
					[2]string{"x-do", "headers:timer: headers:gc: headers:gc:"}), true)
			}
			if tc.alive {
				require.NoError(t, vm.Failure())
				return
			}
			require.Error(t, vm.Failure(), "Go's own poller lives: these tests show nothing")
		})
	}
}

// buildGuest builds hostsim's steered guest as the filter is built.
func buildGuest(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", append([]string{"run", "./cmd/wasmbuild", "-o", path, "-pkg", "./hostsim/testdata/guests/steered"}, args...)...)
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
