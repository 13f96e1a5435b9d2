package tokenize

import (
	"context"

	"github.com/pointsman/pointsman/core/chat"
)

// Certainty says what an answer is good for.
type Certainty uint8

// The certainties.
const (
	// Estimated is a length by bytes.
	Estimated Certainty = iota
	// Counted is the length of the prompt's text, without what a template adds, or of
	// a rendering that was not compared with the engine's.
	Counted
	// Exact comes with the ids that the engine computes with.
	Exact
)

// Origin says where an answer is from.
type Origin uint8

// The origins.
const (
	FromEstimate Origin = iota // the body's bytes
	FromRawText                // the tokenizer here, on text without the template
	FromEngine                 // the engine's /tokenize
	FromBPE                    // the tokenizer here
	FromClient                 // token ids in the body
	origins      = iota
)

// String gives the origin's name in metrics.
func (o Origin) String() string {
	return [origins]string{"estimate", "raw_text", "engine", "bpe", "client"}[o]
}

// Reason says why an answer is not from bpe or not exact. It is a metric's label.
type Reason string

// The reasons.
const (
	ReasonNone         Reason = ""
	ReasonBody         Reason = "body_refused"       // the body is no request
	ReasonTooLarge     Reason = "too_large"          // the body is larger than is tokenized
	ReasonNotText      Reason = "not_text"           // half a surrogate pair or no UTF-8
	ReasonNoForm       Reason = "no_token_form"      // the dialect's prompt has no form in tokens
	ReasonNoTokenizer  Reason = "no_tokenizer"       // none for the model
	ReasonUnverified   Reason = "unverified"         // not yet compared with an engine
	ReasonDiffers      Reason = "differs"            // compared, and not the engine's
	ReasonUnrenderable Reason = "unrenderable"       // the chat cannot be rendered here
	ReasonTooLong      Reason = "word_too_long"      // a single word beyond what is merged
	ReasonCharacter    Reason = "unknown_character"  // a character of a later Unicode
	ReasonDeadline     Reason = "deadline"           // the caller's context ended
	ReasonNotAskable   Reason = "not_askable"        // /tokenize has no member for it
	ReasonBusy         Reason = "engine_busy"        // too many calls in flight
	ReasonEngine       Reason = "engine_unreachable" // no engine, or none that answers well
	ReasonRefused      Reason = "engine_refused"     // the engine has no such tokens
)

// Tokens is the answer for one request.
type Tokens struct {
	// IDs are the tokens of the longest sequence, the first of equally long ones; nil
	// unless Certainty is Exact. They may be shared: callers do not change them.
	IDs []uint32
	// Longest is the length of the longest sequence and Total that of all of them; at
	// least 1 (engine-selection.md 12.2).
	Longest, Total uint64
	Certainty      Certainty
	Origin         Origin
	// Compared says that the ids are the engine's own, or bpe's of which an engine was
	// seen to give the same for all that the request makes use of. Ids that are taken
	// for the engine's on somebody's word are Exact and not Compared.
	Compared bool
	// Local says why bpe did not answer, and Reason why the answer is not exact.
	Local, Reason Reason
	// Facts are what else the body says, such as the cache salt: parts of the body, and
	// only its length if it is too large.
	Facts chat.Facts
}

// Source tells the tokens of requests. The error wraps a *chat.Error and means that the
// body is to be refused. It is safe for concurrent use and does not keep the body.
type Source interface {
	Tokens(ctx context.Context, model string, dialect chat.Dialect, body string) (Tokens, error)
}

// Set is the Source of several models. A model that is not in it is estimated.
type Set map[string]*Model

// Tokens asks the model's own.
func (s Set) Tokens(ctx context.Context, model string, dialect chat.Dialect, body string) (Tokens, error) {
	m, ok := s[model]
	if !ok {
		facts, err := chat.Peek(body, dialect)
		return estimate(&facts, ReasonNoTokenizer), err
	}
	return m.Tokens(ctx, dialect, body)
}

// estimate is the length without a tokenizer (design section 3 step 5).
func estimate(facts *chat.Facts, reason Reason) Tokens {
	t := Tokens{Longest: facts.EstimateTokens(), Reason: reason, Facts: *facts}
	t.Total = t.Longest
	if facts.Total.Known {
		t.Total = max(1, facts.Total.N)
	}
	return t
}

// exact makes an answer of the sequences' tokens.
func exact(sequences [][]uint32, origin Origin) Tokens {
	t := Tokens{IDs: []uint32{}, Certainty: Exact, Origin: origin, Compared: origin == FromEngine}
	for _, ids := range sequences {
		if len(ids) > len(t.IDs) {
			t.IDs = ids
		}
		t.Total += uint64(len(ids))
	}
	t.Longest, t.Total = max(1, uint64(len(t.IDs))), max(1, t.Total)
	return t
}
