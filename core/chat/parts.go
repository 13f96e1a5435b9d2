package chat

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Part is a piece of a prompt as the client wrote it. The pieces of a prompt
// joined are the prompt, but for the bracket that closes a list of messages.
type Part struct {
	Text string
	// Whole says that the piece is complete, such as a message: in a longer prompt
	// of the same conversation it ends at the same place.
	Whole bool
	// Answer says that an engine generated it.
	Answer bool
}

// Parts calls visit with the pieces of a prompt: Facts.Prompt and Facts.Lead of a
// body that Peek has read, or as much of them as was kept.
func Parts(prompt string, lead int, visit func(Part)) {
	if lead > 0 {
		visit(Part{Text: prompt[:lead], Whole: true})
		prompt = prompt[lead:]
	}
	s := scanner{text: prompt}
	done := 0
	if s.next() == '[' {
		s.at++
		for s.next() == '{' {
			start := s.at
			if !s.value() {
				break // it was cut
			}
			visit(Part{Text: prompt[done:s.at], Whole: true, Answer: isAnswer(prompt[start:s.at])})
			done = s.at
			if s.next() != ',' {
				return
			}
			s.at++
		}
	}
	if done < len(prompt) {
		visit(Part{Text: prompt[done:]})
	}
}

// isAnswer reports whether a message is an assistant's. The role comes first as
// nearly all clients write it; the library finds it anywhere, at the price of
// reading all that stands before it.
func isAnswer(message string) bool {
	for _, role := range [...]string{`{"role":"`, `{"role": "`} {
		if rest, ok := strings.CutPrefix(message, role); ok {
			return strings.HasPrefix(rest, `assistant"`)
		}
	}
	return gjson.Get(message, "role").Str == "assistant"
}
