package tokenizers

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/engine"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
)

// lookEvery is how often the fleet is looked at, so how long a change of it takes to
// show here. For a model that is not known it is looked at sooner, and no sooner
// than lookAgain after the last time, whatever clients ask for.
const (
	lookEvery = time.Second
	lookAgain = 50 * time.Millisecond
)

// maxModels bounds the models that nobody configured and engines are asked about.
const maxModels = 1024

// Fleet is the engines.
type Fleet interface{ Status() []fleet.Status }

// Options are a Keeper's facts. All are required.
type Options struct {
	Config config.Tokenize
	Fleet  Fleet
	Logger *slog.Logger
}

// Keeper is the tokenizers of all models. It is safe for concurrent use. Start and
// Stop are called once each.
type Keeper struct {
	opts   Options
	http   *http.Client
	turns  *tokenize.Turns
	roster roster

	looking sync.Mutex
	looked  time.Time // last time

	mu     sync.RWMutex
	models map[string]*model

	stop    context.CancelFunc
	running sync.WaitGroup
}

// model is one model's tokenizer.
type model struct {
	*tokenize.Model
	client   *engine.Client // nil when engines are not asked
	local    bool
	seen     uint64 // life of the engines that are compared with, 0 before any
	verified bool   // compared with these
}

// New opens the folders of the configuration. The error is a config.Problems that
// names every one that cannot be used.
func New(opts Options) (*Keeper, error) {
	k := &Keeper{opts: opts, models: map[string]*model{}, turns: tokenize.NewTurns(), stop: func() {}, http: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	var problems config.Problems
	for _, name := range slices.Sorted(maps.Keys(opts.Config.Models)) {
		m := opts.Config.Models[name]
		if err := k.add(name, &m); err != nil {
			problems = append(problems, badFolder(name, err))
		}
	}
	if len(problems) > 0 {
		k.close()
		return nil, problems
	}
	return k, nil
}

// Check names every folder that New would refuse.
func Check(c config.Tokenize) (problems config.Problems) {
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		if m := c.Models[name]; m.Dir != "" {
			if _, err := open(&m, 0); err != nil {
				problems = append(problems, badFolder(name, err))
			}
		}
	}
	return problems
}

func badFolder(name string, err error) config.Problem {
	return config.Problem{Path: "tokenize.models." + name + ".dir", Reason: err.Error()}
}

func open(m *config.ModelTokenizer, cacheBytes int64) (*tokenize.Local, error) {
	way := render.VLLM
	if m.Engine == config.EngineSGLang {
		way = render.SGLang
	}
	return tokenize.OpenLocal(m.Dir, way, cacheBytes)
}

func (k *Keeper) add(name string, c *config.ModelTokenizer) error {
	options := tokenize.Options{Name: name, Turns: k.turns, Trust: c.Trust, SampleEvery: k.opts.Config.SampleEvery}
	if options.SampleEvery == 0 {
		options.SampleEvery = -1
	}
	m := &model{local: c.Dir != ""}
	if m.local {
		local, err := open(c, k.opts.Config.CacheBytes)
		if err != nil {
			return err
		}
		for _, why := range local.Refusals {
			k.opts.Logger.Warn("a part of a model's tokenizer is not done here; engines are asked about it", "model", name, "why", why.Error())
		}
		if local.Unsettled != nil && !c.Asks() {
			k.opts.Logger.Warn("a part of a model's tokenizer is not done without engines to ask", "model", name, "why", local.Unsettled.Error())
		}
		options.Local = local
	}
	if c.Asks() {
		m.client = engine.New(engine.Options{
			HTTP: k.http, MaxCalls: k.opts.Config.MaxCalls, Timeout: k.opts.Config.TimeoutMillis.Duration(),
			BaseURL: func() (string, bool) { return k.roster.next(name) },
		})
		options.Engine = m.client
	}
	m.Model = tokenize.New(options)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.models[name] = m
	return nil
}

// Start begins to follow the fleet.
func (k *Keeper) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.stop = cancel
	k.running.Go(func() { k.run(ctx) })
}

// Stop ends everything that runs.
func (k *Keeper) Stop() {
	k.stop()
	k.running.Wait()
	k.close()
}

func (k *Keeper) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, m := range k.models {
		m.close()
	}
	k.http.CloseIdleConnections()
}

