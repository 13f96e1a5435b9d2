package envoytest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Dynamic is an Envoy that reads its listener from a file and follows the file,
// so that its filter configuration can be replaced while it serves.
type Dynamic struct {
	*Envoy
	options Options
	dir     string // watched by the Envoy
	staging string // on the same file system
	written int    // listeners written so far
}

// StartDynamic runs an Envoy with the shipped bootstrap's listener moved to a
// file, and waits until it listens. Flags are added to Envoy's command line.
func StartDynamic(t testing.TB, o Options, flags ...string) *Dynamic {
	t.Helper()
	d := &Dynamic{
		Envoy:   newEnvoy(FreePort(t), FreePort(t)),
		options: o, dir: t.TempDir(), staging: t.TempDir(),
	}
	if d.options.State == "" {
		d.options.State = FreePort(t)
	}
	config, err := d.split()
	require.NoError(t, err)
	d.run(t, d.options, Binary(t, o.Version), config, flags...)
	require.Eventually(t, d.live, 60*time.Second, 50*time.Millisecond, "envoy %s is not live:\n%s", o.Version, d.log)
	return d
}

// Write replaces the filter configuration. It returns as soon as the file is in
// place; Updates tells when Envoy has taken it.
func (d *Dynamic) Write(t testing.TB, filter []byte) {
	t.Helper()
	d.options.Filter = filter
	_, err := d.split()
	require.NoError(t, err)
}

// Updates counts the listener files that Envoy has taken and those that it has
// refused.
func (d *Dynamic) Updates() (taken, refused int, err error) {
	stats, err := d.Stats("listener_manager.lds.update_")
	return int(stats["listener_manager.lds.update_success"]), int(stats["listener_manager.lds.update_rejected"]), err
}

// split writes the listener to its file and gives the rest of the bootstrap.
func (d *Dynamic) split() ([]byte, error) {
	whole, err := bootstrap(d.options, d.addr, d.admin)
	if err != nil {
		return nil, err
	}
	var doc document
	if err := json.Unmarshal(whole, &doc); err != nil {
		return nil, err
	}
	resources := doc["static_resources"].(document)
	listener := resources["listeners"].([]any)[0].(document)
	listener["@type"] = "type.googleapis.com/envoy.config.listener.v3.Listener"
	delete(resources, "listeners")
	path := filepath.Join(d.dir, "listener.json")
	doc["dynamic_resources"] = document{"lds_config": document{
		"resource_api_version": "V3",
		"path_config_source":   document{"path": path, "watched_directory": document{"path": d.dir}},
	}}
	if err := d.place(path, listener); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

// place puts the listener's file where Envoy looks for it in one move: Envoy must
// never read half a file, and follows moves only.
func (d *Dynamic) place(path string, listener document) error {
	d.written++
	file, err := json.Marshal(document{"version_info": strconv.Itoa(d.written), "resources": []any{listener}})
	if err != nil {
		return err
	}
	draft := filepath.Join(d.staging, "listener.json")
	if err := os.WriteFile(draft, file, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, path)
}

// SetModule has the next Write name another module. Envoy reads a module when its
// listener changes, so that each build needs a name of its own.
func (d *Dynamic) SetModule(path string) { d.options.Module = path }
