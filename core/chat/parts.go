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

// Parts calls visit with the pieces of a prompt: Facts.Prompt, Lead and Ends of a
// body that was read, or as much of the prompt as was kept. Without ends it reads
// the prompt again.
func Parts(prompt string, lead int, ends []int, visit func(Part)) {
	if lead > 0 {
		visit(Part{Text: prompt[:lead], Whole: true})
		prompt = prompt[lead:]
	}
	if ends == nil {
		scanParts(prompt, visit)
		return
	}
	done := 0
	for _, end := range ends {
		start := max(done, len("["))
		for start < len(prompt) && (prompt[start] <= ' ' || prompt[start] == ',') {
			start++
		}
		if end > len(prompt) || prompt[start] != '{' {
			break // it was cut, or holds other things than messages
		}
		visit(Part{Text: prompt[done:end], Whole: true, Answer: isAnswer(prompt[start:end])})
		done = end
	}
	if done < len(prompt) && (done == 0 || done != ends[len(ends)-1]) {
		visit(Part{Text: prompt[done:]})
	}
}

// scanParts is Parts of a prompt of which nothing else is known.
func scanParts(prompt string, visit func(Part)) {
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
