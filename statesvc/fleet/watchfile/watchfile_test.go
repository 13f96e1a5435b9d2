package watchfile_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims/claimstest"
	"github.com/pointsman/pointsman/statesvc/fleet/watchfile"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// replace renames a new file over the path, as careful writers do.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".tmp", text)
	require.NoError(t, os.Rename(path+".tmp", path))
}

func list(addresses ...string) string {
	if len(addresses) == 0 {
		return "workers: []\n"
	}
	return "workers:\n  - address: " + strings.Join(addresses, "\n  - address: ") + "\n"
}

// watch follows the path; nothing but events makes it read when interval is an hour.
func watch(t *testing.T, path string, interval config.Millis) *claimstest.Sink {
	t.Helper()
	sink := &claimstest.Sink{}
	w, err := watchfile.New(watchfile.Options{
		Config: config.FileDiscovery{Path: path, IntervalMillis: interval}, MaxStringBytes: 256,
		Sink: sink, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	w.Start()
	t.Cleanup(w.Stop)
	return sink
}

const hour = config.Millis(3_600_000)

func TestWatcher_followsRenamesAndWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "workers.yaml")
	write(t, path, list("10.0.0.1:8000"))
	sink := watch(t, path, hour)
	require.Equal(t, []string{"10.0.0.1:8000"}, sink.Addresses(), "told by Start itself")
	replace(t, path, list("10.0.0.1:8000", "10.0.0.2:8000"))
	sink.Await(t, "10.0.0.1:8000", "10.0.0.2:8000")
	write(t, path, `{"workers": [{"url": "http://10.0.0.3", "id": "c"}]}`)
	sink.Await(t, "10.0.0.3:80")
	require.Equal(t, "c", sink.List()[0].Worker.ID)
	replace(t, path, list())
	sink.Await(t)
	require.Empty(t, sink.Errors())
}

// A ConfigMap is a symlink through ..data, which is swapped to another folder.
func TestWatcher_followsAConfigMap(t *testing.T) {
	dir := t.TempDir()
	publish := func(version, text string) {
		require.NoError(t, os.Mkdir(filepath.Join(dir, version), 0o700))
		write(t, filepath.Join(dir, version, "workers.yaml"), text)
		require.NoError(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	publish("..one", list("10.0.0.1:8000"))
	path := filepath.Join(dir, "workers.yaml")
	require.NoError(t, os.Symlink(filepath.Join("..data", "workers.yaml"), path))
	sink := watch(t, path, hour)
	publish("..two", list("10.0.0.2:8000"))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "..one")))
	sink.Await(t, "10.0.0.2:8000")
	publish("..three", "workers: [{address: 10.0.0.3}]")
	claimstest.Eventually(t, func() bool { return len(sink.Errors()) > 0 }, sink.Errors)
	require.Equal(t, []string{"10.0.0.2:8000"}, sink.Addresses())
	publish("..four", list("10.0.0.4:8000"))
	sink.Await(t, "10.0.0.4:8000")
}

func TestWatcher_keepsTheFormerFleetWhileTheFileIsBad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "workers.yaml")
	write(t, path, list("10.0.0.1:8000"))
	sink := watch(t, path, hour)
	failures := 0
	for _, bad := range []struct{ text, want string }{
		{"workers:\n  - {address: '10.0.0.1:8000', rol", "not valid YAML"},
		{"", "the file is empty"},
		{"workers:\n", "workers: missing"},
		{"workers: [{address: x, role: both}, {address: '10.0.0.2:8000', id: a, models: ['']}]\nextra: 1\n", `4 problems:
  extra: unknown key; did you mean`},
	} {
		replace(t, path, bad.text)
		claimstest.Eventually(t, func() bool { return len(sink.Errors()) > failures }, sink.Errors)
		failures = len(sink.Errors())
		if !strings.Contains(bad.want, "did you mean") {
			require.Contains(t, sink.Errors()[failures-1], bad.want)
		} else {
			for _, problem := range []string{"4 problems", "extra: unknown key", "workers[0].address", "workers[0].role", "workers[1].models[0]"} {
				require.Contains(t, sink.Errors()[failures-1], problem, "all at once")
			}
		}
		require.Contains(t, sink.Errors()[failures-1], path)
	}
	require.NoError(t, os.Remove(path))
	claimstest.Eventually(t, func() bool { return len(sink.Errors()) > failures }, sink.Errors)
	require.Equal(t, []string{"10.0.0.1:8000"}, sink.Addresses())
	write(t, path, list("10.0.0.1:8000"))
	claimstest.Eventually(t, func() bool { return sink.Said() == 2 }, sink.Said)
	require.Equal(t, []string{"10.0.0.1:8000"}, sink.Addresses(), "said again, so that the failure is over")
}

// A file behind a symlink out of its directory changes without an event there.
func TestWatcher_readsAtIntervals(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "real.yaml")
	path := filepath.Join(t.TempDir(), "workers.yaml")
	write(t, elsewhere, list("10.0.0.1:8000"))
	require.NoError(t, os.Symlink(elsewhere, path))
	sink := watch(t, path, 150)
	replace(t, elsewhere, list("10.0.0.2:8000"))
	sink.Await(t, "10.0.0.2:8000")
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	require.ErrorIs(t, watchfile.Check(filepath.Join(dir, "none"), 256), os.ErrNotExist)
	write(t, filepath.Join(dir, "bad"), "workers: [{}]")
	require.ErrorContains(t, watchfile.Check(filepath.Join(dir, "bad"), 256), "workers[0].address: missing")
	write(t, filepath.Join(dir, "good"), list("a:1"))
	require.NoError(t, watchfile.Check(filepath.Join(dir, "good"), 256))
	require.ErrorContains(t, watchfile.Check(dir, 256), "is a directory")
}
