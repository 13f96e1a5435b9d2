package prompts

import (
	"context"
	"time"

	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/kvindex/sglhash"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// Remote is an indexer elsewhere. *indexer.Client is one.
type Remote interface {
	// Match asks who holds how much of a prompt, by the hashes of its blocks, and
	// answers by the end of ctx.
	Match(ctx context.Context, hashes []int64) indexer.Answer
	// Ignore counts matches of answers that nobody had a use for.
	Ignore(why indexer.Ignored, n int)
}

// Places tells of engines what lookups elsewhere need.
type Places interface {
	// At gives the engine of a base URL, empty for none.
	At(url string) string
	// Cut tells the tokens of a block of the engines that serve a name, and whether its
	// units are pairs.
	Cut(name string) (size int, bigram bool, err error)
}

// remoteShare is the part of the caller's time, in tenths, that a lookup elsewhere may
// take: what is left brings the answer, and the prompt's length with it, back.
const remoteShare = 8

// remote asks the indexer about the blocks that an engine can take from its cache: the
// last token is always computed (fixtures/README.md section 3).
func (p *Prompts) remote(ctx context.Context, q *server.PromptQuery, tokens *tokenize.Tokens) *wirepb.Lookup {
	const source = policy.SourceRemote
	prompt := promptOf(q, tokens)
	if prompt.LoRA != "" {
		return none(source, "an indexer cannot be asked about an adapter's prompts")
	}
	size, bigram := p.opts.BlockSize, p.opts.Bigram
	if size == 0 {
		var err error
		if size, bigram, err = p.opts.Places.Cut(q.Asked); err != nil {
			return none(source, err.Error())
		}
	}
	usable := prompt.Tokens
	if !bigram { // the last pair needs the last token, and is not computed again
		usable = usable[:len(usable)-1]
	}
	scratch := p.hashes.Get().(*[]int64)
	defer p.hashes.Put(scratch)
	hashes, err := sglhash.Hashes((*scratch)[:0], usable, sglhash.Options{BlockSize: size, Bigram: bigram, Salt: prompt.Salt, FullOnly: true})
	if err != nil {
		return none(source, err.Error())
	}
	*scratch = hashes
	if len(hashes) == 0 {
		return &wirepb.Lookup{Source: source, Outcome: wirepb.LookupOutcome_LOOKUP_MISS, Blocks: uint64(len(tokens.IDs))}
	}
	if !q.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(q.Until)*remoteShare/10)
		defer cancel()
	}
	answer := p.opts.Remote.Match(ctx, hashes)
	return p.told(&answer, q.Asked, uint64(len(tokens.IDs)), size)
}

// told makes a lookup of an indexer's answer. Its blocks are of one token, as those of
// the index here.
func (p *Prompts) told(a *indexer.Answer, asked string, tokens uint64, size int) *wirepb.Lookup {
	lookup := &wirepb.Lookup{Source: policy.SourceRemote, Outcome: wirepb.LookupOutcome_LOOKUP_MISS, Blocks: tokens}
	switch a.Outcome {
	case indexer.Matched:
		lookup.Depths = p.depths(a.Matches, asked, tokens, size)
		if len(lookup.Depths) > 0 {
			lookup.Outcome = wirepb.LookupOutcome_LOOKUP_HIT
		}
	case indexer.Empty:
	case indexer.Rejected:
		lookup.Outcome, lookup.Blocks, lookup.Detail = wirepb.LookupOutcome_LOOKUP_INVALID, 0, a.Outcome.String()+": "+a.Why
	case indexer.Timeout, indexer.Unreachable, indexer.Overloaded, indexer.TooLarge, indexer.Senseless:
		return none(policy.SourceRemote, a.Outcome.String()+": "+a.Why)
	}
	return lookup
}

// depths are those of the engines that serve what was asked for, in the order of these.
// Of an engine that is named twice the most counts.
func (p *Prompts) depths(matches []indexer.Match, asked string, tokens uint64, size int) (list []*wirepb.Depth) {
	blocks, unknown := map[string]int{}, 0
	for _, m := range matches {
		worker := p.opts.Places.At(m.Address)
		if worker == "" {
			unknown++
			continue
		}
		blocks[worker] = max(blocks[worker], m.Blocks)
	}
	p.opts.Remote.Ignore(indexer.UnknownWorker, unknown)
	for _, worker := range p.opts.Engines.Serving(asked) {
		if n := blocks[worker]; n > 0 {
			list = append(list, &wirepb.Depth{Worker: worker, Blocks: min(uint64(n)*uint64(size), tokens)})
		}
	}
	return list
}