func (m *model) close() {
	m.Close()
	if m.client != nil {
		m.client.Close()
	}
}

func (k *Keeper) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		k.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look follows the fleet and compares what is due.
func (k *Keeper) look(ctx context.Context) {
	k.refresh(0)
	for _, name := range k.names() {
		k.compare(ctx, name)
	}
}

// refresh takes in the fleet, unless that was done a shorter time ago.
func (k *Keeper) refresh(unless time.Duration) {
	k.looking.Lock()
	defer k.looking.Unlock()
	if time.Since(k.looked) < unless {
		return
	}
	k.roster.look(k.opts.Fleet.Status())
	if k.opts.Config.AskEngines {
		k.follow()
	}
	k.looked = time.Now()
}

// follow has the engines asked about the models that nobody configured, and forgets
// those that no engine serves any more.
func (k *Keeper) follow() {
	served, known := k.roster.names(), k.names()
	room := maxModels + len(k.opts.Config.Models) - len(known)
	for _, name := range served {
		if room > 0 && k.of(name) == nil {
			_ = k.add(name, &config.ModelTokenizer{}) // it has no folder that could be bad
			room--
		}
	}
	for _, name := range known {
		if _, configured := k.opts.Config.Models[name]; !configured && !slices.Contains(served, name) {
			k.forget(name)
		}
	}
}

func (k *Keeper) forget(name string) {
	k.mu.Lock()
	m := k.models[name]
	delete(k.models, name)
	k.mu.Unlock()
	m.close()
}

// compare holds a folder against the engines when that is due. An engine that begins
// anew may run another release, so that nothing holds that was shown before.
func (k *Keeper) compare(ctx context.Context, name string) {
	m := k.of(name)
	life := k.roster.life(name)
	if !m.local || m.client == nil || life == 0 {
		return
	}
	if m.seen != life {
		if m.seen != 0 {
			m.Reset()
		}
		m.seen, m.verified = life, false
	}
	if m.verified {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*lookEvery)
	defer cancel()
	if err := m.Verify(ctx); err != nil {
		return // no engine answers yet
	}
	m.verified = true
	c := m.Counts()
	k.opts.Logger.Info("tokenizer compared with an engine", "model", name, "as the engine's", c.Verified.String(), "different", c.Differing.String())
}

func (k *Keeper) of(name string) *model {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.models[name]
}

func (k *Keeper) names() []string {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return slices.Sorted(maps.Keys(k.models))
}

// Has reports whether the model has a tokenizer, here or at an engine.
func (k *Keeper) Has(name string) bool {
	if k.of(name) != nil {
		return true
	}
	if k.opts.Config.AskEngines {
		k.refresh(lookAgain)
	}
	return k.of(name) != nil
}

// Tokens implements tokenize.Source. A model without a tokenizer is estimated.
func (k *Keeper) Tokens(ctx context.Context, name string, dialect chat.Dialect, body string) (tokenize.Tokens, error) {
	if m := k.of(name); m != nil {
		return m.Tokens(ctx, dialect, body)
	}
	return tokenize.Set{}.Tokens(ctx, name, dialect, body)
}

// Serving lists the engines that serve a name, a model's or an adapter's. Callers do
// not change the list.
func (k *Keeper) Serving(name string) []string { return k.roster.of(name) }

// At gives the engine of a base URL, compared byte for byte (engine-selection.md 9.4);
// empty when none has it.
func (k *Keeper) At(url string) string { return k.roster.idAt(url) }

// Cut tells into how many tokens, or pairs of tokens, the engines of a name cut prompts,
// if they say so and all say the same.
func (k *Keeper) Cut(name string) (size int, bigram bool, err error) {
	switch c := k.roster.cutOf(name); {
	case c.differ:
		return 0, false, errors.New("the engines of this model have blocks of different sizes")
	case c.size == 0:
		return 0, false, errors.New("no engine of this model says its block size; write kv.remote.block_size")
	default:
		return c.size, c.bigram, nil
	}
}

// Counts gives what each model has done, by its name.
func (k *Keeper) Counts() map[string]tokenize.Counts {
	counts := map[string]tokenize.Counts{}
	for _, name := range k.names() {
		if m := k.of(name); m != nil {
			counts[name] = m.Counts()
		}
	}
	return counts
}
