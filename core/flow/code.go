package flow

// Code is a machine code of the error envelope (engine-selection.md 3.2, design
// section 3). The zero value is none.
type Code uint8

// The codes.
const (
	CodeNone Code = iota
	CodeBadRequest
	CodeSamplingViolation
	CodeModelNotFound
	CodeBodyTimeout
	CodePayloadTooLarge
	CodeUnsupportedEncoding
	CodeInternal
	CodeNoHealthyWorkers
	CodeNoPrefillWorkers
	CodeNoDecodeWorkers
	CodePolicySelectionFailed
	CodeBreakerOpen
	CodeStateUnavailable
	codeCount
)

// codeTable gives each code its name on the wire and its status.
func codeTable() [codeCount]struct {
	name   string
	status int
} {
	return [codeCount]struct {
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
}

// String is the code as clients see it, empty for none.
func (c Code) String() string {
	if c >= codeCount {
		c = CodeInternal
	}
	return codeTable()[c].name
}

// Status is the HTTP status of the code, a pure function of it.
func (c Code) Status() int {
	if c >= codeCount {
		c = CodeInternal
	}
	return codeTable()[c].status
}
