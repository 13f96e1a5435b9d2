package story

import (
	"encoding/json"
	"fmt"
	"strings"
)

// prompt is what a request asks for.
type prompt struct {
	model  string
	text   string // of the prompt
	input  uint64 // tokens by the estimate, 0 for what the text comes to
	output uint64 // 0 for no limit
	plain  bool   // a completion, not a chat
}

// bytesPerToken is the filter's estimate (engine-selection.md 12.2).
const bytesPerToken = 4

// body writes a request body, padded so that the estimate gives the wanted input.
func (p prompt) body() (string, error) {
	text := p.text
	body := p.write(text)
	if p.input == 0 {
		return body, nil
	}
	missing := int64(p.input)*bytesPerToken - int64(len(body))
	if missing < 0 {
		return "", fmt.Errorf("input=%d is too short for the rest of the body; write input=%d or more, or leave it out", p.input, (len(body)+bytesPerToken-1)/bytesPerToken)
	}
	return p.write(text + strings.Repeat("x", int(missing))), nil
}

func (p prompt) write(text string) string {
	var b strings.Builder
	b.WriteByte('{')
	if p.model != "" {
		fmt.Fprintf(&b, `"model":%s,`, quoted(p.model))
	}
	if p.output > 0 {
		fmt.Fprintf(&b, `"max_tokens":%d,`, p.output)
	}
	if p.plain {
		fmt.Fprintf(&b, `"prompt":%s}`, quoted(text))
	} else {
		fmt.Fprintf(&b, `"messages":[{"role":"user","content":%s}]}`, quoted(text))
	}
	return b.String()
}

func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(raw)
}
