package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// bySession keeps sessions on the engines that they are bound to.
const bySession = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]}}`

// release is a build of the filter, in a file that is named by its version.
type release struct{ version, path string }

// nextRelease is the present source built as another version, once for a process.
var nextRelease = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "next-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "filter.wasm")
	cmd := exec.Command("go", "run", "./cmd/wasmbuild", "-o", path, "-version", "next")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(path)
})

// releases are two builds of the filter.
func releases(t *testing.T) (former, next release) {
	t.Helper()
	code, err := nextRelease()
	require.NoError(t, err)
	next = release{"next", filepath.Join(t.TempDir(), "filter-next.wasm")}
	require.NoError(t, os.WriteFile(next.path, code, 0o600))
	return release{"test", module.Module(t)}, next
}

// compiling is how long Envoy may take for a module that it has not seen. Its main
// thread compiles it, and does nothing else meanwhile.
const compiling = 3 * time.Minute

// replaceModule has Envoy run another build with the same configuration, and waits
// until it has taken it. A build that still serves older connections is not started
// again, and says nothing in the log.
func (u *updatable) replaceModule(r release) {
	u.t.Helper()
	before, _, err := u.dynamic.Updates()
	require.NoError(u.t, err)
	u.writeModule(r.path)
	require.Eventually(u.t, func() bool {
		taken, _, err := u.dynamic.Updates()
		return err == nil && taken > before && strings.Contains(u.log(), "filter "+r.version+" (")
	}, compiling, 50*time.Millisecond, "%s does not start: %s", r.version, lazy(u.log))
}

func (u *updatable) writeModule(path string) {
	u.t.Helper()
	u.dynamic.SetModule(path)
	u.dynamic.Write(u.t, []byte(u.setup.filter(u.host)))
}

// TestUpgrade replaces the module by another build, by a file that is none, and puts
// the former build back. No request fails, though nothing is retried; sessions stay
// where they were bound, and what is in flight stays counted, once.
//
// The drain time is far above the time for compiling: Envoy counts it from before.
func TestUpgrade(t *testing.T) {
	former, next := releases(t)
	for _, h := range updateHosts() {
		t.Run(h.name, func(t *testing.T) {
			b := newBackend(t, namedEngines(3, "m"))
			u := b.newUpdatable(t, h, "--drain-time-s", "600", "--drain-strategy", "immediate")
			u.setup.models = bySession
			require.True(t, u.offer(bySession))
			u.client.Transport.(*http.Transport).DisableKeepAlives = true
			bound := u.bindSessions(16)
			u.upgradeUnderLoad(next)
			u.requireBound(bound)
			u.rollBackWithRequestsInFlight(b, former)
			u.requireBound(bound)
		})
	}
}

func (u *updatable) upgradeUnderLoad(next release) {
	u.t.Helper()
	loads := []*connectedLoad{u.connected(3, true), u.connected(3, false)}
	u.replaceModule(next)
	u.refuseModule()
	for _, l := range loads {
		served := l.counts()["ok"]
		u.eventually(func() bool { return l.counts()["ok"] > served+100 }, "the load stands still")
	}
	for _, l := range loads {
		l.stop()
		require.Len(u.t, l.counts(), 1, "%v", l.counts())
	}
	u.awaitInflight(0)
}

func (u *updatable) rollBackWithRequestsInFlight(b *backend, former release) {
	u.t.Helper()
	u.eachEngine(func(e *fakes.Engine) { e.Hang(fakes.HangInference) })
	first := u.hold(4, chatBody("m", 50))
	u.awaitInflight(4)
	u.replaceModule(former)
	second := u.hold(3, chatBody("m", 50))
	u.awaitInflight(7)
	u.awaitSyncs()
	total, ok := b.state.total()
	require.True(u.t, ok)
	require.EqualValues(u.t, 7, total)
	u.eachEngine(func(e *fakes.Engine) { e.Hang(fakes.HangNothing) })
	require.Equal(u.t, map[string]int{"ok": 4}, first.outcomes())
	require.Equal(u.t, map[string]int{"ok": 3}, second.outcomes())
	u.awaitInflight(0)
}

// refuseModule offers a file that is no module: Envoy keeps what it has.
func (u *updatable) refuseModule() {
	u.t.Helper()
	path := filepath.Join(u.t.TempDir(), "filter.wasm")
	require.NoError(u.t, os.WriteFile(path, []byte("no module"), 0o600))
	_, before, err := u.dynamic.Updates()
	require.NoError(u.t, err)
	u.writeModule(path)
	u.eventually(func() bool {
		_, refused, err := u.dynamic.Updates()
		return err == nil && refused == before+1
	}, "Envoy does not refuse a file that is no module")
}

// bindSessions binds n sessions and gives the engine of each.
func (u *updatable) bindSessions(n int) map[string]string {
	u.t.Helper()
	bound := map[string]string{}
	for i := range n {
		key := fmt.Sprintf("session-%d", i)
		u.eventually(func() bool {
			bound[key] = u.askAs(key)
			return bound[key] != "" && u.askAs(key) == bound[key]
		}, "%s is not bound", key)
	}
	return bound
}

// requireBound wants every session where it was.
func (u *updatable) requireBound(bound map[string]string) {
	u.t.Helper()
	for key, engine := range bound {
		require.Equal(u.t, engine, u.askAs(key), key)
	}
}

// askAs sends a request of a session and gives the engine that answered.
func (u *updatable) askAs(key string) string {
	u.t.Helper()
	header := jsonHeader()
	header.Set("X-Session-Id", key)
	return u.do(http.MethodPost, "/v1/chat/completions", header, strings.NewReader(chatBody("m", 50))).engine()
}
