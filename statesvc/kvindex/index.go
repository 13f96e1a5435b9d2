package kvindex

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents"
)

// Config of an Index.
type Config struct {
	// Budget bounds the accounted memory in bytes; 0 for none.
	Budget int64
	// MaxCopies bounds how many copies of one hash on one tier are counted, 1..255;
	// 1 makes a plain set. 0 is DefaultMaxCopies. RATIONALE.md argues the choice.
	MaxCopies uint8
	// Seed of the chained hash. Give it random bits: whoever knows it can make two
	// prompts look alike.
	Seed uint64
	// Now is the clock of last uses and pending prefixes; time.Now when nil.
	Now func() time.Time
	// PendingTTL is how long a credited prefix counts; 0 turns crediting off.
	PendingTTL time.Duration
	// PendingMax bounds the records of credited blocks; 0 is 2^20 (engine-selection.md
	// 10.8).
	PendingMax int
	// Public keeps, of each block, the hash that SGLang calls it by, so that MatchPublic
	// can be asked. It costs two SHA-256 steps and some 56 bytes a block.
	Public bool
}

// DefaultMaxCopies is more identical copies than the requests that an engine computes
// side by side tend to make, and few enough for an over-count to wear off.
const DefaultMaxCopies = 16

const (
	// chunk is the blocks of one lock hold.
	chunk = 256
	// maxShapes bounds the block sizes and modes of all engines: each costs a lookup
	// one hashing of the prompt.
	maxShapes = 16
	// tick is the resolution of last uses.
	tick = 100 * time.Millisecond
)

// Index is the prefixes of engines, of whatever models they are.
type Index struct {
	cfg     Config
	keys    keys
	started time.Time
	shards  [shards]shard
	view    atomic.Pointer[view]
	pending pending

	mu      sync.Mutex // the writer's: everything below, and changes of the shards
	owners  map[Owner]*owner
	holders []*holder // by id; free ones are nil
	slots   []*owner  // by slot; free ones are nil
	shapes  [maxShapes]shapeUse
	stats   Stats
	sizes   sizes
	naming  naming
	room    map[string]uint64 // nodes given up, by the worker whose event made room
}

// shapeUse is a shape and how many nodes have it.
type shapeUse struct {
	shape
	nodes int
}

// view is what readers know of the writer's tables. It is replaced whenever these
// change, before a node mentions what is new and after none mentions what is gone.
type view struct {
	holders []*holder
	slots   int
	shapes  []shape
	// numbered are the shapes by the number that nodes have; of size 0 where there is none.
	numbered [maxShapes]shape
	sparse   bool // some holder is
}

func (v *view) isSparse(m member) bool {
	id := int(m.holder())
	return id < len(v.holders) && v.holders[id] != nil && v.holders[id].sparse.Load()
}

// New makes an empty index.
func New(cfg Config) *Index {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.MaxCopies == 0 {
		cfg.MaxCopies = DefaultMaxCopies
	}
	x := &Index{cfg: cfg, keys: newKeys(cfg.Seed), owners: map[Owner]*owner{}, room: map[string]uint64{}}
	x.started = cfg.Now()
	x.pending.init(cfg)
	x.publish()
	return x
}

// tick is the present in units of last uses.
func (x *Index) tick() uint32 {
	return uint32(max(x.cfg.Now().Sub(x.started), 0) / tick)
}

// Apply applies one event of an owner. The caller keeps the order of each owner's
// events and calls for living owners only: a late event would revive a removed one.
func (x *Index) Apply(o Owner, e *kvevents.Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.apply(o, e)
}

// ApplyBatch applies a batch in the order of its events.
func (x *Index) ApplyBatch(o Owner, b *kvevents.Batch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range b.Events {
		x.apply(o, &b.Events[i])
	}
}

func (x *Index) apply(o Owner, e *kvevents.Event) {
	x.stats.Events++
	switch e.Kind {
	case kvevents.KindStored:
		x.store(x.owner(o), e)
		x.makeRoom(o)
	case kvevents.KindRemoved:
		if w := x.owners[o]; w != nil {
			x.removed(w, e)
			x.makeRoom(o) // it may have made sets of holders
		} else {
			x.stats.RemovedUnknown += uint64(len(e.Hashes))
		}
	case kvevents.KindCleared:
		if w := x.owners[o]; w != nil {
			x.clear(w)
		}
	case kvevents.KindNone:
	}
}

// owner finds or makes an owner.
func (x *Index) owner(o Owner) *owner {
	w := x.owners[o]
	if w != nil {
		return w
	}
	w = &owner{Owner: o}
	x.slots, w.slot = seat(x.slots, w)
	x.owners[o] = w
	x.publish()
	return w
}

// group finds or makes a holder; nil when the owner has too many.
func (x *Index) group(o *owner, group uint32) *holder {
	list := o.list()
	for _, h := range list {
		if h.group == group {
			return h
		}
	}
	if len(list) == maxGroups || len(x.holders) == maxHolders {
		return nil
	}
	h := &holder{owner: o, group: group, blocks: map[kvevents.Hash]block{}}
	x.holders, h.id = seat(x.holders, h)
	more := append(append(make([]*holder, 0, len(list)+1), list...), h)
	o.groups.Store(&more)
	x.publish()
	return h
}

// seat puts a value into the first free place of a list and gives its number.
func seat[T any](list []*T, value *T) ([]*T, uint32) {
	at := slices.Index(list, nil)
	if at < 0 {
		return append(list, value), uint32(len(list))
	}
	list[at] = value
	return list, uint32(at)
}

// shape finds or makes the number of a shape.
func (x *Index) shape(s shape) (uint8, bool) {
	free := -1
	for i, u := range x.shapes {
		if u.nodes == 0 {
			if free < 0 {
				free = i
			}
		} else if u.shape == s {
			return uint8(i), true
		}
	}
	if free < 0 {
		return 0, false
	}
	x.shapes[free].shape = s
	return uint8(free), true
}

func (x *Index) publish() {
	v := &view{holders: append([]*holder(nil), x.holders...), slots: len(x.slots)}
	for _, h := range x.holders {
		v.sparse = v.sparse || h != nil && h.sparse.Load()
	}
	for i, u := range x.shapes {
		if u.nodes > 0 {
			v.shapes = append(v.shapes, u.shape)
			v.numbered[i] = u.shape
		}
	}
	x.view.Store(v)
}
