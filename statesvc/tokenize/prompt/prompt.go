package prompt

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/core/chat"
)

// Features is a set of the things a request can make its engine do between the body
// and the tokens. Whether local tokens are the engine's is known for each by itself.
type Features uint8

// The features.
const (
	Text     Features = 1 << iota // a prompt of text, with the tokens the engine puts around it
	Chat                          // messages through the chat template
	Tools                         // tools, calls of tools and their answers
	Parts                         // content in parts
	Template                      // chat_template_kwargs and add_generation_prompt
	Continue                      // continue_final_message
	All      = Text | Chat | Tools | Parts | Template | Continue
)

// Names gives the features' names in the order of their bits.
func Names() []string { return []string{"text", "chat", "tools", "parts", "template", "continue"} }

// String joins the names of the set.
func (f Features) String() string {
	var names []string
	for i, n := range Names() {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, "+")
}

// Prompt is what is tokenized. Exactly one of Texts, IDs and Messages is set, or none
// where the dialect's prompt has no form in tokens.
type Prompt struct {
	Facts    chat.Facts
	Features Features
	// Texts are the sequences of a text prompt.
	Texts []string
	// IDs are the sequences of a prompt that the client sent as tokens.
	IDs [][]uint32
	// Messages and Tools are their JSON; Tools is empty without tools.
	Messages, Tools string
	// text holds the members whose words are prompt text.
	text []gjson.Result
	// Members is the JSON of the other members of the body that can change what is
	// tokenized, by name; null ones are left out.
	Members map[string]string
}

// memberFeature tells the members that change what is tokenized, as vLLM's and SGLang's
// requests have them, and the feature that a member is use of, if it is one.
func memberFeature(name string) (feature Features, ok bool) {
	switch name {
	case "add_generation_prompt", "chat_template_kwargs":
		return Template, true
	case "continue_final_message":
		return Continue, true
	case "chat_template", "add_special_tokens", "documents", "reasoning_effort", "reasoning", "task", "tool_choice",
		"truncate_prompt_tokens", "mm_processor_kwargs", "prompt_embeds", "input_ids", "input_embeds",
		"image_data", "audio_data", "video_data", "suffix", "echo":
		return 0, true
	}
	return 0, false
}

// ErrNotText says that the body holds text no engine takes: bytes that are no UTF-8,
// or one half of a surrogate pair.
var ErrNotText = errors.New("the body holds half a surrogate pair or bytes that are not UTF-8")

// Read takes a body apart. The error is a *chat.Error, which means that the body is
// refused, or ErrNotText, with only the prompt's facts and raw text set.
func Read(dialect chat.Dialect, body string) (Prompt, error) {
	facts, err := chat.Peek(body, dialect)
	p := Prompt{Facts: facts}
	if err != nil {
		return p, fmt.Errorf("read request: %w", err)
	}
	var prompt gjson.Result
	gjson.Parse(body).ForEach(func(key, value gjson.Result) bool {
		name := key.Str
		if isWords(name) {
			p.text = append(p.text, value)
		}
		switch {
		case name == promptMember(dialect):
			prompt = value
		case name == "tools" && dialect == chat.DialectChat:
			p.Tools = value.Raw
		case dialect == chat.DialectGenerate && name == "input_ids":
			p.IDs = sequences(value)
		default:
			p.note(dialect, name, value)
		}
		return true
	})
	if !utf8.ValidString(body) || hasLoneSurrogate(body) {
		return Prompt{Facts: facts, text: p.text}, ErrNotText
	}
	p.take(dialect, prompt)
	return p, nil
}

// note keeps a member that can change what is tokenized. A member of its default does
// not count as use of its feature.
func (p *Prompt) note(dialect chat.Dialect, name string, value gjson.Result) {
	feature, ok := memberFeature(name)
	if !ok {
		return
	}
	byDefault := value.Type == gjson.Null ||
		name == "continue_final_message" && value.Type == gjson.False ||
		name == "add_generation_prompt" && value.Type == gjson.True ||
		name == "chat_template_kwargs" && value.Raw == "{}" ||
		name == "echo" && value.Type == gjson.False
	if byDefault {
		delete(p.Members, name) // the last one counts
		return
	}
	if p.Members == nil {
		p.Members = map[string]string{}
	}
	p.Members[name] = value.Raw
	if dialect == chat.DialectChat {
		p.Features |= feature
	}
}

// isWords tells the members that hold prompt text in any dialect.
func isWords(name string) bool {
	switch name {
	case "messages", "prompt", "text", "input", "system", "instructions", "tools":
		return true
	}
	return false
}

func promptMember(dialect chat.Dialect) string {
	switch dialect {
	case chat.DialectChat:
		return "messages"
	case chat.DialectCompletions:
		return "prompt"
	case chat.DialectGenerate:
		return "text"
	case chat.DialectEmbeddings:
		return "input"
	case chat.DialectNone, chat.DialectResponses, chat.DialectMessages:
	}
	return ""
}

// take sets what the prompt's value holds.
func (p *Prompt) take(dialect chat.Dialect, v gjson.Result) {
	if dialect == chat.DialectChat {
		if v.IsArray() {
			p.Messages = v.Raw
			p.Features |= Chat
		}
		if p.Tools == "null" || p.Tools == "[]" {
			p.Tools = ""
		}
		if p.Tools != "" {
			p.Features |= Tools
		}
		return
	}
	switch {
	case p.IDs != nil || !v.Exists():
	case v.Type == gjson.String:
		p.Texts = []string{v.Str}
	case v.IsArray():
		if p.IDs = sequences(v); p.IDs == nil {
			p.Texts = texts(v)
		}
	}
	if p.Texts != nil {
		p.Features |= Text
	}
}

// texts gives the strings of a list, or nil if it holds anything else.
func texts(v gjson.Result) (out []string) {
	ok := true
	v.ForEach(func(_, item gjson.Result) bool {
		ok = item.Type == gjson.String
		out = append(out, item.Str)
		return ok
	})
	if !ok {
		return nil
	}
	return out
}

// sequences gives a list of token ids, or of lists of them, or nil.
func sequences(v gjson.Result) [][]uint32 {
	if !v.IsArray() {
		return nil
	}
	if !strings.HasPrefix(strings.TrimLeft(v.Raw[1:], " \t\r\n"), "[") {
		if ids, ok := tokenIDs(v); ok {
			return [][]uint32{ids}
		}
		return nil
	}
	var out [][]uint32
	ok := true
	v.ForEach(func(_, item gjson.Result) bool {
		var ids []uint32
		ids, ok = tokenIDs(item)
		out = append(out, ids)
		return ok
	})
	if !ok {
		return nil
	}
	return out
}

// tokenIDs reads a list of token ids; an empty one is none.
func tokenIDs(v gjson.Result) (ids []uint32, ok bool) {
	ok = v.IsArray()
	v.ForEach(func(_, item gjson.Result) bool {
		id, err := strconv.ParseUint(item.Raw, 10, 32)
		ok = ok && err == nil
		ids = append(ids, uint32(id))
		return ok
	})
	return ids, ok && len(ids) > 0
}
