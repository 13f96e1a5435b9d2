package cached

import (
	"context"
	"fmt"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/hostsim/traffic"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
)

// vocabulary turns chats into tokens as a real model does. All engines share it, and
// what it remembers of growing chats. A nil one counts words.
type vocabulary struct{ model *tokenize.Model }

func openVocabulary(dir string) (*vocabulary, error) {
	const remembered = 256 << 20
	local, err := tokenize.OpenLocal(dir, render.VLLM, remembered)
	if err != nil {
		return nil, fmt.Errorf("%w; run make tokenizers", err)
	}
	v := &vocabulary{tokenize.New(tokenize.Options{Name: engine.Model, Local: local, API: render.VLLM, Trust: true, SampleEvery: -1})}
	return v, nil
}

// chatTokens is fakes.Config.ChatTokens.
func (v *vocabulary) chatTokens() func(messages string) []uint32 {
	if v == nil {
		return nil
	}
	return v.tokens
}

func (v *vocabulary) close() {
	if v != nil {
		v.model.Close()
	}
}

// tokens are those of a chat's messages, nil where it is no chat.
func (v *vocabulary) tokens(messages string) []uint32 {
	t, err := v.model.Tokens(context.Background(), chat.DialectChat, `{"model":"`+engine.Model+`","messages":`+messages+`}`)
	if err != nil {
		return nil
	}
	return t.IDs
}

// charsPerToken is that of the workloads' words.
func (v *vocabulary) charsPerToken() float64 {
	const ofWords = 3.62
	if v == nil {
		return ofWords
	}
	_, r, _ := traffic.SessionChats(engine.Model, 0).Start().Next()
	t, err := v.model.Tokens(context.Background(), chat.DialectChat, string(r.Body))
	if err != nil || len(t.IDs) == 0 {
		return 4
	}
	return float64(len(r.Prompt)) / float64(len(t.IDs))
}
