package inputids

import (
	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// Shape gives the first thing in the order of engine-selection.md 12.5 that forbids
// forwarding a chat with its ids, INPUT_IDS_GIVEN for none. The body is one that
// chat.Peek has read.
func Shape(body string) wirepb.InputIDsVerdict {
	var s shape
	gjson.Parse(body).ForEach(s.member)
	s.readMessages()
	for _, c := range []struct {
		found   bool
		verdict wirepb.InputIDsVerdict
	}{
		{s.caller, wirepb.InputIDsVerdict_INPUT_IDS_CALLER},
		{s.turns == 0, wirepb.InputIDsVerdict_INPUT_IDS_NO_MESSAGES},
		{s.tools, wirepb.InputIDsVerdict_INPUT_IDS_TOOLS},
		{s.nonText, wirepb.InputIDsVerdict_INPUT_IDS_NON_TEXT_CONTENT},
		{s.reasoning, wirepb.InputIDsVerdict_INPUT_IDS_REASONING_CONTENT},
		{s.rewrite, wirepb.InputIDsVerdict_INPUT_IDS_ROLE_REWRITE},
		{s.template, wirepb.InputIDsVerdict_INPUT_IDS_TEMPLATE_CONTROLS},
		{s.continues, wirepb.InputIDsVerdict_INPUT_IDS_ASSISTANT_CONTINUATION},
	} {
		if c.found {
			return c.verdict
		}
	}
	return wirepb.InputIDsVerdict_INPUT_IDS_GIVEN
}

// shape is what a chat has that matters.
type shape struct {
	messages gjson.Result
	turns    int
	last     string // role of the last message

	caller, tools, nonText, reasoning, rewrite, template, continues bool
}

// member reads a member of the body. Where one stands twice, each of them counts, but of
// the messages the last, as with parsers.
func (s *shape) member(key, value gjson.Result) bool {
	used := value.Type != gjson.Null
	switch key.Str {
	case "messages":
		s.messages = value
	case "input_ids", "input_embeds", "prompt_embeds":
		s.caller = s.caller || used
	case "tools", "functions":
		s.tools = s.tools || used && value.Raw != "[]"
	case "tool_choice", "function_call":
		s.tools = s.tools || used && value.Str != "none" && value.Str != "auto"
	case "chat_template", "chat_template_kwargs", "reasoning", "reasoning_effort", "task",
		"documents", "add_special_tokens", "truncate_prompt_tokens", "mm_processor_kwargs":
		s.template = s.template || used
	case "add_generation_prompt":
		s.template = s.template || used && value.Type != gjson.True
	case "continue_final_message":
		s.continues = s.continues || used && value.Type != gjson.False
	}
	return true
}

func (s *shape) readMessages() {
	if !s.messages.IsArray() {
		return
	}
	s.messages.ForEach(func(_, message gjson.Result) bool {
		s.message(message)
		s.turns++
		return true
	})
	s.continues = s.continues || s.last == "assistant"
}

// message reads one message. An engine rewrites roles where its template knows no other
// order: a system message that is not the first one, two of the user in a row. A role
// that nobody knows is taken for one that is rewritten.
func (s *shape) message(m gjson.Result) {
	role := m.Get("role").Str
	switch role {
	case "user":
		s.rewrite = s.rewrite || s.last == "user"
	case "system":
		s.rewrite = s.rewrite || s.turns > 0
	case "assistant":
	case "tool", "function":
		s.tools = true
	default:
		s.rewrite = true
	}
	s.last = role
	text := false
	m.ForEach(func(key, value gjson.Result) bool {
		used := value.Type != gjson.Null
		switch key.Str {
		case "content":
			text = value.Type == gjson.String
		case "tool_calls", "function_call", "tool_call_id":
			s.tools = s.tools || used && value.Raw != "[]"
		case "reasoning_content", "reasoning":
			s.reasoning = s.reasoning || used
		}
		return true
	})
	s.nonText = s.nonText || !text
}
