package fakes

import (
	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
	"github.com/tidwall/gjson"
)

// instant takes a request that is answered at once through the prefix cache, and gives the tokens found there. Salt,
// adapter and extra key are where SGLang's /generate has them.
func (x *exchange) instant(prompt, body gjson.Result, output int) (cached int) {
	if x.kv == nil {
		return 0
	}
	c := call{}
	c.namespace = kvcache.Namespace{
		Salt: body.Get("cache_salt").String(), LoRA: body.Get("lora_path").String(), Key: body.Get("extra_key").String(),
	}
	lists := promptIDs(prompt)
	if lists == nil {
		lists = [][]int{appendTokens(nil, prompt.Raw)}
	}
	c.prompts = len(lists)
	total := 0
	for _, ids := range lists {
		tokens := tokensOf(ids)
		total += len(tokens)
		c.sequences = append(c.sequences, tokens)
	}
	rank := int((x.nextRank.Add(1) - 1) % uint64(len(x.ranks)))
	p := x.kv.admit(rank, &c)
	defer p.release()
	_ = p.compute(total, func(int) error { return nil }) // which is the only error it has
	p.grow(x.cfg.Seed, 0, output)
	return c.cached
}

// tokensOf is a prompt as the caches take it. An empty one counts one token.
func tokensOf(ids []int) []uint32 {
	tokens := make([]uint32, max(len(ids), 1))
	for i, id := range ids {
		tokens[i] = uint32(id)
	}
	return tokens
}
