package chat

import "github.com/pointsman/pointsman/core"

// prompts is what a prompt's value holds: one text, a list of texts, a list of
// token ids or a list of such lists.
type prompts struct {
	batch          uint64     // sequences; at least one
	longest, total core.Count // tokens, where all sequences are token ids
}

// readPrompts looks into the JSON text of a prompt, which must be valid. Only a
// list of token ids has a length that is known: its own.
func readPrompts(raw string) prompts {
	if raw == "" || raw[0] != '[' {
		return prompts{batch: 1}
	}
	var ids, lists, others, longest, total uint64
	whole := true
	elements(raw, func(element string) {
		switch {
		case isID(element):
			ids++
		case element[0] == '[':
			n, ok := countIDs(element)
			whole = whole && ok
			longest, total = max(longest, n), total+n
			lists++
		default:
			others++
		}
	})
	switch {
	case ids > 0 && lists == 0 && others == 0:
		return prompts{1, core.Known(ids), core.Known(ids)}
	case lists > 0 && ids == 0 && others == 0 && whole:
		return prompts{lists, core.Known(longest), core.Known(total)}
	}
	return prompts{batch: max(1, lists+others)}
}

// countIDs counts the elements of a list that must all be token ids.
func countIDs(raw string) (n uint64, ok bool) {
	ok = true
	elements(raw, func(element string) {
		n++
		ok = ok && isID(element)
	})
	return n, ok
}

// isID reports whether a value is a whole number, zero or more.
func isID(raw string) bool {
	for i := range len(raw) {
		if raw[i]-'0' > 9 {
			return false
		}
	}
	return raw != ""
}

// elements calls visit with the text of each element of a valid list.
func elements(raw string, visit func(string)) {
	s := scanner{text: raw, at: 1}
	if s.next() == ']' {
		return
	}
	for {
		s.space()
		start := s.at
		if !s.value() {
			return
		}
		visit(raw[start:s.at])
		if s.next() != ',' {
			return
		}
		s.at++
	}
}
