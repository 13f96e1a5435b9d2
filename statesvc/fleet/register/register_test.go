package register_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/pointsman/pointsman/statesvc/fleet/register"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type deaf struct{}

func (deaf) Describe(core.Worker, uint64)                                {}
func (deaf) Remove(core.WorkerID)                                        {}
func (deaf) Report(core.WorkerID, uint64, core.LoadReport, core.Instant) {}
func (deaf) AnsweredWithin(core.WorkerID, core.Instant) bool             { return false }

// rig is a registry over a fleet with one static worker, which watches nothing.
type rig struct {
	*register.Registry
	fleet *fleet.Fleet
}

func open(t *testing.T, file string) rig {
	t.Helper()
	cfg, err := config.Parse([]byte("version: 1\nfleet: {static: [{id: s1, address: '10.0.0.1:8000'}]}"), func(string) string { return "" })
	require.NoError(t, err)
	f := fleet.New(fleet.Options{Config: cfg, Sink: deaf{}, Clock: func() core.Instant { return 0 }, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(f.Stop)
	r, err := register.New(register.Options{Fleet: f, StateFile: file, MaxStringBytes: 256})
	require.NoError(t, err)
	r.Start()
	return rig{r, f}
}

func worker(t *testing.T, text string) config.Worker {
	t.Helper()
	w, err := config.ParseWorker([]byte(text), 256)
	require.NoError(t, err)
	return w
}

func (r rig) ids() string {
	var ids []string
	for _, s := range r.fleet.Status() {
		id := string(s.Worker.ID)
		if s.Worker.Draining {
			id += " draining"
		}
		ids = append(ids, id)
	}
	return strings.Join(ids, ", ")
}

func TestRegistry_registersOnceHoweverOften(t *testing.T) {
	r := open(t, "")
	o, err := r.Register(worker(t, "{address: '10.0.0.2:8000', role: decode}"))
	require.NoError(t, err)
	require.True(t, o.Changed)
	require.True(t, o.Present)
	require.Equal(t, "10.0.0.2:8000", o.ID)
	require.Equal(t, []claims.Source{claims.HTTP}, o.Worker.Sources)
	o, err = r.Register(worker(t, "{address: '10.0.0.2:8000', role: decode}"))
	require.NoError(t, err)
	require.False(t, o.Changed)
	o, err = r.Register(worker(t, "{address: '10.0.0.2:8000', id: two, role: prefill}"))
	require.NoError(t, err)
	require.True(t, o.Changed)
	require.Equal(t, "two", o.ID)
	require.Equal(t, "s1, two", r.ids())
	o, err = r.Remove("two")
	require.NoError(t, err)
	require.True(t, o.Changed)
	require.False(t, o.Present)
	o, err = r.Remove("two")
	require.NoError(t, err)
	require.False(t, o.Changed)
	require.Equal(t, "s1", r.ids())
}

func TestRegistry_conflicts(t *testing.T) {
	r := open(t, "")
	_, err := r.Register(worker(t, "{address: '10.0.0.2:8000', id: s1}"))
	var conflict *register.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.EqualError(t, err, `the id "s1" is that of 10.0.0.1:8000 (static); remove that one first or take another`)
	require.Equal(t, "s1", r.ids(), "nothing stays of it")
	o, err := r.Register(worker(t, "{address: '10.0.0.2:8000', id: two}"))
	require.NoError(t, err)
	require.True(t, o.Present)
	_, err = r.Register(worker(t, "{address: '10.0.0.3:8000', id: two}"))
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, "s1, two", r.ids())
}

func TestRegistry_staticWorkers(t *testing.T) {
	r := open(t, "")
	_, err := r.Remove("s1")
	require.EqualError(t, err, "worker s1 is named by static and stays as long as that does; remove it there, or drain it here")
	o, err := r.Drain("s1", true)
	require.NoError(t, err)
	require.True(t, o.Changed)
	require.Equal(t, []string{claims.Operator}, o.Worker.DrainedBy)
	o, err = r.Drain("s1", true)
	require.NoError(t, err)
	require.False(t, o.Changed)
	require.Equal(t, "s1 draining", r.ids())

	o, err = r.Register(worker(t, "{address: '10.0.0.1:8000', id: mine}"))
	require.NoError(t, err)
	require.Equal(t, "s1", o.ID, "one address is one worker, and the static list names it")
	require.Equal(t, []claims.Source{claims.Static, claims.HTTP}, o.Worker.Sources)
	o, err = r.Remove("s1")
	require.NoError(t, err)
	require.True(t, o.Changed)
	require.True(t, o.Present)
	require.Equal(t, "s1 draining", r.ids(), "the order outlasts the registration")
	_, err = r.Drain("s1", false)
	require.NoError(t, err)
	require.Equal(t, "s1", r.ids())
	_, err = r.Drain("nobody", true)
	require.ErrorIs(t, err, register.ErrUnknown)
	_, err = r.Drain("nobody", false)
	require.ErrorIs(t, err, register.ErrUnknown)
}

func TestRegistry_registersDraining(t *testing.T) {
	r := open(t, "")
	o, err := r.Register(worker(t, "{address: '10.0.0.2:8000', draining: true}"))
	require.NoError(t, err)
	require.Equal(t, []string{claims.Operator}, o.Worker.DrainedBy)
	o, err = r.Register(worker(t, "{address: '10.0.0.2:8000'}"))
	require.NoError(t, err)
	require.True(t, o.Worker.Config.Draining, "a worker that registers again lifts no order")
	_, err = r.Drain("10.0.0.2:8000", false)
	require.NoError(t, err)
	require.Equal(t, "10.0.0.2:8000, s1", r.ids())
	_, err = r.Drain("10.0.0.2:8000", true)
	require.NoError(t, err)
	_, err = r.Remove("10.0.0.2:8000")
	require.NoError(t, err)
	o, err = r.Register(worker(t, "{address: '10.0.0.2:8000'}"))
	require.NoError(t, err)
	require.False(t, o.Worker.Config.Draining, "removal ends the order")
}

func TestRegistry_remembersOverARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.yaml")
	r := open(t, file)
	_, err := r.Register(worker(t, "{url: 'http://10.0.0.2:8000', role: decode, models: [m], services: [p/s], kv: {events: 'tcp://10.0.0.2:5557', ranks: 2}}"))
	require.NoError(t, err)
	_, err = r.Register(worker(t, "{address: '10.0.0.3:8000', id: three}"))
	require.NoError(t, err)
	_, err = r.Drain("s1", true)
	require.NoError(t, err)

	again := open(t, file)
	require.Equal(t, "10.0.0.2:8000, s1 draining, three", again.ids())
	w, ok := again.fleet.Find("10.0.0.2:8000")
	require.True(t, ok)
	require.Equal(t, "decode", w.Config.Role)
	require.Equal(t, 2, w.Config.KV.RankCount())
	o, err := again.Register(worker(t, "{url: 'http://10.0.0.2:8000', role: decode, models: [m], services: [p/s], kv: {events: 'tcp://10.0.0.2:5557', ranks: 2}}"))
	require.NoError(t, err)
	require.False(t, o.Changed)

	require.NoError(t, os.WriteFile(file, []byte("workers: [{address: x}]"), 0o600))
	_, err = register.New(register.Options{Fleet: again.fleet, StateFile: file, MaxStringBytes: 256})
	require.ErrorContains(t, err, "workers[0].address")
	_, err = register.New(register.Options{Fleet: again.fleet, StateFile: filepath.Join(file, "none", "x"), MaxStringBytes: 256})
	require.Error(t, err)
}

