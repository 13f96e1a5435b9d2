package fakes

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
	"github.com/tidwall/gjson"
)

// api is one of the two inference endpoints.
type api int

const (
	chatAPI api = iota
	completionAPI
)

// maxChoices bounds n x prompts of one request.
const maxChoices = 128

// call is an inference request that was understood.
type call struct {
	model        string // as JSON
	prompt       int    // tokens
	output       int    // tokens to produce per choice
	choices      int
	reason       string // finish_reason when all output was produced
	stream       bool
	usage        bool // stream ends with a usage chunk
	usageAlways  bool // every chunk carries usage
	rid          string
	room         bool // carries a bootstrap_room (SGLang prefill/decode)
	remoteDecode bool // vLLM: prefill for a decode engine
	remoteReady  bool // vLLM: prefilled elsewhere

	// Only with a prefix cache:
	sequences [][]uint32 // prompts as tokens, one for each choice
	prompts   int
	namespace kvcache.Namespace
	cached    int  // tokens of the prompts
	report    bool // vLLM's report mode: hits are announced again
}

// bodyKeys are the raw values of the keys that matter; of a repeated key the last one counts, as in Python.
type bodyKeys struct {
	model, messages, prompt, tools, maxTokens, maxCompletion, n, stream, streamOptions, rid, room, transfer, salt, extraKey, xargs, opening, inputIDs gjson.Result

	chat []uint32 // tokens of the messages by Config.ChatTokens
}

// readChat reads the tokens of the messages, where the engine has a vocabulary.
func (k *bodyKeys) readChat(c Config) {
	if c.ChatTokens != nil && k.messages.IsArray() {
		k.chat = c.ChatTokens(k.messages.Raw)
	}
}

func (k *bodyKeys) read(key, value gjson.Result) bool {
	switch key.Str {
	case "model":
		k.model = value
	case "messages":
		k.messages = value
	case "prompt":
		k.prompt = value
	case "tools":
		k.tools = value
	case "max_tokens":
		k.maxTokens = value
	case "max_completion_tokens":
		k.maxCompletion = value
	case "n":
		k.n = value
	case "stream":
		k.stream = value
	case "stream_options":
		k.streamOptions = value
	case "rid":
		k.rid = value
	case "bootstrap_room":
		k.room = value
	case "kv_transfer_params":
		k.transfer = value
	case "cache_salt":
		k.salt = value
	case "extra_key":
		k.extraKey = value
	case "vllm_xargs":
		k.xargs = value
	case "add_generation_prompt":
		k.opening = value
	case "input_ids":
		k.inputIDs = value
	}
	return true
}

// parseObject checks that body is one JSON object and returns the keys that matter.
func parseObject(body []byte) (bodyKeys, *apiError) {
	var keys bodyKeys
	if !validJSON(body) {
		var syntax *json.SyntaxError
		var raw json.RawMessage
		at := int64(len(body))
		if err := json.Unmarshal(body, &raw); errors.As(err, &syntax) {
			at = syntax.Offset
		}
		return keys, invalidBody("body", "the request body is not valid JSON, see byte %d", at)
	}
	root := gjson.ParseBytes(body)
	if !root.IsObject() {
		return keys, invalidBody("body", "the request body must be a JSON object")
	}
	root.ForEach(keys.read)
	return keys, nil
}

// validJSON picks the validator: gjson's is fast but recurses without a limit, encoding/json's is bounded.
func validJSON(body []byte) bool {
	const recursionSafe = 1 << 20
	if len(body) <= recursionSafe {
		return gjson.ValidBytes(body)
	}
	return json.Valid(body)
}

// parseCall understands an inference body, or says what the engine has against it.
func (p *process) parseCall(api api, body []byte) (call, *apiError) {
	keys, bad := parseObject(body)
	if bad != nil {
		return call{}, bad
	}
	c := call{
		stream:       keys.stream.Bool(),
		usage:        keys.streamOptions.Get("include_usage").Bool(),
		rid:          keys.rid.String(),
		room:         keys.room.Exists() && keys.room.Type != gjson.Null,
		remoteDecode: keys.transfer.Get("do_remote_decode").Bool(),
		remoteReady:  keys.transfer.Get("do_remote_prefill").Bool(),
	}
	c.usageAlways = c.usage && keys.streamOptions.Get("continuous_usage_stats").Bool()
	if keys.rid.IsArray() {
		c.rid = keys.rid.Get("0").String()
	}
	return c, p.check(&c, api, keys)
}

// check fills in the rest of c and returns the first objection.
func (p *process) check(c *call, api api, keys bodyKeys) *apiError {
	if bad := p.nameModel(c, keys.model); bad != nil {
		return bad
	}
	keys.readChat(p.cfg)
	if bad := countPrompt(c, api, keys); bad != nil {
		return bad
	}
	if bad := p.countIDs(c, api, keys.inputIDs); bad != nil {
		return bad
	}
	if bad := p.limitOutput(c, keys); bad != nil {
		return bad
	}
	if bad := p.fitLength(*c); bad != nil {
		return bad
	}
	if bad := p.readPrompt(c, api, keys); bad != nil {
		return bad
	}
	return p.checkRole(c)
}

