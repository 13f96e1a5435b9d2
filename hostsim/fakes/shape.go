package fakes

import "strconv"

// shape is the JSON around the generated text for one endpoint of one dialect: fields and their order as recorded.
type shape struct {
	idPrefix, object, chunkObject string

	roleChoice string // choice of the opening chunk, after its index; "" when there is none
	textOpen   string // choice of a text chunk, after its index, up to the text
	textClose  string // from the text up to the finish reason
	running    string // from "no finish reason" to the end of the choice
	finished   string // from the finish reason to the end of the choice
	lastOpen   string // choice of a chunk that only finishes, up to the finish reason; "" when the last text chunk finishes

	wholeOpen, wholeClose, wholeFinished string // the same three parts for a choice of an unstreamed reply
	wholeTail                            string // fields after usage, up to the closing brace
}

// shape returns the exchange's shape.
func (x *exchange) shape() *shape { return &shapes[x.cfg.Dialect][x.api] }

// shapes is indexed by dialect and endpoint, and never written.
var shapes = [...][2]shape{
	VLLM: {
		chatAPI: {
			idPrefix: "chatcmpl-", object: "chat.completion", chunkObject: "chat.completion.chunk",
			roleChoice: `,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`,
			textOpen:   `,"delta":{"content":"`,
			textClose:  `"},"logprobs":null,"finish_reason":`,
			running:    `,"token_ids":null}`,
			finished:   `,"stop_reason":null,"token_ids":null}`,
			wholeOpen:  `,"message":{"role":"assistant","content":"`,
			wholeClose: `","refusal":null,"annotations":null,"audio":null,"function_call":null,"reasoning":null},` +
				`"logprobs":null,"finish_reason":`,
			wholeFinished: `,"stop_reason":null,"token_ids":null,"routed_experts":null}`,
			wholeTail:     `,"prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,"ec_transfer_params":null,"metrics":null`,
		},
		completionAPI: {
			idPrefix: "cmpl-", object: "text_completion", chunkObject: "text_completion",
			textOpen:      `,"text":"`,
			textClose:     `","logprobs":null,"finish_reason":`,
			running:       `,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}`,
			finished:      `,"stop_reason":null,"prompt_token_ids":null,"token_ids":null}`,
			wholeOpen:     `,"text":"`,
			wholeClose:    `","logprobs":null,"finish_reason":`,
			wholeFinished: `,"stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null,"routed_experts":null}`,
			wholeTail:     `,"ec_transfer_params":null,"metrics":null`,
		},
	},
	SGLang: {
		chatAPI: {
			idPrefix: "chatcmpl-", object: "chat.completion", chunkObject: "chat.completion.chunk",
			roleChoice: `,"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},` +
				`"logprobs":null,"finish_reason":null,"matched_stop":null}`,
			textOpen:  `,"delta":{"role":null,"content":"`,
			textClose: `","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":`,
			running:   `,"matched_stop":null}`,
			finished:  `,"matched_stop":null}`,
			lastOpen: `,"delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null},` +
				`"logprobs":null,"finish_reason":`,
			wholeOpen:     `,"message":{"role":"assistant","content":"`,
			wholeClose:    `","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":`,
			wholeFinished: `,"matched_stop":null}`,
			wholeTail:     `,"metadata":{"weight_version":"default"}`,
		},
		completionAPI: {
			idPrefix: "cmpl-", object: "text_completion", chunkObject: "text_completion",
			textOpen:      `,"text":"`,
			textClose:     `","logprobs":null,"finish_reason":`,
			running:       `,"matched_stop":null}`,
			finished:      `,"matched_stop":null}`,
			lastOpen:      `,"text":"","logprobs":null,"finish_reason":`,
			wholeOpen:     `,"text":"`,
			wholeClose:    `","logprobs":null,"finish_reason":`,
			wholeFinished: `,"matched_stop":null}`,
			wholeTail:     `,"metadata":{"weight_version":"default"}`,
		},
	},
}

// appendHead appends the fields in front of the choices, which are the same for every chunk of a reply.
func (x *exchange) appendHead(b []byte, object string) []byte {
	b = append(b, `{"id":`...)
	b = append(b, x.id...)
	b = append(b, `,"object":"`...)
	b = append(b, object...)
	b = append(b, `","created":`...)
	b = strconv.AppendInt(b, x.cfg.Clock.Now().Unix(), 10)
	b = append(b, `,"model":`...)
	b = append(b, x.call.model...)
	return append(b, `,"choices":[`...)
}

// appendUsage appends a usage field. Details are there with a prefix cache only, as with the engines' flags for cache reports.
func (x *exchange) appendUsage(b []byte, output int) []byte {
	output *= x.call.choices
	b = append(b, `,"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(x.call.prompt), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(x.call.prompt+output), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(output), 10)
	b = x.appendCached(b)
	if x.cfg.Dialect == SGLang {
		b = append(b, `,"reasoning_tokens":0`...)
	}
	return append(b, `,"completion_tokens_details":null}`...)
}

// appendFingerprint appends vLLM's system_fingerprint.
func (x *exchange) appendFingerprint(b []byte) []byte {
	if x.cfg.Dialect != VLLM {
		return b
	}
	b = append(b, `,"system_fingerprint":"vllm-`...)
	b = append(b, x.cfg.Version...)
	return append(b, `-fake"`...)
}

func appendIndex(b []byte, choice int) []byte {
	b = append(b, `{"index":`...)
	return strconv.AppendInt(b, int64(choice), 10)
}

func appendReason(b []byte, reason string) []byte {
	if reason == "" {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = append(b, reason...)
	return append(b, '"')
}
