package policy

import (
	"fmt"
	"math"

	"github.com/pointsman/pointsman/core/pressure"
)

// Defaults of Caching (engine-selection.md 9.1).
const (
	DefaultPrefixSource        = "local"
	SourceHistory              = "history" // what this proxy sent; needs no call (design section 5b)
	SourceRemote               = "remote"  // an indexer that the state service asks (engine-selection.md 11)
	DefaultMinMatchedTokens    = 1024
	DefaultCandidateMinWorkers = 8
	DefaultCandidateRatio      = 0.05
	DefaultCandidateMaxWorkers = 32
	DefaultSwitchMargin        = 1024 // tokens
	DefaultMinLoadChoices      = 2
	// DefaultPrivateChoices is MinLoadChoices with private matching. Engines are then
	// told apart by what this context sent them, which it knows exactly, and the more
	// are compared the evener it gets; of old news, two is enough.
	DefaultPrivateChoices = 8
	DefaultGuardTokens    = 1024
	DefaultGuardRel       = 1.5
)

// Caching says when a prefix that an engine holds decides, and when it does not.
type Caching struct {
	Source string // which prefix source is asked
	// Private lets only what belongs to few prompts count towards a hit. What many
	// prompts share then attracts a request and does not bind it (design section 5b).
	Private bool

	MinMatchedTokens uint64  // tokens an engine must hold; 0 asks for none
	MinMatchRatio    float64 // share of the prompt it must hold, 0 to 1

	// Of n engines at most min(n, Max, max(Min, ceil(Ratio*n))) holders are looked at.
	CandidateMinWorkers uint64  // at least 1, at most CandidateMaxWorkers
	CandidateRatio      float64 // 0 to 1
	CandidateMaxWorkers uint64

	// SwitchMargin is how many more tokens to compute the guard may cost.
	SwitchMargin uint64
	// WorkerQueueLimit is the number of waiting requests from which on an engine is
	// not preferred; 0 is no limit.
	WorkerQueueLimit uint64
	// SaturationQueueFloor lets holders be taken in spite of their queue once no
	// engine has fewer waiting requests; at most WorkerQueueLimit. 0 is none.
	SaturationQueueFloor uint64
	// MinLoadChoices is the sample size of a miss; at least 1.
	MinLoadChoices int
	// Guard moves requests off engines with a long queue; nil is none.
	Guard *pressure.Guard
}

// DefaultCaching is Caching as it is unless configured.
func DefaultCaching() Caching {
	return Caching{
		Source:              DefaultPrefixSource,
		MinMatchedTokens:    DefaultMinMatchedTokens,
		CandidateMinWorkers: DefaultCandidateMinWorkers,
		CandidateRatio:      DefaultCandidateRatio,
		CandidateMaxWorkers: DefaultCandidateMaxWorkers,
		SwitchMargin:        DefaultSwitchMargin,
		MinLoadChoices:      DefaultMinLoadChoices,
		Guard:               &pressure.Guard{AbsTokens: DefaultGuardTokens, Rel: DefaultGuardRel},
	}
}

// least is how many tokens of a prompt an engine must hold to matter, or fewer.
func (c *Caching) least(input uint64) uint64 {
	return max(c.MinMatchedTokens, uint64(c.MinMatchRatio*float64(input)))
}

// problem names the first setting that makes no sense, empty when all do.
func (c *Caching) problem() string {
	switch {
	case c.Source == "":
		return "no prefix source; name one"
	case !share(c.MinMatchRatio):
		return fmt.Sprintf("match ratio %v; use a number from 0 to 1", c.MinMatchRatio)
	case !share(c.CandidateRatio):
		return fmt.Sprintf("candidate ratio %v; use a number from 0 to 1", c.CandidateRatio)
	case c.CandidateMinWorkers < 1 || c.CandidateMinWorkers > c.CandidateMaxWorkers:
		return fmt.Sprintf("%d to %d candidates; use at least 1 and no more than the maximum", c.CandidateMinWorkers, c.CandidateMaxWorkers)
	case c.SaturationQueueFloor > c.WorkerQueueLimit:
		return fmt.Sprintf("saturation floor %d above queue limit %d; lower it or set a limit", c.SaturationQueueFloor, c.WorkerQueueLimit)
	case c.MinLoadChoices < 1:
		return fmt.Sprintf("%d load choices; use at least 1", c.MinLoadChoices)
	case c.Guard == nil:
		return ""
	case !(c.Guard.Rel > 1) || math.IsInf(c.Guard.Rel, 0):
		return fmt.Sprintf("guard factor %v; use a finite number above 1", c.Guard.Rel)
	case c.Guard.AbsMillis != nil && (!(*c.Guard.AbsMillis >= 0) || math.IsInf(*c.Guard.AbsMillis, 0)):
		return fmt.Sprintf("guard threshold %v ms; use a finite number of at least 0", *c.Guard.AbsMillis)
	}
	return ""
}

// share reports whether x is from 0 to 1; NaN is not.
func share(x float64) bool { return x >= 0 && x <= 1 }

// candidates is how many holders are looked at in a group of n engines.
func (c *Caching) candidates(n int) int {
	some := max(c.CandidateMinWorkers, uint64(math.Ceil(c.CandidateRatio*float64(n))))
	return int(min(uint64(n), c.CandidateMaxWorkers, some))
}
