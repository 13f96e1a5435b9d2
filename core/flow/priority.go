package flow

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/spec"
)

// priorities are the words and the bounds of the priority header, and which way the
// engines count.
type priorities struct {
	classes    map[string]int64 // in lower case
	lowerFirst bool
	refusal    string // of a header that says something else
}

func newPriorities(p *spec.Priority) *priorities {
	if p == nil {
		return nil
	}
	classes := map[string]int64{}
	for name, value := range p.Classes {
		classes[strings.ToLower(name)] = value
	}
	text := "the header " + strings.ToLower(p.Header) + " must be a whole number from -" + strconv.Itoa(spec.MaxPriority) + " to " + strconv.Itoa(spec.MaxPriority)
	if names := slices.Sorted(maps.Keys(classes)); len(names) > 0 {
		text += ", or one of " + strings.Join(names, ", ")
	}
	return &priorities{classes, p.LowerFirst, text}
}

// read gives the number that a header's value stands for.
func (p *priorities) read(value string) (n int64, ok bool) {
	value = strings.TrimSpace(value)
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		n, ok = p.classes[strings.ToLower(value)]
		return n, ok
	}
	return n, n >= -spec.MaxPriority && n <= spec.MaxPriority
}

// readPriority takes the priority of the headers, or answers why it cannot be taken.
func (r *Request) readPriority(value string) bool {
	p := r.ctx.priorities
	if p == nil || value == "" {
		return true
	}
	n, ok := p.read(value)
	if !ok {
		r.refuse(CodeBadRequest, p.refusal)
		return false
	}
	if p.lowerFirst {
		n = -n
	}
	r.priority = `"priority":` + strconv.FormatInt(n, 10)
	return true
}

// placePriority finds where the member goes: in front, so that a priority of the
// client's own in the body stands behind it and counts, as parsers keep the last.
func (r *Request) placePriority(facts *chat.Facts) {
	if r.priority == "" || !r.dialect.TakesPriority() || facts.Front.Shut == "" {
		r.priority = ""
		return
	}
	r.priorityAt = facts.Front
}

// withPriority puts the member before what else the body is given.
func (r *Request) withPriority(list []Insertion) []Insertion {
	if r.priority == "" {
		return list
	}
	return slices.Insert(list, 0, Insertion{r.priorityAt.At, r.priorityAt.Text(r.priority)})
}
