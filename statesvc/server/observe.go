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
		fail(w, http.StatusBadRequest, badRequest, wire.ObserveHeader+": "+err.Error())
		return
	}
	ctx, cancel := within(r.Context(), request.GetTimeoutMs())
	defer cancel()
	body, ok := s.observedBody(w, r, request)
	if !ok {
		s.meter.Count(ObserveRefused, 1)
		return
	}
	writeReply(w, r, s.observed(ctx, request, body), false)
}

// observedBody reads the client's body when it is looked at, or answers why not.
func (s *Server) observedBody(w http.ResponseWriter, r *http.Request, request *wirepb.ObserveRequest) (body []byte, ok bool) {
	if s.looks(request) {
		return s.body(w, r, s.limits.MaxObserveBodyBytes)
	}
	// Reading it keeps the connection for the caller's next request.
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, s.limits.MaxObserveBodyBytes))
	return nil, true
}

// observed answers an observe, within ctx, that was read with its body.
func (s *Server) observed(ctx context.Context, request *wirepb.ObserveRequest, body []byte) *wirepb.ObserveReply {
	reply := &wirepb.ObserveReply{}
	complete := s.observePrompt(ctx, request, body, reply)
	// The bindings come last: what a prompt took long to is not to make them old.
	reply.Bindings = s.look(ctx, request.GetScopes())
	switch {
	case ctx.Err() != nil:
		s.meter.Count(ObserveLate, 1)
	case complete && len(reply.GetBindings()) == len(request.GetScopes()):
		s.meter.Count(ObserveAnswered, 1)
	default:
		s.meter.Count(ObserveIncomplete, 1)
	}
	return reply
}

// asksPrompt reports whether an observe asks about its body, looks whether this service
// can tell anything of it.
func asksPrompt(request *wirepb.ObserveRequest) bool {
	return request.GetTokens() || request.GetInputIds() > 0 || len(request.GetSources()) > 0
}

func (s *Server) looks(request *wirepb.ObserveRequest) bool {
	return asksPrompt(request) && s.prompts.behind != nil
}

// observePrompt fills in what is known of the body.
func (s *Server) observePrompt(ctx context.Context, request *wirepb.ObserveRequest, body []byte, reply *wirepb.ObserveReply) (complete bool) {
	if !asksPrompt(request) {
		return true
	}
	counting := request.GetTokens() || request.GetInputIds() > 0
	if !s.looks(request) {
		s.meter.Count(PromptUnasked, 1)
		reply.Uncounted = counting
		return false
	}
	answer, outcome := s.prompts.look(ctx, &PromptQuery{
		Model: request.GetModel(), Asked: request.GetAsked(), Path: request.GetPath(),
		Tokens: request.GetTokens(), Sources: request.GetSources(), InputIDs: request.GetInputIds(), Body: body,
	})
	s.meter.Count(outcome, 1)
	reply.Tokens, reply.Lookups, reply.InputIds = answer.Tokens, answer.Lookups, answer.InputIDs
	reply.Uncounted = answer.Uncounted && counting
	return answer.answers(request)
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
	return readObserve(encoded)
}

// readObserve reads an encoded request and holds it against the contract.
func readObserve(encoded []byte) (*wirepb.ObserveRequest, error) {
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
