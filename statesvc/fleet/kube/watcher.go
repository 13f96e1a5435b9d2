package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	discovery "k8s.io/api/discovery/v1"
	api "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// settle is how long after a change the union is told: the events of an endpoint's move
// between slices come one by one.
const settle = 100 * time.Millisecond

// Options are a Watcher's facts. All are required.
type Options struct {
	Config         config.KubernetesDiscovery
	MaxStringBytes int
	Slices         Slices
	Sink           claims.Sink
	Logger         *slog.Logger
}

// Watcher follows the slices. Start and Stop are called once each.
type Watcher struct {
	o        Options
	rules    rules
	selector string
	informer cache.SharedIndexInformer
	poked    chan struct{} // holds one token when there is something to tell
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu       sync.Mutex
	failed   string   // why the API server does not answer; empty when it does
	problems []string // that the log has
}

// New prepares a watcher. It fails when a selector cannot be read. Nothing is asked
// before Start.
func New(o Options) (*Watcher, error) {
	w := &Watcher{o: o, poked: make(chan struct{}, 1), stop: func() {}}
	w.rules = rules{port: o.Config.Port, maxStringBytes: o.MaxStringBytes}
	var err error
	if w.rules.prefill, err = config.EqualityTerms(o.Config.PrefillSelector); err != nil {
		return nil, err
	}
	if w.rules.decode, err = config.EqualityTerms(o.Config.DecodeSelector); err != nil {
		return nil, err
	}
	if w.selector, err = Selector(o.Config); err != nil {
		return nil, err
	}
	w.informer = cache.NewSharedIndexInformer(
		cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: w.list, WatchFuncWithContext: w.watch}, o.Slices),
		&discovery.EndpointSlice{}, 0, nil)
	return w, w.informer.SetTransform(trim)
}

// Selector is what the API server is asked for. The error says what it cannot read.
func Selector(c config.KubernetesDiscovery) (string, error) {
	terms := []string{}
	if c.Selector != "" {
		if _, err := labels.Parse(c.Selector); err != nil {
			return "", fmt.Errorf("selector: %w", err)
		}
		terms = append(terms, c.Selector)
	}
	if len(c.Services) > 0 {
		terms = append(terms, discovery.LabelServiceName+" in ("+strings.Join(c.Services, ",")+")")
	}
	return strings.Join(terms, ","), nil
}

// trim drops what is not read and would be kept for every slice.
func trim(object any) (any, error) {
	if s, ok := object.(*discovery.EndpointSlice); ok {
		s.ManagedFields = nil
	}
	return object, nil
}

// Start begins to follow. The sink hears nothing before the first list is whole.
func (w *Watcher) Start() {
	// client-go logs to the logger of its context, or else to standard error.
	ctx, cancel := context.WithCancel(logr.NewContextWithSlogLogger(context.Background(), w.o.Logger))
	w.stop = cancel
	poke := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { w.poke() },
		UpdateFunc: func(any, any) { w.poke() },
		DeleteFunc: func(any) { w.poke() },
	}
	// The error is of informers that were stopped before.
	_, _ = w.informer.AddEventHandler(poke)
	w.running.Go(func() { w.informer.RunWithContext(ctx) })
	w.running.Go(func() { w.follow(ctx) })
}

// Stop ends the watch and returns when everything has ended.
func (w *Watcher) Stop() {
	w.stop()
	w.running.Wait()
}

func (w *Watcher) poke() {
	select {
	case w.poked <- struct{}{}:
	default:
	}
}

func (w *Watcher) follow(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), w.informer.HasSynced) {
		return
	}
	w.tell()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.poked:
		}
		timer := time.NewTimer(settle)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		w.tell()
	}
}

// tell tells the sink the union of all slices.
func (w *Watcher) tell() {
	objects := w.informer.GetStore().List()
	list := make([]*discovery.EndpointSlice, 0, len(objects))
	for _, object := range objects {
		if s, ok := object.(*discovery.EndpointSlice); ok {
			list = append(list, s)
		}
	}
	found, problems := w.rules.claims(list)
	w.mu.Lock()
	for _, p := range problems {
		if !slices.Contains(w.problems, p) {
			w.o.Logger.Warn("an EndpointSlice is left out", "slice", p)
		}
	}
	w.problems = problems
	failed := w.failed
	w.mu.Unlock()
	w.o.Sink.Say(claims.Kubernetes, found)
	if failed != "" {
		w.o.Sink.Failed(claims.Kubernetes, errors.New(failed))
	}
}

func (w *Watcher) list(ctx context.Context, o meta.ListOptions) (runtime.Object, error) {
	o.LabelSelector = w.selector
	list, err := w.o.Slices.List(ctx, o)
	w.note(ctx, "list", err)
	return list, err
}

func (w *Watcher) watch(ctx context.Context, o meta.ListOptions) (watch.Interface, error) {
	o.LabelSelector = w.selector
	events, err := w.o.Slices.Watch(ctx, o)
	if o.SendInitialEvents == nil || !api.IsInvalid(err) { // an older server: the informer lists instead
		w.note(ctx, "watch", err)
	}
	return events, err
}

// note tells the sink that the API server does not answer, once for each reason, and
// that it does again.
func (w *Watcher) note(ctx context.Context, verb string, err error) {
	if ctx.Err() != nil {
		return
	}
	text := ""
	if err != nil {
		text = verb + " EndpointSlices: " + err.Error()
	}
	w.mu.Lock()
	former := w.failed
	w.failed = text
	w.mu.Unlock()
	switch {
	case text != "" && text != former:
		w.o.Sink.Failed(claims.Kubernetes, errors.New(text))
	case text == "" && former != "":
		w.poke()
	}
}
