package kvindex

import (
	"sync"
	"time"
)

const (
	// pendingBlock cuts credited prefixes, whatever the engines' blocks are: a cold
	// index knows none yet.
	pendingBlock = 16
	// defaultPendingMax is the bound of engine-selection.md 10.8.
	defaultPendingMax = 1 << 20
)

// pending is prefixes that requests on their way will fill, so that a burst with one
// cold prefix meets at one engine (engine-selection.md 10.8). Records leave by expiry
// only, or oldest first at the bound.
type pending struct {
	ttl   time.Duration
	max   int
	shape shape

	mu    sync.Mutex
	queue []credited // in order of expiry, from head on
	head  int
	at    map[uint64][]credit
	hits  uint64
	lost  uint64
}

// credit is one owner's claim on a block.
type credit struct {
	owner   Owner
	expires time.Time
}

// credited is a record in the queue. It is stale when the claim was renewed since.
type credited struct {
	hash uint64
	credit
}

func (p *pending) init(cfg Config) {
	p.ttl, p.max, p.at = cfg.PendingTTL, cfg.PendingMax, map[uint64][]credit{}
	if p.max <= 0 {
		p.max = defaultPendingMax
	}
	p.shape = shape{size: pendingBlock}
}

// Credit notes that a prompt was sent to an owner. Call it when the whole selection
// has succeeded. It does nothing when Config.PendingTTL is 0.
func (x *Index) Credit(o Owner, prompt Prompt) {
	p := &x.pending
	if p.ttl <= 0 {
		return
	}
	hashes, _ := x.keys.prompt(nil, nil, p.shape, prompt)
	now := x.cfg.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire(now)
	for _, h := range hashes {
		p.add(h, credit{owner: o, expires: now.Add(p.ttl)})
	}
}

func (p *pending) add(hash uint64, c credit) {
	if len(p.queue)-p.head >= p.max {
		p.lost++
		p.pop()
	}
	p.queue = append(p.queue, credited{hash: hash, credit: c})
	list := p.at[hash]
	for i := range list {
		if list[i].owner == c.owner {
			list[i] = c
			return
		}
	}
	p.at[hash] = append(list, c)
}

func (p *pending) expire(now time.Time) {
	for p.head < len(p.queue) && !p.queue[p.head].expires.After(now) {
		p.pop()
	}
}

// pop drops the oldest record, and its claim unless that was renewed.
func (p *pending) pop() {
	r := p.queue[p.head]
	p.queue[p.head] = credited{}
	p.head++
	p.drop(r.hash, func(c credit) bool { return c == r.credit })
	switch {
	case p.head == len(p.queue):
		p.queue, p.head = nil, 0
	case p.head > 1024 && p.head > len(p.queue)/2:
		p.queue = append(make([]credited, 0, 2*(len(p.queue)-p.head)), p.queue[p.head:]...)
		p.head = 0
	}
}

func (p *pending) drop(hash uint64, gone func(credit) bool) {
	list := p.at[hash]
	keep := list[:0]
	for _, c := range list {
		if !gone(c) {
			keep = append(keep, c)
		}
	}
	if len(keep) == 0 {
		delete(p.at, hash)
		return
	}
	p.at[hash] = keep
}

// forget drops the claims of a worker. Their records stay in the queue until they
// expire.
func (p *pending) forget(worker string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for h := range p.at {
		p.drop(h, func(c credit) bool { return c.owner.Worker == worker })
	}
}

// creditWalk is the scratch of pending's match.
type creditWalk struct {
	owners []creditDepth
}

type creditDepth struct {
	owner  Owner
	blocks int
}

// match adds the contiguous depth of credited prefixes to the matches.
func (p *pending) match(x *Index, prompt Prompt, r *Result) {
	if p.ttl <= 0 {
		return
	}
	r.hashes, r.pairs = x.keys.prompt(r.hashes[:0], r.pairs, p.shape, prompt)
	now := x.cfg.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expire(now)
	if p.walk(r.hashes, &r.credit) {
		p.merge(r)
	}
}

// walk counts the leading blocks of each owner that claims the first.
func (p *pending) walk(hashes []uint64, w *creditWalk) bool {
	w.owners = w.owners[:0]
	for depth, h := range hashes {
		list, found := p.at[h], false
		for _, c := range list {
			if depth == 0 {
				w.owners = append(w.owners, creditDepth{owner: c.owner, blocks: 1})
				found = true
				continue
			}
			for i := range w.owners {
				if w.owners[i].owner == c.owner && w.owners[i].blocks == depth {
					w.owners[i].blocks++
					found = true
				}
			}
		}
		if !found {
			break
		}
	}
	return len(w.owners) > 0
}

// merge reports the depths, and counts a hit when one beats all that is confirmed.
func (p *pending) merge(r *Result) {
	confirmed := 0
	for i := range r.Matches {
		confirmed = max(confirmed, r.Matches[i].Tokens)
	}
	beats := false
	for _, d := range r.credit.owners {
		tokens := d.blocks * pendingBlock
		beats = beats || tokens > confirmed
		if m := r.of(d.owner); m != nil {
			m.Pending = tokens
			continue
		}
		r.Matches = append(r.Matches, Match{Owner: d.owner, Certain: true, Pending: tokens})
	}
	if beats {
		p.hits++
	}
}

func (r *Result) of(o Owner) *Match {
	for i := range r.Matches {
		if r.Matches[i].Owner == o {
			return &r.Matches[i]
		}
	}
	return nil
}
