package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// observe is POST /v1/observe (design section 3 step 4). A cache source or scope
// that cannot be answered for is left out, which means unavailable.
func (s *Server) observe(w http.ResponseWriter, r *http.Request) {
	request, err := decodeObserve(r.Header.Get(wire.ObserveHeader))
	if err != nil {
		s.meter.Count(ObserveRefused, 1)
		fail(w, http.StatusBadRequest, "bad_request", wire.ObserveHeader+": "+err.Error())
		return
	}
	ctx, cancel := within(r.Context(), request.GetTimeoutMs())
	defer cancel()
	reply := &wirepb.ObserveReply{}
	complete, ok := s.observePrompt(ctx, w, r, request, reply)
	if !ok {
		s.meter.Count(ObserveRefused, 1)
		return
	}
	// The bindings come last: what a prompt took long to is not to make them old.
	bindings := s.look(ctx, request.GetScopes())
	reply.Bindings = bindings
	switch {
	case ctx.Err() != nil:
		s.meter.Count(ObserveLate, 1)
	case complete && len(bindings) == len(request.GetScopes()):
		s.meter.Count(ObserveAnswered, 1)
	default:
		s.meter.Count(ObserveIncomplete, 1)
	}
	writeReply(w, r, reply, false)
}

// observePrompt fills in what is known of the body. ok is false when the request
// was answered instead.
func (s *Server) observePrompt(ctx context.Context, w http.ResponseWriter, r *http.Request, request *wirepb.ObserveRequest, reply *wirepb.ObserveReply) (complete, ok bool) {
	counting := request.GetTokens() || request.GetInputIds() > 0
	asked := counting || len(request.GetSources()) > 0
	if !asked || s.prompts.behind == nil {
		if asked {
			s.meter.Count(PromptUnasked, 1)
			reply.Uncounted = counting
		}
		// Reading it keeps the connection for the caller's next request.
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, s.limits.MaxObserveBodyBytes))
		return !asked, true
	}
	body, ok := s.body(w, r, s.limits.MaxObserveBodyBytes)
	if !ok {
		return false, false
	}
	answer, outcome := s.prompts.look(ctx, &PromptQuery{
		Model: request.GetModel(), Asked: request.GetAsked(), Path: request.GetPath(),
		Tokens: request.GetTokens(), Sources: request.GetSources(), InputIDs: request.GetInputIds(), Body: body,
	})
	s.meter.Count(outcome, 1)
	reply.Tokens, reply.Lookups, reply.InputIds = answer.Tokens, answer.Lookups, answer.InputIDs
	reply.Uncounted = answer.Uncounted && counting
	return answer.answers(request), true
}

// answers reports whether nothing that was asked for is missing.
func (a *PromptAnswer) answers(request *wirepb.ObserveRequest) bool {
	return (a.Tokens != nil || !request.GetTokens()) && len(a.Lookups) == len(request.GetSources()) &&
		(a.InputIDs != nil || request.GetInputIds() == 0)
}

func decodeObserve(header string) (*wirepb.ObserveRequest, error) {
	if header == "" {
		return nil, errors.New("missing; it carries the encoded request, base64url without padding")
	}
	encoded, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil {
		return nil, errors.New("not base64url without padding")
	}
	var request wirepb.ObserveRequest
	if err := decodeMessage(encoded, false, &request, "an observe request"); err != nil {
		return nil, err
	}
	if request.GetContext() == 0 {
		return nil, errors.New("context: missing; it is the context's random key and never zero")
	}
	if len(request.GetScopes()) > maxScopes {
		return nil, fmt.Errorf("scopes: more than %d entries", maxScopes)
	}
	for i, scope := range request.GetScopes() {
		if _, ok := digest(scope.GetDigest()); !ok {
			return nil, fmt.Errorf("scopes[%d]: digest: not %d bytes", i, len(affinity.Digest{}))
		}
	}
	return &request, nil
}

// look reads bindings. A store that does not answer leaves them out.
func (s *Server) look(ctx context.Context, scopes []*wirepb.Scope) []*wirepb.Binding {
	asked := make([]affinity.Digest, len(scopes))
	for i, scope := range scopes {
		asked[i], _ = digest(scope.GetDigest())
	}
	bound, err := s.bindings.Bound(ctx, s.clock(), asked)
	if err != nil {
		s.meter.Count(ScopeUnavailable, len(scopes))
		return nil
	}
	out := make([]*wirepb.Binding, len(scopes))
	taken := 0
	for i, worker := range bound {
		out[i] = binding(asked[i], worker)
		if worker != "" {
			taken++
		}
	}
	s.meter.Count(ScopeBound, taken)
	s.meter.Count(ScopeNone, len(scopes)-taken)
	return out
}
