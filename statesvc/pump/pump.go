package pump

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// look is how often the fleet is looked at. Streams notice most by themselves.
const look = 250 * time.Millisecond

// Fleet tells which engines there are. *fleet.Fleet is one.
type Fleet interface {
	Status() []fleet.Status
}

// Loads takes load reports. *board.Board is one.
type Loads interface {
	Report(id core.WorkerID, generation uint64, report core.LoadReport, at core.Instant)
}

// Options are a Pump's facts. All are required.
type Options struct {
	Config *config.Config
	Fleet  Fleet
	Loads  Loads
	Clock  func() core.Instant
	Logger *slog.Logger
	Seed   uint64 // random bits for the index
}

// Pump follows the engines.
type Pump struct {
	o        Options
	index    *kvindex.Index
	claims   claims
	ranks    sync.Map  // kvindex.Owner -> *rank
	decoders sync.Pool // of *decoding
	heard    heard     // of any engine's cache

	cancel  context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	engines map[string]*follower
}

// decoding is a decoder and the batch it fills.
type decoding struct {
	decoder engine.Decoder
	batch   batch
}

// New prepares a pump. Nothing runs before Start.
func New(o Options) *Pump {
	p := &Pump{o: o, cancel: func() {}, engines: map[string]*follower{}}
	p.claims.by = map[string]claim{}
	p.decoders.New = func() any { return new(decoding) }
	kv := &o.Config.KV
	p.index = kvindex.New(kvindex.Config{Budget: kv.BudgetBytes, Seed: o.Seed, Public: o.Config.Indexer.Listen != ""})
	return p
}

// Start begins to follow. It is called once.
func (p *Pump) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.running.Go(func() { p.watch(ctx) })
}

// Stop ends every goroutine and connection and returns when they have ended.
func (p *Pump) Stop() {
	p.cancel()
	p.running.Wait()
	p.settle(nil)
}

// Index is the index that the pump feeds.
func (p *Pump) Index() *kvindex.Index { return p.index }

func (p *Pump) watch(ctx context.Context) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		p.settle(p.o.Fleet.Status())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// settle makes the followers those of the fleet. Where another engine has taken a
// worker's ID the former one's is gone before the next begins.
func (p *Pump) settle(list []fleet.Status) {
	present := make(map[string]string, len(list))
	for i := range list {
		present[string(list[i].Worker.ID)] = list[i].URL
	}
	p.mu.Lock()
	var gone []*follower
	for id, f := range p.engines {
		if url, ok := present[id]; !ok || url != f.url {
			gone = append(gone, f)
			delete(p.engines, id)
		}
	}
	p.mu.Unlock()
	for _, f := range gone {
		f.cancel()
	}
	for _, f := range gone {
		f.stop()
	}
	for i := range list {
		p.follower(&list[i]).tell(&list[i])
	}
}

// follower finds or starts an engine's.
func (p *Pump) follower(s *fleet.Status) *follower {
	id := string(s.Worker.ID)
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.engines[id]
	if f == nil {
		f = newFollower(p, id, s.URL)
		p.engines[id] = f
		f.start()
	}
	return f
}

// nudge makes an engine's follower look again.
func (p *Pump) nudge(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.engines[id]; f != nil {
		f.nudge()
	}
}

// followers lists the present ones by ID.
func (p *Pump) followers() []*follower {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*follower, 0, len(p.engines))
	for _, f := range p.engines {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *follower) int { return strings.Compare(a.id, b.id) })
	return list
}
