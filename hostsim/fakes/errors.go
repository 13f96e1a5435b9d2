package fakes

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// apiError is an answer other than 200. The dialect decides how it is written.
type apiError struct {
	status     int
	kind       string // "" follows from the status
	param      string // "" is JSON null
	message    string
	retryAfter time.Duration
}

func (e *apiError) Error() string { return e.message }

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, param: param, message: fmt.Sprintf(format, args...)}
}

// invalidBody is a body that the framework rejects before the engine looks at it; vLLM names such errors differently.
func invalidBody(param, format string, args ...any) *apiError {
	e := badRequest(param, format, args...)
	e.kind = "Bad Request"
	return e
}

// kindOf names a status as the engines' error types do: NotFoundError, BadRequestError, InternalServerError, ...
func kindOf(status int) string {
	name := strings.ReplaceAll(http.StatusText(status), " ", "")
	if name == "" {
		name = "Unknown"
	}
	return strings.TrimSuffix(name, "Error") + "Error"
}

// errorFields are those of both dialects; vLLM wraps them in "error", SGLang adds "object".
type errorFields struct {
	Object  string  `json:"object,omitempty"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

func (p *process) writeError(w http.ResponseWriter, e *apiError) {
	fields := errorFields{Message: e.message, Type: e.kind, Code: e.status}
	if fields.Type == "" {
		fields.Type = kindOf(e.status)
	}
	if e.param != "" {
		fields.Param = &e.param
	}
	if e.retryAfter > 0 {
		seconds := int64((e.retryAfter + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if p.cfg.Dialect == SGLang {
		fields.Object = "error"
		writeJSON(w, e.status, fields)
		return
	}
	writeJSON(w, e.status, map[string]errorFields{"error": fields})
}
