package story

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// line prints one line about a request.
func (r *run) line(id, label, text string) { r.printf("%s %-9s %s\n", id, label, text) }

// receiptStart is how the filter's receipts begin in its log.
const receiptStart = "model="

func isReceipt(line string) bool { return strings.HasPrefix(line, receiptStart) }

// message is the text of an error envelope.
func (a *Answer) message() (string, bool) {
	var envelope struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(a.Body), &envelope) != nil {
		return "", false
	}
	return envelope.Error.Message, envelope.Error.Message != ""
}

// receiptParts splits a receipt's line: what was asked, then one part per
// decision. The model's name is quoted and may hold anything.
func receiptParts(line string) (model, asked string, parts []string) {
	quotedModel, err := strconv.QuotedPrefix(strings.TrimPrefix(line, receiptStart))
	if err != nil {
		return "", line, nil
	}
	model, _ = strconv.Unquote(quotedModel)
	rest := line[len(receiptStart)+len(quotedModel):]
	asked, rest, _ = strings.Cut(rest, "; ")
	if rest != "" {
		parts = strings.Split(rest, "; ")
	}
	return model, receiptStart + quotedModel + asked, parts
}

// printReceipt prints a decision: the order of buckets, then each bucket's turn, in
// the full form with the engines that it could not have.
func (r *run) printReceipt(id, line string, full bool) {
	model, _, parts := receiptParts(line)
	chose := ""
	for _, part := range parts {
		if text, ok := strings.CutPrefix(part, "chose "); ok {
			chose, _, _ = strings.Cut(text, " [")
		}
	}
	for _, part := range parts {
		subject, text, _ := strings.Cut(part, " ")
		switch {
		case subject == "order":
			r.line(id, "order", r.withCapacities(model, text))
		case subject == "answered" || subject == "chose":
		case text == "picked":
			r.line(id, subject, "picks "+chose)
		default:
			text, verdicts, _ := strings.Cut(text, " (")
			r.line(id, subject, text)
			if full && verdicts != "" {
				for verdict := range strings.SplitSeq(strings.TrimSuffix(verdicts, ")"), ", ") {
					r.line(id, "", verdict)
				}
			}
		}
	}
}

// withCapacities adds to bucket names what they are ordered by.
func (r *run) withCapacities(model, list string) string {
	names := strings.Split(list, ", ")
	for i, name := range names {
		if capacity, ok := r.config.capacity(model, name); ok {
			names[i] = fmt.Sprintf("%s(%d)", name, capacity)
		}
	}
	return strings.Join(names, " ")
}

// printObserved prints what the chosen engine was chosen among.
func (r *run) printObserved(id, line string) {
	_, asked, parts := receiptParts(line)
	r.line(id, "asks", asked)
	r.printReceipt(id, line, true)
	for _, part := range parts {
		if text, ok := strings.CutPrefix(part, "chose "); ok {
			_, list, _ := strings.Cut(text, " [")
			for candidate := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ", ") {
				r.line(id, "saw", candidate)
			}
		}
	}
}
