package flow

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/stretchr/testify/require"
)

// Codes and statuses of engine-selection.md 3.2 and design section 3.
func TestCode_table(t *testing.T) {
	want := map[Code]struct {
		name   string
		status int
	}{
		CodeNone:                  {"", 200},
		CodeBadRequest:            {"bad_request", 400},
		CodeSamplingViolation:     {"sampling_contract_violation", 400},
		CodeModelNotFound:         {"model_not_found", 404},
		CodeBodyTimeout:           {"body_timeout", 408},
		CodePayloadTooLarge:       {"payload_too_large", 413},
		CodeUnsupportedEncoding:   {"unsupported_content_encoding", 415},
		CodeInternal:              {"internal_error", 500},
		CodeNoHealthyWorkers:      {"no_healthy_workers", 503},
		CodeNoPrefillWorkers:      {"no_prefill_workers_available", 503},
		CodeNoDecodeWorkers:       {"no_decode_workers_available", 503},
		CodePolicySelectionFailed: {"policy_selection_failed", 503},
		CodeBreakerOpen:           {"breaker_open", 503},
		CodeStateUnavailable:      {"state_unavailable", 503},
	}
	require.Len(t, want, int(codeCount))
	for code, w := range want {
		require.Equal(t, w.name, code.String())
		require.Equal(t, w.status, code.Status())
	}
	require.Equal(t, "internal_error", codeCount.String())
	require.Equal(t, 500, Code(255).Status())
}

func TestHeaders_refused(t *testing.T) {
	for name, tt := range map[string]struct {
		change  func(*Event)
		code    Code
		message string
	}{
		"no body":              {func(e *Event) { e.EndOfStream = true }, CodeBadRequest, "the request has no body; send a JSON object"},
		"announced too large":  {func(e *Event) { e.ContentLength = core.Known(32<<20 + 1) }, CodePayloadTooLarge, "the request body is larger than 33554432 bytes"},
		"gzip":                 {func(e *Event) { e.ContentEncoding = "gzip" }, CodeUnsupportedEncoding, "send the request body without content-encoding"},
		"identity and another": {func(e *Event) { e.ContentEncoding = "identity, br" }, CodeUnsupportedEncoding, "send the request body without content-encoding"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, oneBucket, engines(1)...)
			r, ev := m.NewRequest(), m.headers()
			tt.change(&ev)
			effects := r.Step(&ev)
			require.Equal(t, []EffectKind{EffectStrip, EffectRespond, EffectReceipt}, kinds(effects))
			code, message := refusal(t, effects)
			require.Equal(t, tt.code, code)
			require.Equal(t, tt.message, message)
			require.False(t, r.Waiting())
			require.Equal(t, tt.code.String(), r.Receipt().Code)
			require.Equal(t, uint64(1), m.Counters[firstAnswer+Counter(tt.code)])
			require.Empty(t, r.Step(&Event{Kind: EventBody, Body: `{"model":"m"}`}), "nothing follows an answer")
			require.Empty(t, r.Step(&Event{Kind: EventTick, Now: 1 << 40}))
			require.Empty(t, r.Step(&Event{Kind: EventResponse, Status: 500}))
			require.Zero(t, m.inflight())
		})
	}
}

func TestHeaders_accepted(t *testing.T) {
	for name, change := range map[string]func(*Event){
		"largest body":     func(e *Event) { e.ContentLength = core.Known(32 << 20) },
		"identity":         func(e *Event) { e.ContentEncoding = " Identity " },
		"query":            func(e *Event) { e.Path = chatPath + "?a=/v1/models" },
		"completions":      func(e *Event) { e.Path = "/v1/completions" },
		"announces length": func(e *Event) { e.ContentLength = core.Known(0) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, oneBucket, engines(1)...)
			r, ev := m.NewRequest(), m.headers()
			change(&ev)
			require.Equal(t, []EffectKind{EffectStrip, EffectPause}, kinds(r.Step(&ev)))
			require.True(t, r.Waiting())
			require.Empty(t, r.Step(&ev), "headers come once")
		})
	}
}

func TestHeaders_of_other_requests_pass(t *testing.T) {
	for name, change := range map[string]func(*Event){
		"another path":      func(e *Event) { e.Path = "/v1/embeddings" },
		"path below":        func(e *Event) { e.Path = chatPath + "/x" },
		"another method":    func(e *Event) { e.Method = "GET" },
		"models by POST":    func(e *Event) { e.Path = "/v1/models" },
		"method of a case":  func(e *Event) { e.Method = "post" },
		"path of a case":    func(e *Event) { e.Path = strings.ToUpper(chatPath) },
		"no path":           func(e *Event) { e.Path = "" },
		"too large as well": func(e *Event) { e.Path = "/upload"; e.ContentLength = core.Known(1 << 40) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, oneBucket, engines(1)...)
			r, ev := m.NewRequest(), m.headers()
			change(&ev)
			require.Equal(t, []EffectKind{EffectStrip, EffectContinue}, kinds(r.Step(&ev)))
			require.False(t, r.Waiting())
			require.Empty(t, r.Step(&Event{Kind: EventBody, Body: `{}`}))
			require.Empty(t, r.Step(&Event{Kind: EventDone}))
			require.Equal(t, uint64(1), m.Counters[RequestsPassed])
			require.Zero(t, m.Counters[ChargesReleased])
		})
	}
}

