// Package chat peeks at the bodies of inference requests: it finds the members
// that routing needs and leaves the bytes alone. It never re-serialises a body.
package chat

import (
	"math"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/sampling"
	"github.com/tidwall/gjson"
)

// Facts are what a body tells the router.
type Facts struct {
	Model  string     // as the client wrote it; may be a part of the body; never empty, but for DialectGenerate
	Output core.Count // requested output tokens of one sequence
	Stream bool
	HasRid bool // the client named the request itself
	// Prompt is the JSON text of the prompt as the dialect has it, a part of the
	// body. Where the body keeps a system prompt apart it is a copy of both, of
	// a bounded length.
	Prompt string
	Lead   int    // bytes of Prompt that are the system prompt a body keeps apart
	Ends   []int  // of the prompt's elements, for Parts: memory of the Ends that PeekWith was given; nil when not known
	Tools  string // JSON text of the tools, which templates put before the prompt; a part of the body
	// Template is the JSON texts of what else a chat template reads, one after the
	// other; a part of the body when it is one.
	Template string
	Bytes    uint64 // body length
	Data     uint64 // bytes of images and other payloads, which are not prompt text

	Choices core.Count // answers per sequence: n, one when absent, unknown when unreadable
	Batch   uint64     // sequences in the body, at least one
	Longest core.Count // tokens of the longest sequence, when the client sent token ids
	Total   core.Count // tokens of all sequences, when the client sent token ids
	Adapter string     // LoRA adapter named apart from the model (SGLang); a copy
	Salt    string     // cache salt: a copy, of a list its JSON text

	Brace    int             // offset of the closing brace of the body's object
	Sampling sampling.Values // what the body has for each sampling field
	Place    Place           // where sampling fields can be added
	RidPlace Place           // where a rid can be added
	Front    Place           // before the first member; Shut is empty when there is none
	// PerPrompt says that sampling parameters are a list, with one entry for each
	// sequence. Sampling and Place are then not set.
	PerPrompt bool
}

// Error says why a body is refused. Its text goes to the client.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func refuse(message string) error { return &Error{Message: message} }

// Peek reads the facts of a body, in one pass over it: that it is a JSON object,
// and the members of its top level. Errors are of type *Error and mean status
// 400.
func Peek(body string, dialect Dialect) (Facts, error) { return PeekWith(body, dialect, nil, nil) }

// PeekWith is Peek, and in the same pass it notes what the body has of fields and
// where the elements of its prompt end. With nil it looks for none.
func PeekWith(body string, dialect Dialect, fields *Fields, ends *Ends) (Facts, error) {
	r := reader{dialect: dialect, fields: fields, facts: Facts{Bytes: uint64(len(body)), Batch: 1, Choices: core.Known(1)}}
	if dialect == DialectNone {
		return r.facts, refuse("this path is not routed")
	}
	s := scanner{text: body, ends: ends}
	if s.next() != '{' {
		return r.facts, refuse("the request body must be a JSON object")
	}
	open := s.at
	err := r.read(&s)
	switch {
	case s.fault == faultDepth:
		return r.facts, refuse("the request body nests deeper than " + strconv.Itoa(maxDepth) + " levels")
	case s.fault == faultSyntax:
		return r.facts, refuse("the request body is not valid JSON")
	case err != nil:
		return r.facts, err
	case r.facts.Model == "" && dialect != DialectGenerate:
		return r.facts, refuse(`"model" is missing: name the model the request is for`)
	}
	r.facts.Data = s.data + r.media
	r.conclude(body)
	r.placeRid(open)
	r.facts.Front = Place{At: open + 1}
	if r.members > 0 {
		r.facts.Front.Shut = ","
	}
	return r.facts, nil
}

// EstimateTokens is the prompt length used when no tokenizer is asked: the
// longest sequence where the client sent token ids, else a quarter of the body's
// bytes, payloads not counted; at least one (engine-selection.md 12.2, 12.3,
// design section 3).
func (f *Facts) EstimateTokens() core.Tokens {
	if f.Longest.Known {
		return max(1, f.Longest.N)
	}
	return max(1, (f.Bytes-f.Data)/4)
}

// FansOut reports whether the request may have more than one answer: an engine
// then knows it by more names than its rid (engine-selection.md 12.4).
func (f *Facts) FansOut() bool {
	return f.Batch > 1 || !f.Choices.Known || f.Choices.N > 1
}

// reader collects what the members of a body say.
type reader struct {
	facts             Facts
	dialect           Dialect
	fields            *Fields // nil when none is looked for
	seen              [memberOnce]bool
	members           int
	budget, overrides core.Count // max_tokens, and what goes before it
	prompt, lead, ids string     // JSON texts
	params            params
	data              uint64 // what the scanner has counted of the members so far
	media             uint64 // payloads that it has not counted
}

func (r *reader) read(s *scanner) (err error) {
	s.object(func(key, raw string) bool {
		r.members++
		m := r.dialect.memberOf(key)
		if m < memberOnce && r.seen[m] {
			err = refuse(strconv.Quote(key) + " stands twice in the request body")
			return false
		}
		switch m {
		case memberOther:
			if !r.facts.Sampling.Note(key, raw) && r.fields != nil {
				r.fields.note(key, raw)
			}
		case memberPrompt:
			r.prompt = raw
			if s.ends != nil {
				r.facts.Ends = s.ends.keep()
			}
		case memberLead:
			r.lead = raw
		case memberIDs:
			r.ids = raw
		case memberTools:
			r.facts.Tools = raw
		case memberTemplate:
			r.facts.Template = joined(r.facts.Template, raw)
		case memberSamplingParams:
			r.seen[m] = true
			r.params, err = readParams(raw, s.at-len(raw))
		case memberModel, memberStream, memberRid, memberMaxTokens, memberMaxCompletion:
			r.seen[m] = true
			err = r.take(m, key, raw)
		case memberMedia:
			r.media += uint64(len(raw)) - (s.data - r.data)
		case memberAdapter, memberSalt, memberOnce:
			err = r.take(m, key, raw)
		}
		r.data = s.data
		return err == nil
	})
	return err
}

