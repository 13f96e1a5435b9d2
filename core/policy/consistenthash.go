package policy

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
)

// Defaults of Hashing.
const (
	DefaultLoadFactor  = 1.25
	DefaultLoadFloor   = 8
	DefaultPrefixBytes = 1024
)

// Hashing says what a ConsistentHash hashes and how unevenly it may load.
type Hashing struct {
	Key KeySource
	// LoadFactor times the mean is the most requests an engine may have in flight
	// before its keys go to their next engine; finite, at least 1.
	LoadFactor float64
	// LoadFloor is the number in flight below which no engine is passed over,
	// whatever the mean; at least 1.
	LoadFloor uint64
	// PrefixBytes is how much of the prompt is the key of KeyPrefix; at least 1.
	PrefixBytes int
}

// ConsistentHash sends requests of one key to one engine: that of the highest
// random weight for the key, or the next one while that is loaded far above the
// mean. It keeps no state, so all proxies that see the same fleet agree, and a
// worker that joins or leaves moves its own share of keys only. Requests
// without a key go by power_of_two. Single-threaded.
type ConsistentHash struct {
	observer
	hashing  Hashing
	keyless  *PowerOfTwo
	inflight []uint64 // of the candidates of the present pick
}

// NewConsistentHash makes a ConsistentHash. Hashing out of its ranges and a nil
// load view are a *core.ConfigError.
func NewConsistentHash(h Hashing, limits admission.Limits, loads LoadView) (*ConsistentHash, error) {
	switch {
	case !(h.LoadFactor >= 1) || math.IsInf(h.LoadFactor, 0):
		return nil, &core.ConfigError{Detail: fmt.Sprintf("consistent_hash: load factor %v; use a finite number of at least 1", h.LoadFactor)}
	case h.LoadFloor < 1:
		return nil, &core.ConfigError{Detail: "consistent_hash: load floor 0; use at least 1"}
	case h.PrefixBytes < 1:
		return nil, &core.ConfigError{Detail: fmt.Sprintf("consistent_hash: %d prefix bytes; use at least 1", h.PrefixBytes)}
	}
	o, err := newObserver("consistent_hash", limits, loads)
	if err != nil {
		return nil, err
	}
	keyless, err := NewPowerOfTwo(DefaultChoices, admission.Limits{}, loads)
	return &ConsistentHash{observer: o, hashing: h, keyless: keyless}, err
}

// Name is the policy's name in configuration.
func (p *ConsistentHash) Name() string { return "consistent_hash" }

// Supports reports nil for every stage an engine can play.
func (p *ConsistentHash) Supports(stage core.Stage) error { return anyStage(p.Name(), stage) }

// Pick takes the engine of the highest weight among the admitted ones within the
// load bound, else among the admitted ones: the bound is a preference, admission
// is not. A *core.NoAdmissibleError lists every rejection when none is admitted.
// Without a key it is power_of_two's pick, which admission is asked about once.
func (p *ConsistentHash) Pick(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	if len(engines) == 0 {
		return core.Pick{}, noCandidates(req)
	}
	key := p.key(req)
	if key == "" {
		return p.pickKeyless(engines, req)
	}
	winner, home := p.highest(engines, req, newWeigher(req.Model, key))
	switch winner {
	case nil:
		return core.Pick{}, p.exhausted(req)
	case home:
		return core.Pick{Worker: winner, Reason: core.ReasonConsistentHash}, nil
	}
	return core.Pick{Worker: winner, Reason: core.ReasonHashOverflow}, nil
}

// key gives the request's key, empty when it has none.
func (p *ConsistentHash) key(req *core.PickRequest) string {
	switch p.hashing.Key {
	case KeyRouting:
		return req.RoutingKey
	case KeyPrefix:
		return req.Prompt[:min(len(req.Prompt), p.hashing.PrefixBytes)]
	case KeySession:
	}
	return req.SessionKey
}

// pickKeyless takes what power_of_two picks without caps, and asks the policy's
// own admission about it.
func (p *ConsistentHash) pickKeyless(engines []*core.Worker, req *core.PickRequest) (core.Pick, error) {
	pick, err := p.keyless.Pick(engines, req)
	if err != nil {
		return core.Pick{}, err
	}
	return p.confirm(core.Pick{Worker: pick.Worker, Reason: core.ReasonNoKey}, req)
}

// highest finds the pick, nil when admission lets none through, and the key's
// home: the engine of the highest weight whatever its load. Admission is asked
// of those only that would win, so of all when it lets none through.
func (p *ConsistentHash) highest(engines []*core.Worker, req *core.PickRequest, weights weigher) (winner, home *core.Worker) {
	bound := p.bound(engines)
	p.rejections = p.rejections[:0]
	var top, won uint64
	within := false // the present winner is within the bound
	for i, w := range engines {
		weighs := weights.weight(w.ID)
		if home == nil || weighs > top {
			home, top = w, weighs
		}
		fits := p.inflight[i] < bound
		if winner != nil && (within && !fits || within == fits && weighs <= won) {
			continue
		}
		if p.try(w, req.Now) {
			winner, won, within = w, weighs, fits
		}
	}
	return winner, home
}

// bound is how many requests an engine may have in flight and still take one
// more: its share of them all, this one included, times the load factor, and at
// least the floor. Some candidate is always below it.
func (p *ConsistentHash) bound(engines []*core.Worker) uint64 {
	p.inflight = p.inflight[:0]
	total := uint64(1)
	for _, w := range engines {
		n := p.loads.Inflight(w)
		p.inflight = append(p.inflight, n)
		total = plus(total, n)
	}
	share := math.Ceil(p.hashing.LoadFactor * float64(total) / float64(len(engines)))
	if share >= math.MaxInt64 {
		return math.MaxUint64
	}
	return max(uint64(share), p.hashing.LoadFloor)
}

// weigher gives each worker its weight for a key. Model, key and ID are hashed
// apart, then together at a fixed width, so that no text of one can pass for
// text of another (field report A29).
type weigher [24]byte

func newWeigher(model, key string) (w weigher) {
	binary.LittleEndian.PutUint64(w[0:], xxhash.Sum64String(model))
	binary.LittleEndian.PutUint64(w[8:], xxhash.Sum64String(key))
	return w
}

func (w *weigher) weight(id core.WorkerID) uint64 {
	binary.LittleEndian.PutUint64(w[16:], xxhash.Sum64String(string(id)))
	return xxhash.Sum64(w[:])
}
