package pump

import (
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// Matcher answers what each engine holds of a prompt. *Pump is one.
type Matcher interface {
	// Match finds the depth per engine, rank and tier. r is reused.
	Match(prompt kvindex.Prompt, r *Result)
	// Ranks is how many data-parallel ranks of an engine are followed, 0 for none.
	Ranks(worker string) int
	// Trust tells of an engine without a match whether it holds nothing or nobody knows.
	Trust(worker string) (zmqsub.Trust, string)
}

// Match is what one rank holds, and how far that can be trusted.
type Match struct {
	kvindex.Match
	Trust  zmqsub.Trust
	Reason string // why trust is not full, "none" when it is
	// Age is the milliseconds since the rank last told of its cache.
	Age core.Count
}

// Result holds what a Match found and the scratch of the next one. Its zero value is
// ready; it belongs to one goroutine at a time.
type Result struct {
	Matches []Match // in no order
	Shared  int     // as that of kvindex.Result
	// Age is the milliseconds since any engine last told of its cache, unknown when none
	// ever did.
	Age   core.Count
	index kvindex.Result
}

// Match implements Matcher. Engines of other models are among the matches when they hold
// the same tokens: the caller asks about the candidates it has. What is known of a rank
// without trust is left out.
func (p *Pump) Match(prompt kvindex.Prompt, r *Result) {
	p.index.Match(prompt, &r.index)
	p.trusted(r)
}

// MatchHashes is Match for a prompt that is told by SGLang's hashes of its blocks. It finds
// nothing where the service does not answer others (config.Indexer).
func (p *Pump) MatchHashes(hashes []int64, r *Result) {
	p.index.MatchPublic(hashes, &r.index)
	p.trusted(r)
}

// trusted takes over the matches of ranks that are trusted at all.
func (p *Pump) trusted(r *Result) {
	r.Matches, r.Shared = r.Matches[:0], r.index.Shared
	now := time.Now()
	r.Age = p.heard.age(now)
	for i := range r.index.Matches {
		m := Match{Match: r.index.Matches[i], Reason: reasonNoSource}
		if v, ok := p.ranks.Load(m.Owner); ok {
			k := v.(*rank)
			m.Trust, m.Reason = k.trust()
			m.Age = k.heard.age(now)
		}
		if m.Trust == zmqsub.TrustNone {
			continue
		}
		r.Matches = append(r.Matches, m)
	}
}

// Ranks implements Matcher.
func (p *Pump) Ranks(worker string) int {
	p.mu.Lock()
	f := p.engines[worker]
	p.mu.Unlock()
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.ranks)
}

// Trust implements Matcher: that of the engine's least trusted rank, with the reason.
func (p *Pump) Trust(worker string) (zmqsub.Trust, string) {
	p.mu.Lock()
	f := p.engines[worker]
	p.mu.Unlock()
	if f == nil {
		return zmqsub.TrustNone, reasonNoSource
	}
	return f.trust()
}
