package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
)

// NotAskableError says which part of a request an engine's /tokenize has no member for.
type NotAskableError struct{ What string }

// Error names the part.
func (e *NotAskableError) Error() string { return "/tokenize cannot be asked about " + e.What }

// Question writes the body of a /tokenize request, with the client's own JSON for every
// member (field report D01). Text prompts of several sequences and token ids have no
// question.
func Question(p *prompt.Prompt, of render.Engine) (string, error) {
	var b strings.Builder
	b.WriteByte('{')
	if p.Facts.Model != "" {
		b.WriteString(`"model":` + quote(p.Facts.Model) + ",")
	}
	switch {
	case p.Messages != "":
		if of == render.VLLM && strings.Contains(p.Messages, "reasoning_content") {
			// vLLM's chats take it for reasoning, its questions leave it out.
			return "", &NotAskableError{"reasoning_content"}
		}
		b.WriteString(`"messages":` + p.Messages)
		if p.Tools != "" {
			b.WriteString(`,"tools":` + p.Tools)
		}
	case len(p.Texts) == 1:
		b.WriteString(`"prompt":` + p.Facts.Prompt)
	default:
		return "", &NotAskableError{fmt.Sprintf("%d sequences", max(len(p.Texts), len(p.IDs)))}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Members)) {
		ask, ok := member(p, of, name)
		if !ok {
			return "", &NotAskableError{name}
		}
		if ask {
			b.WriteString("," + quote(name) + ":" + p.Members[name])
		}
	}
	b.WriteByte('}')
	return b.String(), nil
}

// member reports whether a member is asked about. One that changes the tokens and has
// no place in the question makes it impossible.
func member(p *prompt.Prompt, of render.Engine, name string) (ask, ok bool) {
	if of == render.SGLang && p.Messages != "" {
		return sglangMember(name)
	}
	switch name {
	case "add_generation_prompt", "continue_final_message", "add_special_tokens", "chat_template", "chat_template_kwargs", "mm_processor_kwargs":
		return true, true
	case "tool_choice":
		return false, p.Tools == "" || p.Members[name] != `"none"`
	case "suffix", "echo":
		return false, p.Messages != ""
	}
	return false, false
}

// sglangMember is for chats: SGLang reads a question as a chat request, but for two
// members that a chat request does not have and that mean something else in questions.
func sglangMember(name string) (ask, ok bool) {
	switch name {
	case "continue_final_message", "chat_template_kwargs", "tool_choice", "reasoning_effort":
		return true, true
	case "add_generation_prompt", "add_special_tokens", "suffix", "echo", "mm_processor_kwargs":
		return false, true
	}
	return false, false
}

// quote writes a JSON string.
func quote(s string) string { return string(gjson.AppendJSONString(nil, s)) }

// answer is what /tokenize says: tokens, and how many they are. The library reads it
// without recursion that an answer could drive.
func answer(body []byte) ([]uint32, error) {
	var said struct {
		Tokens *[]uint32 `json:"tokens"`
		Count  *int      `json:"count"`
	}
	if err := json.Unmarshal(body, &said); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	switch {
	case said.Tokens == nil:
		return nil, fmt.Errorf("%w: it has no tokens", ErrAnswer)
	case said.Count != nil && *said.Count != len(*said.Tokens):
		return nil, fmt.Errorf("%w: it counts %d tokens and has %d", ErrAnswer, *said.Count, len(*said.Tokens))
	}
	return *said.Tokens, nil
}
