package render

import (
	"strings"

	"github.com/pointsman/pointsman/statesvc/tokenize/chattemplate"
)

// billing begins a line that vLLM takes out of system messages.
const billing = "x-anthropic-billing-header"

// asVLLM does what vLLM (0.32) does to messages before it renders: the answers of tools
// in parts become text.
func asVLLM(messages *chattemplate.List) error {
	for _, m := range messages.Items {
		d := m.(*chattemplate.Dict)
		role, _ := d.Get("role")
		texts := contentTexts(d)
		switch role {
		case "tool":
			d.Set("content", strings.Join(texts, "\n"))
		case "system":
			for _, text := range texts {
				if strings.Contains(text, billing) {
					return refuse("a system message with a line that vLLM may take out")
				}
			}
		}
	}
	return nil
}

// asSGLang does what SGLang (0.5.23) does to messages before it renders: a last message
// of the assistant's that is not to go on becomes the user's, and the answers of tools
// in parts become text.
func (c *conversation) asSGLang(messages *chattemplate.List, carryOn bool) error {
	if c.answers > 1 && c.template.Mentions("tool_call_id") {
		return refuse("answers of tools that SGLang may put into another order")
	}
	for i, m := range messages.Items {
		d := m.(*chattemplate.Dict)
		if _, named := d.Get("name"); named && c.template.Mentions("name") {
			return refuse("a name in a message")
		}
		role, _ := d.Get("role")
		content, _ := d.Get("content")
		if role == "tool" {
			d.Set("content", strings.Join(contentTexts(d), " "))
		}
		words, isText := content.(string)
		if i == len(messages.Items)-1 && role == "assistant" && isText && !carryOn {
			last := chattemplate.NewDict()
			last.Set("role", "user")
			last.Set("content", words)
			messages.Items[i] = last
		}
	}
	return nil
}

// contentTexts gives a message's text, or the texts of its parts.
func contentTexts(d *chattemplate.Dict) (texts []string) {
	content, _ := d.Get("content")
	if text, ok := content.(string); ok {
		return []string{text}
	}
	parts, ok := content.(*chattemplate.List)
	if !ok {
		return nil
	}
	for _, part := range parts.Items {
		if p, ok := part.(*chattemplate.Dict); ok {
			text, _ := p.Get("text")
			t, _ := text.(string)
			texts = append(texts, t)
		}
	}
	return texts
}