func TestPaths_of_the_configuration(t *testing.T) {
	m := newMachine(t, `"paths":["/v1/completions"],`+oneBucket, engines(1)...)
	ev := m.headers()
	require.Equal(t, []EffectKind{EffectStrip, EffectContinue}, kinds(m.NewRequest().Step(&ev)))
	ev.Path = "/v1/completions"
	require.Equal(t, []EffectKind{EffectStrip, EffectPause}, kinds(m.NewRequest().Step(&ev)))
}

func TestBody_refused(t *testing.T) {
	const bounded = `"models":{"m":{"buckets":[
		{"id":"b","limits":{"max":10},"max_context_tokens":20,"groups":{"plain":{"policy":{"type":"random"}}}}]}}`
	long := `{"model":"m","prompt":"` + strings.Repeat("x", 44) + `"}` // 68 bytes, 17 tokens
	for name, tt := range map[string]struct {
		body    string
		code    Code
		message string
	}{
		"empty":            {"", CodeBadRequest, "the request body must be a JSON object"},
		"not an object":    {"[1]", CodeBadRequest, "the request body must be a JSON object"},
		"not JSON":         {`{"model":`, CodeBadRequest, "the request body is not valid JSON"},
		"no model":         {`{}`, CodeBadRequest, `"model" is missing: name the model the request is for`},
		"model twice":      {`{"model":"m","model":"m"}`, CodeBadRequest, `"model" stands twice in the request body`},
		"bad output":       {`{"model":"m","max_tokens":-1}`, CodeBadRequest, `"max_tokens" must be a whole number of tokens, zero or more`},
		"unknown model":    {`{"model":"gpt"}`, CodeModelNotFound, `the model "gpt" does not exist here`},
		"over-long input":  {long, CodeBadRequest, "no bucket takes 17 prompt tokens"},
		"over-long output": {`{"model":"m","max_tokens":14}`, CodeBadRequest, "no bucket takes 7 prompt tokens with 21 tokens in all"},
		"overflow":         {`{"model":"m","max_tokens":18446744073709551615}`, CodeBadRequest, "the requested output is too long to add to the prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, bounded, engines(1)...)
			r, effects := m.chat(tt.body)
			code, message := refusal(t, effects)
			require.Equal(t, tt.code, code)
			require.Equal(t, tt.message, message)
			require.Zero(t, m.inflight())
			require.Equal(t, tt.code.String(), r.Receipt().Code)
			require.Empty(t, r.Receipt().Chosen)
			require.Empty(t, r.Step(&Event{Kind: EventDone}))
			require.Zero(t, m.Counters[ChargesReleased])
		})
	}
	m := newMachine(t, bounded, engines(1)...)
	_, effects := m.chat(`{"model":"m","max_tokens":13}`)
	require.Equal(t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects), "bounds are inclusive")
}

func TestBody_too_large(t *testing.T) {
	const small = `"max_body_bytes":20,` + oneBucket
	for name, event := range map[string]Event{
		"part": {Kind: EventBodyPart, Size: 21},
		"body": {Kind: EventBody, Body: `{"model":"m"        }`},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, small, engines(1)...)
			r, ev := m.NewRequest(), m.headers()
			r.Step(&ev)
			require.Empty(t, r.Step(&Event{Kind: EventBodyPart, Size: 20}))
			code, message := refusal(t, r.Step(&event))
			require.Equal(t, CodePayloadTooLarge, code)
			require.Equal(t, "the request body is larger than 20 bytes", message)
			require.Empty(t, r.Step(&Event{Kind: EventBodyPart, Size: 40}), "answered once")
		})
	}
	m := newMachine(t, small, engines(1)...)
	_, effects := m.chat(`{"model":"m"       }`)
	require.Equal(t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects), "20 bytes are taken")
}

func TestBody_timeout(t *testing.T) {
	m := newMachine(t, `"body_timeout_ms":500,`+oneBucket, engines(1)...)
	m.now = 1000
	r, ev := m.NewRequest(), m.headers()
	r.Step(&ev)
	require.Empty(t, r.Step(&Event{Kind: EventTick, Now: 1499}))
	require.Empty(t, r.Step(&Event{Kind: EventBodyPart, Now: 1499, Size: 5}), "a slow client has the whole time and no more")
	code, message := refusal(t, r.Step(&Event{Kind: EventTick, Now: 1500}))
	require.Equal(t, CodeBodyTimeout, code)
	require.Equal(t, "the request body did not arrive in time", message)
	require.Empty(t, r.Step(&Event{Kind: EventTick, Now: 1600}))
	require.False(t, m.HeaderOnly())
}
