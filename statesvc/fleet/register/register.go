// Package register keeps what callers of the service's HTTP API said of its workers:
// which ones they registered, and which ones, of any source, they drain. It is a source
// of claims beside the others, and can remember over a restart in a file.
package register

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
)

// ErrUnknown is the error of an order about a worker that no source names.
var ErrUnknown = errors.New("no such worker")

// ConflictError says why an order cannot be carried out as things stand.
type ConflictError struct{ Reason string }

func (e *ConflictError) Error() string { return e.Reason }

// Fleet is what the sources make up together. *fleet.Fleet is one.
type Fleet interface {
	claims.Sink
	Order(drained []string)
	Find(id core.WorkerID) (claims.Worker, bool)
	FindAddress(hostPort string) (claims.Worker, bool)
}

// Outcome is a worker after an order.
type Outcome struct {
	ID      string
	Changed bool // by this order
	Present bool // some source names the worker
	Worker  claims.Worker
}

// Options are a Registry's facts. Fleet is required.
type Options struct {
	Fleet          Fleet
	StateFile      string // empty: nothing is kept over a restart
	MaxStringBytes int
}

// Registry takes orders. It is safe for concurrent use; orders are carried out one by
// one, and one that returned without an error is in the state file.
type Registry struct {
	o Options

	mu    sync.Mutex
	state config.Remembered
}

// New reads the state file, if there is one.
func New(o Options) (*Registry, error) {
	r := &Registry{o: o}
	if o.StateFile == "" {
		return r, nil
	}
	text, err := config.ReadFile(o.StateFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return r, writable(o.StateFile)
	case err != nil:
		return nil, err
	}
	r.state, err = config.ParseRemembered(text, o.MaxStringBytes)
	return r, err
}

// writable tries that a file can be made where there is none yet.
func writable(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".pointsman-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Start tells the fleet what is remembered.
func (r *Registry) Start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.Fleet.Order(r.state.Drained)
	r.say(r.state.Workers)
}

func (r *Registry) say(workers []config.Worker) []claims.Conflict {
	list := make([]claims.Claim, len(workers))
	for i := range workers {
		list[i].Worker = workers[i]
	}
	return r.o.Fleet.Say(claims.HTTP, list)
}

// Register adds a worker, or replaces what was registered of its address before. The ID
// may be empty. draining in it is an order as Drain's; left out, it lifts none.
func (r *Registry) Register(w config.Worker) (Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	drain := w.Draining
	w.Draining = false
	address := w.Endpoint.HostPort()
	former := slices.IndexFunc(r.state.Workers, func(o config.Worker) bool { return o.Endpoint.HostPort() == address })
	next := slices.Clone(r.state.Workers)
	changed := true
	switch {
	case former >= 0:
		changed = !sameWorker(&next[former], &w)
		next[former] = w
	case len(next) >= config.MaxWorkers:
		return Outcome{}, &ConflictError{fmt.Sprintf("%d workers are registered; that is the most", len(next))}
	default:
		next = append(next, w)
	}
	if conflicts := r.say(next); len(conflicts) > 0 {
		if i := slices.IndexFunc(conflicts, func(c claims.Conflict) bool { return c.Address == address }); i >= 0 {
			r.say(r.state.Workers)
			return Outcome{}, &ConflictError{conflicts[i].Reason + "; remove that one first or take another"}
		}
	}
	state := config.Remembered{Workers: next, Drained: r.state.Drained}
	id := address
	if found, ok := r.o.Fleet.FindAddress(address); ok {
		id = found.Config.ID
	}
	if drain && !slices.Contains(state.Drained, id) {
		state.Drained, changed = append(slices.Clone(state.Drained), id), true
	}
	return r.commit(id, state, changed)
}

// Remove withdraws a registration. A worker that nobody names is no error: it is gone
// already. One that only other sources name is a ConflictError: they would name it again.
func (r *Registry) Remove(id string) (Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := config.Remembered{Workers: slices.Clone(r.state.Workers), Drained: slices.Clone(r.state.Drained)}
	w, present := r.o.Fleet.Find(core.WorkerID(id))
	others := false
	state.Workers = slices.DeleteFunc(state.Workers, func(o config.Worker) bool {
		if present {
			return o.Endpoint.HostPort() == w.Config.Endpoint.HostPort()
		}
		return o.ID == id || o.Endpoint.HostPort() == id // one that counts for nothing
	})
	if present {
		others = slices.ContainsFunc(w.Sources, func(s claims.Source) bool { return s != claims.HTTP })
	}
	if others && len(state.Workers) == len(r.state.Workers) {
		return Outcome{}, &ConflictError{fmt.Sprintf("worker %s is named by %s and stays as long as that does; remove it there, or drain it here", id, w.Sources[0])}
	}
	if !others {
		state.Drained = slices.DeleteFunc(state.Drained, func(o string) bool { return o == id })
	}
	changed := len(state.Workers) != len(r.state.Workers) || len(state.Drained) != len(r.state.Drained)
	if changed {
		r.say(state.Workers)
	}
	return r.commit(id, state, changed)
}

// Drain orders that a worker of any source takes no new requests, or lifts that order.
// What a source itself says stays.
func (r *Registry) Drain(id string, drain bool) (Outcome, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ordered := slices.Contains(r.state.Drained, id)
	if _, present := r.o.Fleet.Find(core.WorkerID(id)); !present && (drain || !ordered) {
		return Outcome{}, ErrUnknown
	}
	drained := slices.DeleteFunc(slices.Clone(r.state.Drained), func(o string) bool { return o == id })
	if drain {
		drained = append(r.bounded(drained), id)
	}
	return r.commit(id, config.Remembered{Workers: r.state.Workers, Drained: drained}, drain != ordered)
}

// bounded forgets orders about workers that are gone when there are too many.
func (r *Registry) bounded(drained []string) []string {
	if len(drained) < config.MaxWorkers {
		return drained
	}
	return slices.DeleteFunc(drained, func(id string) bool {
		_, present := r.o.Fleet.Find(core.WorkerID(id))
		return !present
	})
}

// commit takes over a state that is saved. Else the fleet goes back to the former one.
func (r *Registry) commit(id string, state config.Remembered, changed bool) (Outcome, error) {
	if changed {
		if err := r.save(state); err != nil {
			r.say(r.state.Workers)
			return Outcome{}, fmt.Errorf("the order is not carried out, as it cannot be kept: %w", err)
		}
	}
	r.state = state
	r.o.Fleet.Order(state.Drained)
	w, present := r.o.Fleet.Find(core.WorkerID(id))
	return Outcome{ID: id, Changed: changed, Present: present, Worker: w}, nil
}

// save replaces the state file as a whole.
func (r *Registry) save(state config.Remembered) error {
	if r.o.StateFile == "" {
		return nil
	}
	text, err := state.Marshal()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(r.o.StateFile), ".pointsman-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), r.o.StateFile)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

func sameWorker(a, b *config.Worker) bool {
	return a.ID == b.ID && a.Endpoint == b.Endpoint && a.Role == b.Role && a.VersionGroup == b.VersionGroup &&
		a.Health == b.Health && a.Metrics == b.Metrics && sameKV(&a.KV, &b.KV) &&
		slices.Equal(a.Models, b.Models) && slices.Equal(a.Services, b.Services)
}

func sameKV(a, b *config.WorkerKV) bool {
	x, y := *a, *b
	x.Ranks, y.Ranks = nil, nil
	return x == y && a.RankCount() == b.RankCount()
}