// An order that cannot be kept is not carried out.
func TestRegistry_isUndoneWhenItCannotBeKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.Mkdir(dir, 0o700))
	r := open(t, filepath.Join(dir, "state.yaml"))
	require.NoError(t, os.Remove(dir))
	_, err := r.Register(worker(t, "{address: '10.0.0.2:8000'}"))
	require.ErrorContains(t, err, "the order is not carried out, as it cannot be kept")
	require.Equal(t, "s1", r.ids())
	_, err = r.Drain("s1", true)
	require.Error(t, err)
	require.Equal(t, "s1", r.ids())
}

func TestRegistry_callersAtOnce(t *testing.T) {
	r := open(t, filepath.Join(t.TempDir(), "state.yaml"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			w := config.Worker{Address: fmt.Sprintf("10.0.1.%d:8000", i+1), Endpoint: config.Addressed(fmt.Sprintf("10.0.1.%d", i+1), 8000)}
			id := w.Endpoint.HostPort()
			for range 5 {
				_, err := r.Register(w)
				if err == nil {
					_, err = r.Drain(id, true)
				}
				if err == nil {
					_, err = r.Remove(id)
				}
				if err == nil {
					_, err = r.Register(w)
				}
				if err != nil {
					panic(err)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, r.fleet.Status(), 9)
	require.NotContains(t, r.ids(), "draining")
}
