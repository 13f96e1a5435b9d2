// Package watchfile follows a file of workers. It watches the file's directory, so that
// a file renamed over it and the swapped symlink of a ConfigMap are seen, and reads the
// file anew at every interval, for file systems that tell nothing.
//
// A file that cannot be used changes nothing: what was read before stays, and the sink is
// told of every problem.
package watchfile

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
)

// quiet is how long a directory must be without events before the file is read: a file
// that is being written piece by piece is not read in the middle.
const quiet = 100 * time.Millisecond

// Options are a Watcher's facts. All are required.
type Options struct {
	Config         config.FileDiscovery
	MaxStringBytes int
	Sink           claims.Sink
	Logger         *slog.Logger
}

// Watcher follows one file. Start and Stop are called once each.
type Watcher struct {
	o      Options
	last   []byte // text that was read last, good or bad
	first  []claims.Claim
	stop   context.CancelFunc
	ending sync.WaitGroup
}

// New reads the file for the first time. The error names every problem.
func New(o Options) (*Watcher, error) {
	w := &Watcher{o: o, stop: func() {}}
	text, err := config.ReadFile(o.Config.Path)
	if err != nil {
		return nil, err
	}
	w.last = text
	w.first, err = w.parse(text)
	return w, err
}

// Check names every problem of the file at the path.
func Check(path string, maxStringBytes int) error {
	_, err := New(Options{Config: config.FileDiscovery{Path: path}, MaxStringBytes: maxStringBytes})
	return err
}

func (w *Watcher) parse(text []byte) ([]claims.Claim, error) {
	workers, err := config.ParseRoster(text, w.o.MaxStringBytes)
	if err != nil {
		return nil, err
	}
	list := make([]claims.Claim, len(workers))
	for i := range workers {
		list[i].Worker = workers[i]
	}
	return list, nil
}

// Start tells the sink what New read and begins to follow the file.
func (w *Watcher) Start() {
	w.o.Sink.Say(claims.File, w.first)
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	events := w.watchDirectory()
	w.ending.Go(func() {
		if events != nil {
			defer func() { _ = events.Close() }()
		}
		w.follow(ctx, events)
	})
}

// Stop ends the watch.
func (w *Watcher) Stop() {
	w.stop()
	w.ending.Wait()
}

// watchDirectory gives nil where the system cannot tell of changes.
func (w *Watcher) watchDirectory() *fsnotify.Watcher {
	events, err := fsnotify.NewWatcher()
	if err == nil {
		if err = events.Add(filepath.Dir(w.o.Config.Path)); err == nil {
			return events
		}
		_ = events.Close()
	}
	w.o.Logger.Warn("the system does not tell of changes to the file of workers; it is read at every interval",
		"path", w.o.Config.Path, "interval_ms", w.o.Config.IntervalMillis, "error", err)
	return nil
}

func (w *Watcher) follow(ctx context.Context, events *fsnotify.Watcher) {
	var changed <-chan fsnotify.Event
	var failed <-chan error
	if events != nil {
		changed, failed = events.Events, events.Errors
	}
	interval := time.NewTicker(w.o.Config.IntervalMillis.Duration())
	defer interval.Stop()
	settled := time.NewTimer(0)
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
			settled.Reset(quiet)
		case err := <-failed:
			w.o.Logger.Warn("changes of the file of workers were missed; it is read", "path", w.o.Config.Path, "error", err)
			settled.Reset(quiet)
		case <-settled.C:
			w.read()
		case <-interval.C:
			settled.Reset(quiet)
		}
	}
}

// read takes over the file if its text is another than last time.
func (w *Watcher) read() {
	text, err := config.ReadFile(w.o.Config.Path)
	if err != nil {
		w.last = nil
		w.o.Sink.Failed(claims.File, fmt.Errorf("read the file of workers: %w", err))
		return
	}
	if w.last != nil && bytes.Equal(text, w.last) {
		return
	}
	w.last = text
	list, err := w.parse(text)
	if err != nil {
		w.o.Sink.Failed(claims.File, fmt.Errorf("%s: %w", w.o.Config.Path, err))
		return
	}
	w.o.Sink.Say(claims.File, list)
}
