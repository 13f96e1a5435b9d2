package fakes

import (
	"hash/fnv"
	"strings"

	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
	"github.com/tidwall/gjson"
)

// The ids around a message, those of ChatML in Qwen's vocabulary.
const (
	startToken   = 151_644
	endToken     = 151_645
	newlineToken = 198
)

// nameID is the one id of a role or of another thing that is not cut into pieces.
func nameID(name string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return int(h.Sum32() % vocabulary)
}

// wordID is the id of the i-th token of an engine's answer: what the word is tokenized to when it comes back.
func wordID(seed uint64, i int) uint32 {
	return uint32(nameID(strings.TrimPrefix(word(seed, i), " ")))
}

// chatIDs is a chat as tokens, in the order of its template: tools, messages, the opening of the reply. A chat that goes
// on begins with the same tokens.
func chatIDs(keys bodyKeys) []int {
	ids := []int{}
	if keys.tools.IsArray() {
		ids = appendTokens(ids, keys.tools.Raw)
	}
	keys.messages.ForEach(func(_, message gjson.Result) bool {
		ids = append(ids, startToken, nameID(message.Get("role").Str), newlineToken)
		message.ForEach(func(key, value gjson.Result) bool {
			switch {
			case key.Str == "content" && value.IsArray():
				ids = appendParts(ids, value)
			case key.Str == "content":
				ids = appendTokens(ids, value.Str)
			case key.Str == "tool_calls" && value.IsArray():
				ids = appendTokens(ids, value.Raw)
			}
			return true
		})
		ids = append(ids, endToken, newlineToken)
		return true
	})
	return append(ids, startToken, nameID("assistant"), newlineToken)
}

func appendParts(ids []int, parts gjson.Result) []int {
	parts.ForEach(func(_, part gjson.Result) bool {
		if t := part.Get("text"); t.Exists() {
			ids = appendTokens(ids, t.Str)
			return true
		}
		id := nameID(part.Raw)
		for range mediaPartTokens {
			ids = append(ids, id)
		}
		return true
	})
	return ids
}

// readPrompt keeps the tokens of a request's prompts, where there is a cache to look them up in.
func (p *process) readPrompt(c *call, api api, keys bodyKeys) *apiError {
	if p.cfg.KV == nil {
		return nil
	}
	if keys.salt.Exists() && keys.salt.Type != gjson.Null && (keys.salt.Type != gjson.String || keys.salt.Str == "") {
		return badRequest("cache_salt", "cache_salt must be a text that is not empty")
	}
	c.namespace = kvcache.Namespace{Salt: keys.salt.Str, LoRA: p.adapterOf(keys.model.Str), Key: keys.extraKey.String()}
	c.report = p.cfg.Dialect == VLLM && keys.xargs.Get("kv_cache_report_mode").Str == "full"
	prompts := p.promptTokenLists(api, keys)
	c.prompts = len(prompts)
	for _, tokens := range prompts {
		for range c.choices / len(prompts) {
			c.sequences = append(c.sequences, tokens)
		}
	}
	return nil
}

// promptTokenLists is a request's prompts as the caches take them.
func (p *process) promptTokenLists(api api, keys bodyKeys) (prompts [][]uint32) {
	asked := keys.prompt
	switch {
	case p.readsIDs(api, keys.inputIDs):
		asked = keys.inputIDs
	case api == chatAPI && keys.chat != nil:
		return [][]uint32{keys.chat}
	case api == chatAPI:
		return [][]uint32{tokensOf(chatIDs(keys))}
	}
	for _, ids := range promptIDs(asked) {
		prompts = append(prompts, tokensOf(ids))
	}
	return prompts
}

// promptIDs is a completion's prompts as tokens.
func promptIDs(prompt gjson.Result) (prompts [][]int) {
	if prompt.Type == gjson.String {
		return [][]int{appendTokens(nil, prompt.Str)}
	}
	var ids []int
	prompt.ForEach(func(_, item gjson.Result) bool {
		switch item.Type {
		case gjson.Number:
			ids = append(ids, int(item.Int()))
		case gjson.String:
			prompts = append(prompts, appendTokens(nil, item.Str))
		default:
			var list []int
			item.ForEach(func(_, id gjson.Result) bool { list = append(list, int(id.Int())); return true })
			prompts = append(prompts, list)
		}
		return true
	})
	if ids != nil {
		return [][]int{ids}
	}
	return prompts
}

// adapterOf is the adapter that a model's name stands for, "" for none.
func (p *process) adapterOf(model string) string {
	for _, a := range p.cfg.Adapters {
		if model == a.Name || p.cfg.Dialect == SGLang && model == a.Parent+":"+a.Name {
			return a.Name
		}
	}
	return ""
}
