package fakes

import (
	"hash/fnv"

	"github.com/tidwall/gjson"
)

// Counting rule; see the package comment. The chat overheads are those of the ChatML template: one message costs
// <|im_start|>, role, newline, <|im_end|>, newline, and the reply's opening costs three more.
const (
	bytesPerToken   = 4
	messageOverhead = 5
	replyOverhead   = 3
	mediaPartTokens = 256
	vocabulary      = 151_000
)

// words are what engines say; each is one token with its leading space.
var words = [...]string{
	" the", " sea", " is", " wide", " and", " a", " ship", " may", " sail", " far", " to", " port", " by", " dawn", " or", " dusk",
	" with", " new", " oars", " in", " calm", " wind", " as", " we", " see", " land", " from", " our", " own", " tall", " mast", " bow",
}

// word returns the i-th token of an engine's answer.
func word(seed uint64, i int) string {
	const stride = 13 // odd, so all words come up before one repeats
	return words[(seed+uint64(i)*stride)%uint64(len(words))]
}

func isSpace(b byte) bool {
	return b == ' ' || (b >= '\t' && b <= '\r')
}

// countTokens returns the number of tokens of text.
func countTokens(text string) int {
	tokens, run := 0, 0
	for i := range len(text) {
		if isSpace(text[i]) {
			tokens += ceilDiv(run, bytesPerToken)
			run = 0
			continue
		}
		run++
	}
	return tokens + ceilDiv(run, bytesPerToken)
}

// appendTokens appends one id per token of text; equal pieces have equal ids.
func appendTokens(ids []int, text string) []int {
	start := 0
	for i := range len(text) {
		if isSpace(text[i]) {
			ids = appendPieces(ids, text[start:i])
			start = i + 1
		}
	}
	return appendPieces(ids, text[start:])
}

func appendPieces(ids []int, run string) []int {
	for len(run) > 0 {
		n := min(bytesPerToken, len(run))
		h := fnv.New32a()
		_, _ = h.Write([]byte(run[:n]))
		ids = append(ids, int(h.Sum32()%vocabulary))
		run = run[n:]
	}
	return ids
}

// chatTexts calls text for each countable text of a chat's messages, and returns the tokens that come on top of them.
func chatTexts(messages, tools gjson.Result, text func(string)) (overhead int) {
	overhead = replyOverhead
	field := func(key, value gjson.Result) bool {
		switch {
		case key.Str == "content" && value.IsArray():
			overhead += partTexts(value, text)
		case key.Str == "content":
			text(value.Str)
		case key.Str == "tool_calls" && value.IsArray():
			text(value.Raw)
		}
		return true
	}
	messages.ForEach(func(_, message gjson.Result) bool {
		overhead += messageOverhead
		message.ForEach(field) // one pass; Get would scan a long message once per key
		return true
	})
	if tools.IsArray() {
		text(tools.Raw)
	}
	return overhead
}

func partTexts(parts gjson.Result, text func(string)) (overhead int) {
	parts.ForEach(func(_, part gjson.Result) bool {
		if t := part.Get("text"); t.Exists() {
			text(t.Str)
		} else {
			overhead += mediaPartTokens
		}
		return true
	})
	return overhead
}

// chatTokens counts the tokens of a chat.
func chatTokens(messages, tools gjson.Result) int {
	n := 0
	overhead := chatTexts(messages, tools, func(s string) { n += countTokens(s) })
	return n + overhead
}

// promptTokens counts the tokens of a completion prompt and the number of prompts in it: a text, a list of texts,
// a list of ids or a list of id lists. ok is false for anything else.
func promptTokens(prompt gjson.Result) (tokens, prompts int, ok bool) {
	if prompt.Type == gjson.String {
		return countTokens(prompt.Str), 1, true
	}
	if !prompt.IsArray() {
		return 0, 0, false
	}
	ids := 0
	ok = true
	prompt.ForEach(func(_, item gjson.Result) bool {
		switch {
		case item.Type == gjson.Number:
			ids++
		case item.Type == gjson.String:
			tokens += countTokens(item.Str)
			prompts++
		case item.IsArray():
			item.ForEach(func(_, id gjson.Result) bool { tokens++; ok = ok && id.Type == gjson.Number; return ok })
			prompts++
		default:
			ok = false
		}
		return ok
	})
	if ids > 0 {
		return ids, 1, ok && prompts == 0
	}
	return tokens, prompts, ok && prompts > 0
}
