package flow

import (
	"encoding/json"
	"strings"

	"github.com/pointsman/pointsman/core"
)

// Response is an answer made by the router itself.
type Response struct {
	Status     int
	Code       Code // CodeNone when the answer is not an error
	RetryAfter bool // send Retry-After: 1
	Body       []byte
}

type envelope struct {
	Error envelopeError `json:"error"`
}

type envelopeError struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// ErrorResponse makes the router's answer for a code: one JSON object, the code
// in it and beside it, Retry-After on every 503. The message may hold what a
// client sent; it is escaped.
func ErrorResponse(code Code, message string) Response {
	status := code.Status()
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	body, err := json.Marshal(envelope{envelopeError{Type: kind, Code: code.String(), Message: message}})
	if err != nil {
		body = []byte(`{"error":{"type":"server_error","code":"internal_error","message":""}}`)
	}
	return Response{Status: status, Code: code, RetryAfter: status == 503, Body: body}
}

// shorten cuts what a client sent to a length fit for a message.
func shorten(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

// exhausted gives the answer after the last bucket: a rejection anywhere beats
// missing candidates, which answer by the last missing stage
// (engine-selection.md 3.1).
func exhausted(rejected bool, missing core.Stage) (Code, string) {
	const noEngines = "no engine is available for this model; try again"
	if rejected {
		return CodePolicySelectionFailed, "every engine that could take this request is at its limit; try again"
	}
	switch missing {
	case core.StagePrefill:
		return CodeNoPrefillWorkers, noEngines
	case core.StageDecode:
		return CodeNoDecodeWorkers, noEngines
	case core.StageNone, core.StagePlain:
	}
	return CodeNoHealthyWorkers, noEngines
}
