package prompts

import (
	"context"
	"log/slog"
	"sync"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/statesvc/inputids"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// Tokenizer tells the tokens of requests.
type Tokenizer interface {
	// Tokens is that of tokenize.Source.
	tokenize.Source
	// Has reports whether the model has a tokenizer, here or at an engine.
	Has(model string) bool
}

// Engines tells which engines serve a model.
type Engines interface {
	// Serving lists the engines that serve a name, a model's or an adapter's.
	Serving(name string) []string
}

// Options are the facts of Prompts. Those of the first part are required.
type Options struct {
	Tokenizer Tokenizer
	Index     pump.Matcher
	Engines   Engines
	Logger    *slog.Logger

	Remote Remote // nil: there is no source "remote"
	Places Places // goes with Remote
	// BlockSize and Bigram tell how prompts are cut for it; 0: as the engines say.
	BlockSize int
	Bigram    bool
}

// Prompts implements server.Prompts. It holds nothing but scratch, and what it has told.
type Prompts struct {
	opts      Options
	uncounted uncounted
	results   sync.Pool // of *pump.Result
	hashes    sync.Pool // of *[]int64
}

var _ server.Prompts = (*Prompts)(nil)

// New makes a Prompts.
func New(opts Options) *Prompts {
	return &Prompts{
		opts: opts, uncounted: uncounted{log: opts.Logger},
		results: sync.Pool{New: func() any { return new(pump.Result) }},
		hashes:  sync.Pool{New: func() any { return new([]int64) }},
	}
}

// Look implements server.Prompts.
func (p *Prompts) Look(ctx context.Context, q *server.PromptQuery) (*server.PromptAnswer, error) {
	answer := &server.PromptAnswer{}
	if !p.opts.Tokenizer.Has(q.Model) {
		answer.Uncounted = true
		answer.Lookups = unavailable(q.Sources, noTokenizer)
		p.uncounted.tell(q)
		return answer, nil
	}
	dialect, body := chat.DialectOf(q.Path), string(q.Body)
	tokens, err := p.opts.Tokenizer.Tokens(ctx, q.Model, dialect, body)
	if err != nil {
		return nil, err
	}
	if tokens.Certainty != tokenize.Estimated {
		answer.Tokens = &tokens.Longest
	}
	if q.InputIDs > 0 {
		answer.InputIDs = inputids.Of(dialect, body, &tokens, q.InputIDs)
	}
	for _, source := range q.Sources {
		answer.Lookups = append(answer.Lookups, p.lookup(ctx, source, q, &tokens))
	}
	return answer, nil
}

func (p *Prompts) lookup(ctx context.Context, source string, q *server.PromptQuery, tokens *tokenize.Tokens) *wirepb.Lookup {
	switch {
	case source == policy.SourceRemote && p.opts.Remote == nil:
		return none(source, "this state service asks no indexer; name one under kv.remote.endpoints")
	case source != policy.DefaultPrefixSource && source != policy.SourceRemote:
		return none(source, "this state service has no such source")
	case tokens.Certainty != tokenize.Exact:
		return none(source, "the prompt's tokens are not known: "+string(tokens.Reason))
	case len(tokens.IDs) == 0:
		return none(source, "the prompt has no tokens")
	}
	if source == policy.SourceRemote {
		return p.remote(ctx, q, tokens)
	}
	r := p.results.Get().(*pump.Result)
	defer p.results.Put(r)
	p.opts.Index.Match(promptOf(q, tokens), r)
	return p.local(source, q.Asked, uint64(len(tokens.IDs)), r)
}

func unavailable(sources []string, why string) (list []*wirepb.Lookup) {
	for _, source := range sources {
		list = append(list, none(source, why))
	}
	return list
}

func none(source, why string) *wirepb.Lookup {
	return &wirepb.Lookup{Source: source, Outcome: wirepb.LookupOutcome_LOOKUP_UNAVAILABLE, Detail: why}
}
