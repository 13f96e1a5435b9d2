package prompts

import (
	"slices"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// promptOf names what an engine looks up: equal tokens are another prefix under
// another salt or adapter (fixtures/README.md section 4).
func promptOf(q *server.PromptQuery, tokens *tokenize.Tokens) kvindex.Prompt {
	prompt := kvindex.Prompt{Tokens: tokens.IDs, Salt: tokens.Facts.Salt}
	switch {
	case q.Asked != q.Model:
		prompt.LoRA = q.Asked
	case tokens.Facts.Adapter != "":
		prompt.LoRA = tokens.Facts.Adapter
	}
	return prompt
}

// local makes the answer of the index. Its blocks are of one token, since engines
// cut prompts into blocks of different sizes and are compared with one another.
func (p *Prompts) local(source, asked string, tokens uint64, r *pump.Result) *wirepb.Lookup {
	depths := make(map[string]*wirepb.Depth, len(r.Matches))
	for i := range r.Matches {
		note(depths, &r.Matches[i])
	}
	lookup := &wirepb.Lookup{Source: source, Outcome: wirepb.LookupOutcome_LOOKUP_MISS, Blocks: tokens, AgeMs: known(r.Age), Shared: uint64(r.Shared)}
	trusted, why := false, "no engine serves it"
	for _, worker := range p.opts.Engines.Serving(asked) {
		if d := depths[worker]; d != nil {
			p.nameRanks(d)
			lookup.Depths = append(lookup.Depths, d)
			continue
		}
		trust, reason := p.opts.Index.Trust(worker)
		if trust == zmqsub.TrustNone {
			why = worker + ": " + reason
		}
		trusted = trusted || trust != zmqsub.TrustNone
	}
	switch {
	case len(lookup.Depths) > 0:
		lookup.Outcome = wirepb.LookupOutcome_LOOKUP_HIT
	case !trusted:
		return none(source, "no engine of this model has KV events that can be trusted ("+why+")")
	}
	return lookup
}

// known points at a known count and is nil for an unknown one.
func known(c core.Count) *uint64 {
	if !c.Known {
		return nil
	}
	return &c.N
}

// nameRanks leaves the ranks out where there is no choice.
func (p *Prompts) nameRanks(d *wirepb.Depth) {
	switch slices.Sort(d.Ranks); {
	case p.opts.Index.Ranks(d.GetWorker()) < 2:
		d.Rank, d.Ranks = nil, nil
	case len(d.Ranks) < 2:
		d.Ranks = nil
	}
}

// note keeps the ranks of an engine that hold the most, and what else is known of the
// first of them.
func note(depths map[string]*wirepb.Depth, m *pump.Match) {
	reach := uint64(m.Reach())
	if reach == 0 {
		return
	}
	d := depths[m.Owner.Worker]
	if d == nil {
		d = &wirepb.Depth{Worker: m.Owner.Worker}
		depths[m.Owner.Worker] = d
	}
	switch {
	case reach < d.GetBlocks():
		return
	case reach > d.GetBlocks():
		d.Ranks = d.Ranks[:0]
	}
	d.Ranks = append(d.Ranks, m.Owner.Rank)
	if reach == d.GetBlocks() && m.Owner.Rank >= d.GetRank() {
		return
	}
	device, rank := uint64(m.Within[0])*uint64(m.BlockSize), m.Owner.Rank
	d.Blocks, d.DeviceBlocks, d.Rank, d.AgeMs = reach, &device, &rank, known(m.Age)
	d.Uncertain = m.Trust != zmqsub.TrustFull || !m.Certain
}
