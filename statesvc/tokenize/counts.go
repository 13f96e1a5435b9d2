package tokenize

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
	"github.com/pointsman/pointsman/statesvc/tokenize/segcache"
)

// counts are a model's counters.
type counts struct {
	samples    atomic.Uint64
	unanswered atomic.Uint64

	mu          sync.Mutex
	answers     map[AnswerKey]uint64
	comparisons map[prompt.Features]uint64
	differences map[prompt.Features]uint64
}

// AnswerKey is what answers are counted by. The number of keys is bounded: they are
// made of this package's own words.
type AnswerKey struct {
	Origin        Origin
	Local, Reason Reason
}

// Counts is what a model has done.
type Counts struct {
	// Answers counts requests by origin, and why bpe did not answer and why the answer
	// is not exact.
	Answers map[AnswerKey]uint64
	// Comparisons and Differences count comparisons with the engine by features.
	Comparisons, Differences map[prompt.Features]uint64
	// Unanswered counts comparisons that the engine did not answer.
	Unanswered uint64
	// Verified and Differing are the features whose tokens are from bpe, and those
	// that were given up.
	Verified, Differing prompt.Features
	Cache               segcache.Stats
}

func (c *counts) note(t *Tokens) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers == nil {
		c.answers = map[AnswerKey]uint64{}
	}
	c.answers[AnswerKey{t.Origin, t.Local, t.Reason}]++
}

func (c *counts) compared(f prompt.Features, same bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.comparisons == nil {
		c.comparisons, c.differences = map[prompt.Features]uint64{}, map[prompt.Features]uint64{}
	}
	c.comparisons[f]++
	if !same {
		c.differences[f]++
	}
}

// Counts gives a copy of the counters.
func (m *Model) Counts() Counts {
	m.counts.mu.Lock()
	c := Counts{
		Answers:     maps.Clone(m.counts.answers),
		Comparisons: maps.Clone(m.counts.comparisons),
		Differences: maps.Clone(m.counts.differences),
		Unanswered:  m.counts.unanswered.Load(),
	}
	m.counts.mu.Unlock()
	differing := m.parity.differs.Load() | m.parity.differed.Load()
	c.Differing = prompt.Features(differing)
	c.Verified = prompt.Features(m.parity.same.Load() &^ differing)
	if m.opts.Local != nil {
		c.Cache = m.opts.Local.CacheStats()
	}
	return c
}
