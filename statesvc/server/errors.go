package server

import (
	"encoding/json"
	"net/http"
)

// envelope is the body of every error (engine-selection.md 3.2).
type envelope struct {
	Error problem `json:"error"`
}

type problem struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Codes that calls of streams are refused with as well.
const (
	badRequest      = "bad_request"
	overloaded      = "overloaded"
	payloadTooLarge = "payload_too_large"
)

func fail(w http.ResponseWriter, status int, code, message string) {
	kind := "server_error"
	if status < 500 {
		kind = "invalid_request_error"
	}
	writeJSON(w, status, envelope{Error: problem{Type: kind, Code: code, Message: message}})
}

// unavailable is a 503 that asks to come back.
func unavailable(w http.ResponseWriter, code, message string) {
	w.Header().Set("Retry-After", "1")
	fail(w, http.StatusServiceUnavailable, code, message)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":{"type":"server_error","code":"internal_error","message":"the answer has no JSON form"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
