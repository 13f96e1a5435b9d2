package tokenize

import (
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
)

// probe is a request whose tokens tell whether a feature is done as the engine does it.
type probe struct {
	feature prompt.Features
	dialect chat.Dialect
	body    string
}

// awkward is text where tokenizers differ: spaces and line ends, numbers, contractions,
// case, composed and decomposed letters, scripts, emoji, added tokens, control
// characters.
const awkward = `  Hello's WORLD'LL\n\n\t x=12345.6789; caf\u00e9 cafe\u0301 \u212b fooBAR XMLHttp\r\n   ` +
	`\u4e2d\u6587\u3001\u304b\u306a \ud55c\uad6d\uc5b4 \u0421\u043b\u043e\u0432\u043e \u05e9\u05dc\u05d5\u05dd \ud83d\ude00\ud83d\udc69\u200d\ud83d\udc67 ` +
	`<|im_end|><|eot_id|><|endoftext|><think> a<b&&c>d {\"k\": [1,2]} -----====\u00a0\u2003\u0000\u007f \"q\\ \n `

// probes gives a probe for each feature.
func probes(model string) []probe {
	const (
		user   = `{"role":"user","content":"` + awkward + `"}`
		system = `{"role":"system","content":" Be terse.\n"}`
		said   = `{"role":"assistant","content":"Yes, 1234 of them. \n"}`
		called = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look_up",` +
			`"arguments":"{\"z\": \"caf\u00e9 <&>\", \"a\": [1, 2.50, true, null]}"}}]}`
		result = `{"role":"tool","tool_call_id":"c1","content":"{\"n\": 1}"}`
		tool   = `{"type":"function","function":{"name":"look_up","description":"Looks \"it\" up <now> & caf\u00e9","parameters":` +
			`{"type":"object","properties":{"z":{"type":"string","enum":["b","a"]},"a":{"type":"number","minimum":1e5}},"required":["z"]}}}`
		parts = `{"role":"user","content":[{"type":"text","text":"one "},{"type":"text","text":" two\n"}]}`
	)
	name := strconv.Quote(model)
	request := func(messages ...string) string {
		return `{"model":` + name + `,"messages":[` + strings.Join(messages, ",") + `]`
	}
	return []probe{
		{prompt.Text, chat.DialectCompletions, `{"model":` + name + `,"prompt":"` + awkward + `"}`},
		{prompt.Chat, chat.DialectChat, request(system, user, said, user) + `}`},
		{prompt.Tools, chat.DialectChat, request(system, user, called, result, said, user) + `,"tools":[` + tool + `,` + tool + `]}`},
		{prompt.Parts, chat.DialectChat, request(system, parts, said, parts) + `}`},
		{prompt.Template, chat.DialectChat, request(user) + `,"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}`},
		{prompt.Continue, chat.DialectChat, request(user, said) + `,"add_generation_prompt":false,"continue_final_message":true}`},
		// SGLang has no add_generation_prompt; vLLM refuses this one.
		{prompt.Continue, chat.DialectChat, request(user, said) + `,"continue_final_message":true}`},
	}
}
