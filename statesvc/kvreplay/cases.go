package kvreplay

import (
	"fmt"

	"github.com/pointsman/pointsman/statesvc/kvevents/recorded"
	"github.com/pointsman/pointsman/statesvc/kvindex"
)

// caseQueue looks one case ahead.
type caseQueue struct {
	next   func() (recorded.Case, error, bool)
	head   recorded.Case
	full   bool
	before int
}

// peek gives the next case without taking it. ok is false at the end.
func (q *caseQueue) peek() (c recorded.Case, ok bool, err error) {
	if q.full {
		return q.head, true, nil
	}
	c, err, ok = q.next()
	if err != nil {
		return c, false, fmt.Errorf("cases: %w", err)
	}
	if !ok {
		return c, false, nil
	}
	if c.Before < q.before {
		return c, false, fmt.Errorf("cases: %q comes after %d messages, the case before it after %d; sort them by batches_seen_before",
			c.Name, c.Before, q.before)
	}
	q.head, q.full, q.before = c, true, c.Before
	return c, true, nil
}

// predict judges the cases that come after so many messages.
func (r *replay) predict(q *caseQueue, seen int) error {
	for {
		c, ok, err := q.peek()
		if err != nil || !ok || c.Before > seen {
			return err
		}
		q.full = false
		if err := r.emit(r.judge(c)); err != nil {
			return err
		}
	}
}

// judge holds one prediction against the engine.
func (r *replay) judge(c recorded.Case) *CaseResult {
	line := &CaseResult{
		Line: "case", Name: c.Name, Port: c.Port, Before: c.Before, PromptTokens: len(c.Prompt),
		Engine: c.Cached, ResetPending: c.ResetPending, UnknownStream: r.streams[c.Port] == nil && c.Before > 0,
	}
	r.index.Match(kvindex.Prompt{Tokens: c.Prompt, Salt: c.Salt, LoRA: c.LoRA}, &r.result)
	for _, m := range r.result.Matches {
		if m.Owner != ownerOf(c.Port) {
			continue
		}
		line.Predicted, line.Uncertain = m.Tokens, !m.Certain
		if m.AtMost > m.Blocks {
			line.AtMost = m.AtMost * m.BlockSize
		}
		if c.BlockSize > 0 && m.BlockSize != c.BlockSize {
			line.OtherSize = m.BlockSize
		}
	}
	line.Equal = line.Predicted == c.Cached
	if line.UnknownStream {
		r.sum.UnknownStream++
	}
	tally := &r.sum.Tally
	if c.ResetPending {
		tally = &r.sum.ResetPending
	}
	tally.Cases++
	if line.Equal {
		tally.Equal++
	}
	return line
}