// joined puts one text behind another, of which most bodies have none.
func joined(texts, next string) string {
	if texts == "" {
		return next
	}
	return texts + next
}

// plainKey takes the escapes out of a key as it stands in the body.
func plainKey(key string) string { return gjson.Parse(`"` + key + `"`).Str }

// take reads a member that is neither a prompt nor a group of members.
func (r *reader) take(m member, key, raw string) error {
	if r.takeUsual(m, raw) {
		return nil
	}
	return r.takeAny(m, key, raw)
}

func (r *reader) takeAny(m member, key, raw string) (err error) {
	value := gjson.Parse(raw)
	switch m {
	case memberModel:
		err = r.facts.setModel(value)
	case memberStream:
		err = r.facts.setStream(value)
	case memberMaxTokens:
		r.budget, err = budget(key, value)
	case memberMaxCompletion:
		r.overrides, err = budget(key, value)
	case memberRid:
		r.facts.HasRid = value.Type != gjson.Null
	case memberAdapter:
		r.facts.Adapter = text(value)
	case memberSalt:
		r.facts.Salt = text(value)
		if value.IsArray() {
			r.facts.Salt = strings.Clone(raw)
		}
	case memberPrompt, memberLead, memberIDs, memberTools, memberTemplate, memberSamplingParams, memberMedia, memberOnce, memberOther:
	}
	return err
}

// text gives a copy of a string, nothing of another value.
func text(v gjson.Result) string {
	if v.Type != gjson.String {
		return ""
	}
	return strings.Clone(v.Str)
}

// conclude derives the facts that need the whole body.
func (r *reader) conclude(body string) {
	f := &r.facts
	f.Brace = strings.LastIndexByte(body, '}')
	f.Place = inObject(f.Brace, r.members)
	if f.Output = r.budget; r.overrides.Known {
		f.Output = r.overrides
	}
	switch r.dialect {
	case DialectGenerate:
		r.concludeGenerate()
	case DialectEmbeddings:
		f.Output = core.Known(0)
	case DialectMessages:
		f.Data += base64Data(r.prompt)
	case DialectNone, DialectChat, DialectCompletions, DialectResponses:
	}
	if r.dialect.Sampling().Has(sampling.N) {
		f.Choices = choices(f.Sampling[sampling.N])
	}
	if f.PerPrompt {
		f.Choices = core.Count{}
	}
	r.concludePrompt()
}

func (r *reader) concludeGenerate() {
	f := &r.facts
	f.Output, f.Sampling, f.PerPrompt = r.params.output, r.params.values, r.params.list
	switch {
	case r.params.found:
		f.Place = r.params.place
	case f.PerPrompt:
		f.Place = Place{}
	default:
		f.Place = inParams(f.Place)
	}
}

// keepLead bounds the copy that joins a system prompt and a prompt: as much as any
// policy looks at.
const keepLead = 1 << 20

func (r *reader) concludePrompt() {
	f := &r.facts
	if f.Prompt = r.prompt; isNull(r.prompt) && !isNull(r.ids) {
		f.Prompt, f.Ends = r.ids, nil
	}
	if !isNull(r.lead) {
		lead := r.lead[:min(len(r.lead), keepLead)]
		f.Prompt, f.Lead = lead+f.Prompt[:min(len(f.Prompt), keepLead-len(lead))], len(lead)
	}
	switch r.dialect {
	case DialectCompletions, DialectGenerate, DialectEmbeddings:
		p := readPrompts(f.Prompt)
		f.Batch, f.Longest, f.Total = p.batch, p.longest, p.total
	case DialectNone, DialectChat, DialectResponses, DialectMessages:
	}
}

func isNull(raw string) bool { return raw == "" || raw == "null" }

// choices is the effective n. What is no whole number from one on is unknown.
func choices(v sampling.Value) core.Count {
	switch {
	case v.Kind == sampling.Absent:
		return core.Known(1)
	case v.Kind == sampling.Number && v.Number >= 1 && v.Number < 1<<53 && v.Number == math.Trunc(v.Number):
		return core.Known(uint64(v.Number))
	}
	return core.Count{}
}

func (f *Facts) setModel(v gjson.Result) error {
	if v.Type != gjson.String {
		return refuse(`"model" must be a string`)
	}
	f.Model = v.Str
	return nil
}

func (f *Facts) setStream(v gjson.Result) error {
	switch v.Type {
	case gjson.True:
		f.Stream = true
	case gjson.False, gjson.Null:
	case gjson.Number, gjson.String, gjson.JSON:
		return refuse(`"stream" must be true or false`)
	}
	return nil
}

// budget reads an output budget. Null is as good as absent. A whole number may
// be written with a fraction of zero, as some clients do.
func budget(key string, v gjson.Result) (core.Count, error) {
	if v.Type == gjson.Null {
		return core.Count{}, nil
	}
	if v.Type == gjson.Number {
		if n, err := strconv.ParseUint(v.Raw, 10, 64); err == nil {
			return core.Known(n), nil
		}
		if n := v.Num; n >= 0 && n < 1<<53 && n == math.Trunc(n) {
			return core.Known(uint64(n)), nil
		}
	}
	return core.Count{}, refuse(strconv.Quote(key) + " must be a whole number of tokens, zero or more")
}
