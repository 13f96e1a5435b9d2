package kv

import (
	"fmt"
	"math/rand/v2"

	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
	"github.com/pointsman/pointsman/hostsim/fakes/kvwire"
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

const (
	blockSize = 16
	// shared is the number of system prompts, sharedBlocks the length of one.
	shared       = 32
	sharedBlocks = 24
	// sessions is how many conversations an engine has at a time, turns how long each
	// grows, turnBlocks by how much.
	sessions   = 8
	turns      = 10
	turnBlocks = 12
)

// fleet is the caches, and what they say on its way to the index.
type fleet struct {
	options Options
	random  *rand.Rand
	index   *kvindex.Index
	engines []*cacheOf
	encoder kvwire.Encoder
	decoder engine.Decoder
	batch   kvevents.Batch
	result  kvindex.Result
	tally   Tally
}

// cacheOf is one engine.
type cacheOf struct {
	owner kvindex.Owner
	cache *kvcache.Pool
	talks [sessions]talk
	life  uint32
}

// talk is a conversation: a system prompt and tokens that count up from a start of its
// own.
type talk struct {
	system, turn int
	start        uint32
}

func newFleet(o Options, index *kvindex.Index) *fleet {
	f := &fleet{
		options: o, index: index, random: rand.New(rand.NewPCG(o.Seed, 1)),
		encoder: kvwire.Encoder{VLLM: kvwire.Release{0, 32, 0}},
	}
	for i := range o.Engines {
		e := &cacheOf{owner: kvindex.Owner{Worker: fmt.Sprintf("engine-%d", i)}}
		f.start(e)
		for s := range e.talks {
			e.talks[s] = f.newTalk()
		}
		f.engines = append(f.engines, e)
	}
	return f
}

// start gives an engine an empty cache.
func (f *fleet) start(e *cacheOf) {
	e.cache = kvcache.NewPool(kvcache.Config{Blocks: f.options.Blocks, BlockSize: blockSize})
	e.life++
}

func (f *fleet) newTalk() talk {
	return talk{system: f.random.IntN(shared), start: f.random.Uint32()}
}

// prompt is what a conversation sends in its turn. The last block is not full.
func (t talk) prompt() []uint32 {
	own := (t.turn + 1) * turnBlocks * blockSize
	tokens := make([]uint32, sharedBlocks*blockSize, sharedBlocks*blockSize+own+1)
	for i := range tokens {
		tokens[i] = uint32(t.system<<16 + i)
	}
	for i := range own + 1 {
		tokens = append(tokens, t.start+uint32(i))
	}
	return tokens
}

// step is one request to one engine, or now and then something worse. It gives the
// prompt.
func (f *fleet) step() []uint32 {
	e := f.engines[f.random.IntN(len(f.engines))]
	switch f.random.IntN(f.options.ChurnEvery) {
	case 0:
		f.tally.Restarts++
		f.start(e)
		f.index.Reset(e.owner)
	case 1:
		f.tally.Removals++
		f.index.RemoveWorker(e.owner.Worker)
		f.start(e)
	case 2:
		f.tally.Clears++
		e.cache.Reset()
	}
	return f.request(e)
}

// request sends a turn of one of the engine's conversations.
func (f *fleet) request(e *cacheOf) []uint32 {
	t := &e.talks[f.random.IntN(sessions)]
	if t.turn == turns {
		*t = f.newTalk()
	}
	prompt := t.prompt()
	t.turn++
	seq, cached, ok := e.cache.Admit(prompt, kvcache.Namespace{})
	if !ok {
		f.tally.NoRoom++
		return prompt
	}
	f.judge(e, prompt, cached)
	seq.Schedule(len(prompt))
	seq.Complete()
	seq.Release()
	f.say(e)
	f.tally.Requests++
	return prompt
}

// judge holds the index's word, from before the request's own events, against what the
// engine had. An index that has forgotten says less; one that says more is wrong, unless
// the engine has a reset that it has not announced.
func (f *fleet) judge(e *cacheOf, prompt []uint32, cached int) {
	f.index.Match(kvindex.Prompt{Tokens: prompt}, &f.result)
	foretold := 0
	for _, m := range f.result.Matches {
		if m.Owner == e.owner {
			foretold = m.Tokens
		}
	}
	switch {
	case foretold == cached:
		f.tally.Exact++
	case foretold < cached:
		f.tally.Forgotten++
	case cached == 0:
		f.tally.Unannounced++
	default:
		f.tally.Wrong++
	}
}

// say takes what a cache says over the wire into the index.
func (f *fleet) say(e *cacheOf) {
	events := e.cache.Take()
	if len(events) == 0 {
		return
	}
	payload := f.encoder.Batch(0, events, 0)
	if err := f.decoder.Decode(payload, &f.batch); err != nil {
		f.tally.Undecoded++
		return
	}
	f.index.ApplyBatch(e.owner, &f.batch)
	f.tally.Batches++
	f.tally.Wire += int64(len(payload))
	for _, ev := range events {
		f.tally.Moved += int64(len(ev.Hashes))
	}
}

// fill warms every engine up until its blocks are used.
func (f *fleet) fill() {
	for _, e := range f.engines {
		for e.cache.Held() < f.options.Blocks*9/10 {
			f.request(e)
		}
	}
}

// end removes all engines.
func (f *fleet) end() {
	for _, e := range f.engines {
		f.index.RemoveWorker(e.owner.Worker)
	}
}
