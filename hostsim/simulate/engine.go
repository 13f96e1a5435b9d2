package simulate

import (
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/hostsim/traffic"
)

// Engine is how the model engines behave, all alike.
type Engine struct {
	Slots   int           // requests computed at once; others wait
	Fixed   time.Duration // to the answer, however much is cached
	PerKilo time.Duration // more for each 1,000 characters that are not cached
	Cache   int           // characters; 0 is no cache
	// Answers lets the cache keep what the engine generates as well, as real ones do
	// and the benchmark's mock does not.
	Answers bool
}

// charsPerToken turns characters into the tokens that engines report.
const charsPerToken = 4

// engine is one of them at work.
type engine struct {
	Engine
	number   int
	cache    *cache
	hears    Listener // nil for nobody
	running  int
	queue    []*job
	requests int
	chars    int
	hits     int
}

// job is one request at an engine.
type job struct {
	request traffic.Request
	wait    time.Duration
	done    func()
}

// take looks the prompt up and computes it as soon as a slot is free.
func (e *engine) take(j *job, after func(time.Duration, func())) {
	e.requests++
	hit := 0
	if e.Cache > 0 {
		hit = e.use(j.request.Prompt)
	}
	e.chars += len(j.request.Prompt)
	e.hits += hit
	j.wait = e.Fixed + e.PerKilo*time.Duration(len(j.request.Prompt)-hit)/1000
	e.queue = append(e.queue, j)
	e.start(after)
}

func (e *engine) start(after func(time.Duration, func())) {
	for len(e.queue) > 0 && e.running < e.Slots {
		j := e.queue[0]
		e.queue = e.queue[1:]
		e.running++
		after(j.wait, func() {
			e.running--
			if e.Answers && e.Cache > 0 {
				e.use(j.request.Prompt + j.request.Answer)
			}
			j.done()
			e.start(after)
		})
	}
}

// use looks a text up, caches it, and tells what that changed.
func (e *engine) use(text string) (hit int) {
	hit = e.cache.use(text)
	if e.hears == nil {
		return hit
	}
	if hashes := e.cache.hashes; hit/block < len(hashes) {
		var parent uint64
		if hit > 0 {
			parent = hashes[hit/block-1]
		}
		e.hears.Stored(e.number, parent, hashes[hit/block:], text[hit:len(hashes)*block])
	}
	if len(e.cache.gone) > 0 {
		e.hears.Removed(e.number, e.cache.gone)
	}
	return hit
}

// load is what the engine says of itself: a basic report, as scraped metrics give.
func (e *engine) load() core.LoadReport {
	r := core.LoadReport{Running: core.Known(uint64(e.running)), Waiting: core.Known(uint64(len(e.queue)))}
	if e.Cache > 0 {
		r.KVUsed = core.Known(uint64(e.cache.used() / charsPerToken))
		r.KVCapacity = core.Known(uint64(e.Cache / charsPerToken))
	}
	return r
}
