package envoytest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// lent is an Envoy that goes from test to test.
type lent struct {
	*Envoy
	dir, watched string // files are written in the one and moved to the other
	threads      int
	written      int     // files so far
	vms          float64 // without a test's
}

func startLent(t testing.TB, o Options, p parts) (*lent, error) {
	t.Helper()
	//nolint:usetesting // the Envoy outlives the test that starts it
	dir, err := os.MkdirTemp("", "envoy-")
	if err != nil {
		return nil, err
	}
	e := &lent{Envoy: newEnvoy("", FreePort(t)), dir: dir, watched: filepath.Join(dir, "watched"), threads: max(o.Concurrency, 1)}
	if err := e.start(Binary(t, o.Version), o.Module, p); err != nil {
		e.end()
		return nil, fmt.Errorf("envoy %s: %w\n%s", o.Version, err, e.log)
	}
	return e, nil
}

// start runs the process with nothing to serve, and waits until it has compiled the
// module.
func (e *lent) start(binary, module string, p parts) error {
	doc := maps.Clone(p.rest)
	ed := editor{}
	doc["admin"] = document{"address": ed.socket(e.admin)}
	doc["bootstrap_extensions"] = []any{keptModule(module)}
	doc["dynamic_resources"] = document{"lds_config": e.source("listeners"), "cds_config": e.source("clusters")}
	text, err := json.Marshal(doc)
	path := filepath.Join(e.dir, "bootstrap.json")
	if err := errors.Join(ed.err, err, os.Mkdir(e.watched, 0o700), e.place("listeners", nil), e.place("clusters", nil), os.WriteFile(path, text, 0o600)); err != nil {
		return err
	}
	// Nothing that a test has had goes on after it.
	if err := e.spawn(e.threads, "wasm:info", binary, path, nil, "--drain-time-s", "0", "--drain-strategy", "immediate"); err != nil {
		return err
	}
	if err := e.await("it is not live", e.live); err != nil {
		return err
	}
	e.vms, err = e.stat(activeVMs)
	return err
}

const (
	activeVMs        = "wasm.envoy.wasm.runtime.v8.active"
	createdListeners = "listener_manager.listener_create_success" // by each thread
)

// keptModule is a VM on the main thread that nobody sends anything. V8 keeps compiled
// code for as long as any VM of the process has it.
func keptModule(path string) document {
	const filter = `{"version":1,"proxy":"kept","workers":[{"id":"none","address":"127.0.0.1:1","models":["none"]}],
		"models":{"none":{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"random"}}}}]}}}`
	return document{"name": "envoy.bootstrap.wasm", "typed_config": document{
		"@type":     "type.googleapis.com/envoy.extensions.wasm.v3.WasmService",
		"singleton": true,
		"config": document{
			"name": "kept", "root_id": "kept",
			"configuration": document{"@type": "type.googleapis.com/google.protobuf.StringValue", "value": filter},
			"vm_config":     document{"vm_id": "kept", "runtime": "envoy.wasm.runtime.v8", "code": document{"local": document{"filename": path}}},
		},
	}}
}

func (e *lent) source(name string) document {
	return document{
		"resource_api_version": "V3",
		"path_config_source":   document{"path": e.file(name), "watched_directory": document{"path": e.watched}},
	}
}

func (e *lent) file(name string) string { return filepath.Join(e.watched, name+".json") }

// place puts a file where Envoy looks for it in one move: Envoy must never read half
// of one, and follows moves only.
func (e *lent) place(name string, resources []any) error {
	e.written++
	if resources == nil {
		resources = []any{}
	}
	text, err := json.Marshal(document{"version_info": strconv.Itoa(e.written), "resources": resources})
	if err != nil {
		return err
	}
	draft := filepath.Join(e.dir, name+".json")
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return err
	}
	return os.Rename(draft, e.file(name))
}

// serve gives the Envoy a test's clusters, and when they are ready its listener.
func (e *lent) serve(p parts) error {
	e.from = len(e.log.String())
	created, err := e.stat(createdListeners)
	if err != nil {
		return err
	}
	if err := e.update("clusters", "cluster_manager.cds", p.clusters); err != nil {
		return err
	}
	if err := e.await("clusters are not ready", func() bool { return e.is("cluster_manager.warming_clusters", 0) }); err != nil {
		return err
	}
	if err := e.update("listeners", "listener_manager.lds", p.listeners); err != nil {
		return err
	}
	return e.await("not every thread listens", func() bool { return e.is(createdListeners, created+float64(e.threads)) })
}

// clear takes all from the Envoy that is of a test, and waits until it is gone.
func (e *lent) clear() error {
	if err := e.update("listeners", "listener_manager.lds", nil); err != nil {
		return err
	}
	if err := e.update("clusters", "cluster_manager.cds", nil); err != nil {
		return err
	}
	if err := e.await("the test's VMs do not end", func() bool { return e.is(activeVMs, e.vms) }); err != nil {
		return err
	}
	_, err := e.ask(http.MethodPost, "/reset_counters")
	return err
}

// end ends the process.
func (e *lent) end() {
	if e.cmd != nil && e.cmd.Process != nil {
		e.Kill()
	}
	_ = os.RemoveAll(e.dir)
}

// update writes resources and waits until the Envoy has taken them over.
func (e *lent) update(name, stats string, resources []any) error {
	taken, err := e.stat(stats + ".update_success")
	if err != nil {
		return err
	}
	refused, err := e.stat(stats + ".update_rejected")
	if err != nil {
		return err
	}
	if err := e.place(name, resources); err != nil {
		return err
	}
	no := false
	err = e.await(name+" are not looked at", func() bool {
		no = e.is(stats+".update_rejected", refused+1)
		return no || e.is(stats+".update_success", taken+1)
	})
	if err == nil && no {
		err = fmt.Errorf("envoy refuses %s", name)
	}
	return err
}

// await waits for something that the Envoy brings about.
func (e *lent) await(what string, done func() bool) error {
	for deadline := time.Now().Add(180 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if e.Exited() {
			return errors.New("envoy ended")
		}
		if time.Now().After(deadline) {
			return errors.New(what)
		}
	}
	return nil
}

// is reports whether a number is known and has a value.
func (e *lent) is(stat string, want float64) bool {
	n, err := e.stat(stat)
	return err == nil && n == want
}

// stat reads one number, 0 before it was used.
func (e *lent) stat(name string) (float64, error) {
	stats, err := e.Stats(name)
	return stats[name], err
}
