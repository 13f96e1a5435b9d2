package prompts

import (
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
	lookup := &wirepb.Lookup{Source: source, Outcome: wirepb.LookupOutcome_LOOKUP_MISS, Blocks: tokens, Shared: uint64(r.Shared)}
	trusted, why := false, "no engine serves it"
	for _, worker := range p.opts.Engines.Serving(asked) {
		if d := depths[worker]; d != nil {
			if d.Rank != nil && p.opts.Index.Ranks(worker) < 2 {
				d.Rank = nil // there is no choice
			}
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

// note keeps the rank of an engine that holds the most, of equals the first.
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
	if reach < d.GetBlocks() || reach == d.GetBlocks() && m.Owner.Rank >= d.GetRank() {
		return
	}
	device, rank := uint64(m.Within[0])*uint64(m.BlockSize), m.Owner.Rank
	d.Blocks, d.DeviceBlocks, d.Rank = reach, &device, &rank
	d.Uncertain = m.Trust != zmqsub.TrustFull || !m.Certain
}
