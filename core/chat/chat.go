// Package chat peeks at OpenAI request bodies: it finds the members that
// routing needs and leaves the bytes alone. It never re-serialises a body.
package chat

import (
	"math"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/tidwall/gjson"
)

// Dialect says where a body keeps its model, prompt and output budget.
type Dialect uint8

// The dialects that are routed by default (design section 3).
const (
	DialectNone Dialect = iota
	DialectChat
	DialectCompletions
)

// DialectOf gives the dialect of a request path, DialectNone for a path that is
// not an inference path.
func DialectOf(path string) Dialect {
	switch path {
	case "/v1/chat/completions":
		return DialectChat
	case "/v1/completions":
		return DialectCompletions
	}
	return DialectNone
}

// Facts are what a body tells the router.
type Facts struct {
	Model  string     // as the client wrote it; a copy, never empty
	Output core.Count // requested output tokens
	Stream bool
	HasRid bool   // the client named the request itself
	Prompt string // JSON text of the messages or the prompt; a part of the body, not a copy
	Bytes  uint64 // body length
	Data   uint64 // bytes of data: payloads, which are not prompt text
}

// Error says why a body is refused. Its text goes to the client.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

func refuse(message string) error { return &Error{Message: message} }

// Peek reads the facts of a body, in one pass over it: that it is a JSON object,
// and the members of its top level. Errors are of type *Error and mean status
// 400.
func Peek(body string, dialect Dialect) (Facts, error) {
	facts := Facts{Bytes: uint64(len(body))}
	if dialect == DialectNone {
		return facts, refuse("this path is not routed")
	}
	s := scanner{text: body}
	if s.next() != '{' {
		return facts, refuse("the request body must be a JSON object")
	}
	err := facts.readMembers(&s, promptKey(dialect))
	switch {
	case s.fault == faultDepth:
		return facts, refuse("the request body nests deeper than " + strconv.Itoa(maxDepth) + " levels")
	case s.fault == faultSyntax:
		return facts, refuse("the request body is not valid JSON")
	case err != nil:
		return facts, err
	case facts.Model == "":
		return facts, refuse(`"model" is missing: name the model the request is for`)
	}
	facts.Data = s.data
	return facts, nil
}

// EstimateTokens is the prompt length used when no tokenizer is asked: a
// quarter of the body's bytes, data: payloads not counted, and at least one
// (engine-selection.md 12.2, design section 3).
func (f *Facts) EstimateTokens() core.Tokens {
	return max(1, (f.Bytes-f.Data)/4)
}

// member is one top-level key that routing reads. Each may stand once only: a
// parser that keeps the last one would otherwise act on another value than the
// router did (engine-selection.md 12.1).
type member uint8

const (
	memberModel member = iota
	memberStream
	memberMaxTokens
	memberMaxCompletionTokens
	memberRid
	memberCount
)

func memberOf(key string) (member, bool) {
	switch key {
	case "model":
		return memberModel, true
	case "stream":
		return memberStream, true
	case "max_tokens":
		return memberMaxTokens, true
	case "max_completion_tokens":
		return memberMaxCompletionTokens, true
	case "rid":
		return memberRid, true
	}
	return memberCount, false
}

// promptKey names the member that holds a dialect's prompt.
func promptKey(dialect Dialect) string {
	if dialect == DialectCompletions {
		return "prompt"
	}
	return "messages"
}

func (f *Facts) readMembers(s *scanner, prompt string) error {
	var (
		seen                 [memberCount]bool
		maxTokens, maxOutput core.Count
		err                  error
	)
	s.object(func(key, raw string) bool {
		if strings.IndexByte(key, '\\') >= 0 {
			key = gjson.Parse(`"` + key + `"`).Str
		}
		if key == prompt {
			f.Prompt = raw // of several the last one counts, as with parsers
			return true
		}
		m, wanted := memberOf(key)
		if !wanted {
			return true
		}
		if seen[m] {
			err = refuse(strconv.Quote(key) + " stands twice in the request body")
			return false
		}
		seen[m] = true
		value := gjson.Parse(raw)
		switch m {
		case memberModel:
			err = f.setModel(value)
		case memberStream:
			err = f.setStream(value)
		case memberMaxTokens:
			maxTokens, err = budget("max_tokens", value)
		case memberMaxCompletionTokens:
			maxOutput, err = budget("max_completion_tokens", value)
		case memberRid:
			f.HasRid = value.Type != gjson.Null
		case memberCount:
		}
		return err == nil
	})
	if f.Output = maxTokens; maxOutput.Known {
		f.Output = maxOutput
	}
	return err
}

func (f *Facts) setModel(v gjson.Result) error {
	if v.Type != gjson.String {
		return refuse(`"model" must be a string`)
	}
	f.Model = strings.Clone(v.Str)
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
