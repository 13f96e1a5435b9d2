package server

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/pointsman/pointsman/statesvc/coalesce"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// Prompts knows prompts: how long they are, and which engines have them cached.
// It serves concurrent callers and ends with its context.
type Prompts interface {
	// Look answers a query. What it leaves out is unavailable. Neither is changed
	// by anybody afterwards.
	Look(ctx context.Context, q *PromptQuery) (*PromptAnswer, error)
}

// PromptQuery is what an observe asks about its body.
type PromptQuery struct {
	Model  string // canonical
	Asked  string // the name the client sent, an adapter's own
	Path   string // the dialect of the body
	Tokens bool   // the length is asked for
	// InputIDs asks for the token ids of a chat, at most so many; 0 does not.
	InputIDs uint32
	Sources  []string
	Body     []byte
	// Until is when nobody waits for the answer any more; zero for no bound. Of
	// identical queries at one time it is that of the first.
	Until time.Time
}

// PromptAnswer is what is known of a prompt.
type PromptAnswer struct {
	Tokens  *uint64
	Lookups []*wirepb.Lookup
	// InputIDs are given to a query that asks for them.
	InputIDs *wirepb.InputIDs
	// Uncounted says that nothing here counts this model's prompts, however often
	// it is asked.
	Uncounted bool
}

// promptShare is the part of the caller's time, in tenths, that a look at the
// prompt may take: what is left brings the bindings to a caller whose prompt took
// too long.
const promptShare = 9

var (
	errPanic    = errors.New("the look at the prompt panicked")
	errNoAnswer = errors.New("the look at the prompt has no answer")
)

// prompts asks a Prompts once for all identical queries that run at the same time.
// Tokenizing costs by the size of the body, and clients that retry or sample many
// answers send one prompt many times at once.
type prompts struct {
	behind  Prompts // nil when nothing here knows prompts
	running coalesce.Group[uint64, *PromptAnswer]
	seed    maphash.Seed
	log     *slog.Logger
}

// look answers within the caller's time. Without an answer it is empty.
func (p *prompts) look(ctx context.Context, q *PromptQuery) (*PromptAnswer, Outcome) {
	if p.behind == nil {
		return &PromptAnswer{}, PromptUnasked
	}
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)*promptShare/10)
		defer cancel()
		q.Until, _ = ctx.Deadline()
	}
	answer, joined, err := p.running.Do(ctx, p.key(q), func(ctx context.Context) (*PromptAnswer, error) { return p.ask(ctx, q) })
	switch {
	case errors.Is(err, coalesce.ErrBusy):
		return &PromptAnswer{}, PromptOverloaded
	case ctx.Err() != nil && err != nil:
		return &PromptAnswer{}, PromptLate
	case err != nil:
		return &PromptAnswer{}, PromptFailed
	case joined:
		return answer, PromptJoined
	}
	return answer, PromptComputed
}

// ask turns a panic into an error: the work runs outside of the HTTP server's
// goroutines, so that one prompt would end the process. The log has where it was and
// nothing of the prompt, which the cause may hold.
func (p *prompts) ask(ctx context.Context, q *PromptQuery) (answer *PromptAnswer, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			answer, err = nil, errPanic
			p.log.Error("a look at a prompt panicked", "cause", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
		}
	}()
	answer, err = p.behind.Look(ctx, q)
	if err == nil && answer == nil {
		err = errNoAnswer
	}
	return answer, err
}

// key is a hash under a seed that nobody outside knows, so that no client can make
// two prompts alike.
func (p *prompts) key(q *PromptQuery) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	maphash.WriteComparable(&h, [3]string{q.Model, q.Asked, q.Path})
	maphash.WriteComparable(&h, [2]int{len(q.Sources), len(q.Body)})
	for _, source := range q.Sources {
		maphash.WriteComparable(&h, source)
	}
	maphash.WriteComparable(&h, q.Tokens)
	maphash.WriteComparable(&h, q.InputIDs)
	_, _ = h.Write(q.Body)
	return h.Sum64()
}
