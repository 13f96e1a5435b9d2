package chat

import (
	"github.com/pointsman/pointsman/core/sampling"
)

// Dialect says where a body keeps its model, prompt and output budget.
type Dialect uint8

// The dialects. The first two are routed by default (design section 3).
const (
	DialectNone        Dialect = iota
	DialectChat                // /v1/chat/completions
	DialectCompletions         // /v1/completions
	DialectGenerate            // /generate of SGLang; its bodies name no model
	DialectResponses           // /v1/responses
	DialectMessages            // /v1/messages of Anthropic
	DialectEmbeddings          // /v1/embeddings; nothing is generated
)

// PathGenerate is the path whose bodies name no model.
const PathGenerate = "/generate"

// Paths lists the request paths that have a dialect.
func Paths() []string {
	return []string{"/v1/chat/completions", "/v1/completions", PathGenerate, "/v1/responses", "/v1/messages", "/v1/embeddings"}
}

// DialectOf gives the dialect of a request path, DialectNone for a path that is
// not an inference path.
func DialectOf(path string) Dialect {
	for i, p := range Paths() {
		if p == path {
			return DialectChat + Dialect(i)
		}
	}
	return DialectNone
}

// Sampling gives the sampling fields that a request of the dialect can carry: a
// contract adds no other field to its body. It is empty where nothing is
// generated.
func (d Dialect) Sampling() sampling.Set {
	switch d {
	case DialectChat, DialectCompletions, DialectGenerate:
		return sampling.All
	case DialectResponses:
		return sampling.All &^ sampling.Of(sampling.N)
	case DialectMessages:
		return sampling.Of(sampling.Temperature, sampling.TopP, sampling.TopK)
	case DialectNone, DialectEmbeddings:
	}
	return 0
}

// TakesRid reports whether engines of SGLang read the rid of a request in the
// dialect. The bodies of /v1/responses have a request_id instead, which names the
// answer to the client, and those of /v1/messages have nothing of the kind.
func (d Dialect) TakesRid() bool {
	switch d {
	case DialectChat, DialectCompletions, DialectGenerate, DialectEmbeddings:
		return true
	case DialectNone, DialectResponses, DialectMessages:
	}
	return false
}

// TakesPriority reports whether engines with priority scheduling read the member
// priority of such a body.
func (d Dialect) TakesPriority() bool {
	return d == DialectChat || d == DialectCompletions || d == DialectGenerate
}

// member is one key that routing reads.
type member uint8

// The members up to memberOnce may stand once only: a parser that keeps the last
// one would otherwise act on another value than the router did
// (engine-selection.md 12.1). Of the others the last one counts, as with parsers.
const (
	memberModel member = iota
	memberStream
	memberRid
	memberMaxTokens     // the output budget
	memberMaxCompletion // the budget that goes before it
	memberSamplingParams
	memberOnce
	memberPrompt
	memberLead // what stands in front of the prompt
	memberIDs  // the prompt as token ids
	memberTools
	memberTemplate
	memberAdapter
	memberSalt
	memberMedia // payloads, which are not prompt text
	memberOther
)

// memberOf gives the meaning of a top-level key.
func (d Dialect) memberOf(key string) member {
	switch key {
	case "model":
		return d.unless(memberModel, DialectGenerate)
	case "stream":
		return d.unless(memberStream, DialectEmbeddings)
	case "rid":
		return memberRid
	case "lora_path":
		return memberAdapter
	case "cache_salt":
		return memberSalt
	case "max_tokens":
		return d.only(memberMaxTokens, 1<<DialectChat|1<<DialectCompletions|1<<DialectMessages)
	case "max_completion_tokens":
		return d.only(memberMaxCompletion, 1<<DialectChat|1<<DialectCompletions)
	case "max_output_tokens":
		return d.only(memberMaxTokens, 1<<DialectResponses)
	case "sampling_params":
		return d.only(memberSamplingParams, 1<<DialectGenerate)
	}
	return d.promptMember(key)
}

func (d Dialect) promptMember(key string) member {
	switch key {
	case "messages":
		return d.only(memberPrompt, 1<<DialectChat|1<<DialectMessages)
	case "prompt":
		return d.only(memberPrompt, 1<<DialectCompletions)
	case "text":
		return d.only(memberPrompt, 1<<DialectGenerate)
	case "input":
		return d.only(memberPrompt, 1<<DialectResponses|1<<DialectEmbeddings)
	case "input_ids":
		return d.only(memberIDs, 1<<DialectGenerate)
	case "image_data", "audio_data", "video_data":
		return d.only(memberMedia, 1<<DialectGenerate)
	case "system":
		return d.only(memberLead, 1<<DialectMessages)
	case "instructions":
		return d.only(memberLead, 1<<DialectResponses)
	case "tools":
		return d.only(memberTools, 1<<DialectChat|1<<DialectResponses|1<<DialectMessages)
	case "chat_template", "chat_template_kwargs", "reasoning_effort", "documents":
		return d.only(memberTemplate, 1<<DialectChat)
	}
	return memberOther
}

// only gives the member in the dialects of a set, a bit for each.
func (d Dialect) only(m member, set uint) member {
	if set>>d&1 == 1 {
		return m
	}
	return memberOther
}

func (d Dialect) unless(m member, other Dialect) member {
	if d == other {
		return memberOther
	}
	return m
}