func (p *process) nameModel(c *call, model gjson.Result) *apiError {
	if model.Exists() && model.Type != gjson.String && model.Type != gjson.Null {
		return invalidBody("body.model", "model must be a string")
	}
	quoted, ok := p.names.lookup(model.Str)
	if !ok {
		return &apiError{
			status: http.StatusNotFound, param: "model",
			message: "model " + model.Str + " is not served here, use one of: " + p.names.list,
		}
	}
	c.model = quoted
	return nil
}

func countPrompt(c *call, api api, keys bodyKeys) *apiError {
	c.choices = 1
	if api == chatAPI {
		if !keys.messages.IsArray() {
			return invalidBody("body.messages", "messages must be a list")
		}
		if strings.TrimSpace(keys.messages.Raw[1:len(keys.messages.Raw)-1]) == "" {
			return badRequest("", "messages is empty, give at least one")
		}
		if c.prompt = len(keys.chat); keys.chat == nil {
			c.prompt = chatTokens(keys.messages, keys.tools)
		}
	} else {
		tokens, prompts, ok := promptTokens(keys.prompt)
		if !ok {
			return invalidBody("body.prompt", "prompt must be a text, a list of texts, or token ids")
		}
		c.prompt, c.choices = max(tokens, 1), prompts
	}
	n, given, bad := wholeNumber("n", keys.n)
	if bad != nil {
		return bad
	}
	if given {
		if n < 1 || n > maxChoices || n*c.choices > maxChoices {
			return badRequest("n", "n is %d, a request may have 1 to %d choices", n, maxChoices)
		}
		c.choices *= n
	}
	if c.choices > maxChoices {
		return badRequest("prompt", "%d prompts in one request, at most %d are taken", c.choices, maxChoices)
	}
	return nil
}

// countIDs goes by the token ids that a chat brings beside its messages. SGLang computes with them; vLLM does not know them.
func (p *process) countIDs(c *call, api api, ids gjson.Result) *apiError {
	if !p.readsIDs(api, ids) {
		return nil
	}
	tokens, _, ok := promptTokens(ids)
	if !ok || !ids.IsArray() {
		return invalidBody("body.input_ids", "input_ids must be a list of token ids")
	}
	c.prompt = tokens
	return nil
}

func (p *process) readsIDs(api api, ids gjson.Result) bool {
	return api == chatAPI && p.cfg.Dialect == SGLang && ids.Exists() && ids.Type != gjson.Null
}

// wholeNumber reads an optional integer; null counts as absent.
func wholeNumber(name string, v gjson.Result) (n int, given bool, bad *apiError) {
	if !v.Exists() || v.Type == gjson.Null {
		return 0, false, nil
	}
	const exact = 1 << 53
	if v.Type != gjson.Number || v.Num != float64(int64(v.Num)) || v.Num > exact || v.Num < -exact {
		return 0, false, invalidBody("body."+name, "%s must be a whole number", name)
	}
	return int(v.Num), true, nil
}

func (p *process) limitOutput(c *call, keys bodyKeys) *apiError {
	c.output, c.reason = p.cfg.DefaultOutputTokens, "stop"
	for _, limit := range []struct {
		name  string
		value gjson.Result
	}{{"max_completion_tokens", keys.maxCompletion}, {"max_tokens", keys.maxTokens}} {
		n, given, bad := wholeNumber(limit.name, limit.value)
		if bad != nil {
			return bad
		}
		if !given {
			continue
		}
		if n < 1 || n > p.cfg.MaxModelLen {
			return badRequest(limit.name, "%s is %d, it must be 1 to %d", limit.name, n, p.cfg.MaxModelLen)
		}
		c.output, c.reason = n, "length"
		return nil
	}
	if room := p.cfg.MaxModelLen - c.prompt; room > 0 && room < c.output {
		c.output, c.reason = room, "length"
	}
	return nil
}

// fitLength refuses what the model's context or the whole KV memory cannot hold.
func (p *process) fitLength(c call) *apiError {
	if c.prompt >= p.cfg.MaxModelLen {
		return badRequest("input_tokens", "prompt has %d tokens, but prompt and output together may have %d; shorten the prompt",
			c.prompt, p.cfg.MaxModelLen)
	}
	if total := c.prompt + c.output; total > p.cfg.MaxModelLen {
		return badRequest("input_tokens", "prompt (%d tokens) and output (%d) together exceed %d; ask for less output",
			c.prompt, c.output, p.cfg.MaxModelLen)
	}
	if need := ceilDiv(c.prompt+c.output*c.choices, p.cfg.BlockSize); need > p.cfg.KVBlocks {
		return badRequest("n", "all choices together need %d KV blocks, the engine has %d; ask for fewer", need, p.cfg.KVBlocks)
	}
	return nil
}

// checkRole applies what a prefill or decode engine does differently.
func (p *process) checkRole(c *call) *apiError {
	if p.cfg.Role == Plain {
		return nil
	}
	if p.cfg.Dialect == SGLang && !c.room {
		return badRequest("", "a %s engine needs bootstrap_room in the body", p.cfg.Role)
	}
	if p.cfg.Dialect == SGLang && p.cfg.Role == Prefill {
		c.output, c.reason = 1, "length" // the rest is decode's work
	}
	return nil
}
