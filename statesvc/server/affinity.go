package server

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// maxScopes bounds the scopes of one request: more than any router has buckets
// times stages times kinds of keys for one model.
const maxScopes = 256

// maxCallMillis bounds how long a caller may ask to wait.
const maxCallMillis = 10_000

// observe is POST /v1/observe (design section 3 step 4). A cache source or scope
// that cannot be answered for is left out, which means unavailable.
func (s *Server) observe(w http.ResponseWriter, r *http.Request) {
	request, err := decodeObserve(r.Header.Get(wire.ObserveHeader))
	if err != nil {
		fail(w, http.StatusBadRequest, "bad_request", wire.ObserveHeader+": "+err.Error())
		return
	}
	ctx, cancel := within(r.Context(), request.GetTimeoutMs())
	defer cancel()
	reply := &wirepb.ObserveReply{Bindings: s.look(ctx, request.GetScopes())}
	writeReply(w, r, reply, false)
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
		return nil
	}
	out := make([]*wirepb.Binding, len(scopes))
	for i, worker := range bound {
		out[i] = binding(asked[i], worker)
	}
	return out
}

func binding(scope affinity.Digest, worker core.WorkerID) *wirepb.Binding {
	b := &wirepb.Binding{Digest: scope[:], State: wirepb.BindingState_BINDING_NONE}
	if worker != "" {
		b.State, b.Worker = wirepb.BindingState_BINDING_BOUND, string(worker)
	}
	return b
}

// bind is POST /v1/bind (design section 3 step 7). A scope for which there is no
// room, and one whose proposed engine this service does not know, is left out,
// which means unavailable.
func (s *Server) bind(w http.ResponseWriter, r *http.Request) {
	body, inJSON, ok := s.message(w, r)
	if !ok {
		return
	}
	var request wirepb.BindRequest
	if err := decodeMessage(body, inJSON, &request, "a bind request"); err != nil {
		fail(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	if err := s.checkBind(&request); err != nil {
		fail(w, http.StatusBadRequest, "bad_request", err.Error())
		return
	}
	ctx, cancel := within(r.Context(), request.GetTimeoutMs())
	defer cancel()
	proposals := s.proposals(request.GetProposals())
	bound, err := s.bindings.Bind(ctx, s.clock(), proposals)
	if err != nil {
		unavailable(w, "bindings_unavailable", "the bindings cannot be reached; go on without")
		return
	}
	reply := &wirepb.BindReply{}
	for i, worker := range bound {
		if worker != "" {
			reply.Bindings = append(reply.Bindings, binding(proposals[i].Scope, worker))
		}
	}
	writeReply(w, r, reply, inJSON)
}

func (s *Server) checkBind(r *wirepb.BindRequest) error {
	switch {
	case r.GetContext() == 0:
		return errors.New("context: missing; it is the context's random key and never zero")
	case len(r.GetProposals()) == 0:
		return errors.New("proposals: missing; name at least one")
	case len(r.GetProposals()) > maxScopes:
		return fmt.Errorf("proposals: more than %d entries", maxScopes)
	}
	for i, p := range r.GetProposals() {
		_, ok := digest(p.GetScope().GetDigest())
		switch {
		case !ok:
			return fmt.Errorf("proposals[%d]: scope: digest: not %d bytes", i, len(affinity.Digest{}))
		case p.GetWorker() == "":
			return fmt.Errorf("proposals[%d]: worker: missing", i)
		case max(len(p.GetWorker()), len(p.GetSeen())) > s.limits.MaxStringBytes:
			return fmt.Errorf("proposals[%d]: worker: longer than %d bytes", i, s.limits.MaxStringBytes)
		}
	}
	return nil
}

// proposals keeps those for engines the service knows: a name made up must not
// stay as a binding nobody can follow.
func (s *Server) proposals(list []*wirepb.Proposal) []affinity.Proposal {
	out := make([]affinity.Proposal, 0, len(list))
	for _, p := range list {
		if worker := core.WorkerID(p.GetWorker()); s.board.Has(worker) {
			scope, _ := digest(p.GetScope().GetDigest())
			out = append(out, affinity.Proposal{Scope: scope, Worker: worker, Seen: core.WorkerID(p.GetSeen()), Idle: s.life(p)})
		}
	}
	return out
}

// life is how long a binding lives without use.
func (s *Server) life(p *wirepb.Proposal) core.Instant {
	if p.GetIdleSecs() == 0 {
		return s.idle
	}
	return core.Instant(p.GetIdleSecs()) * 1000
}

// touch refreshes the bindings that a report says were used. What cannot be
// refreshed now is reported again with its next use.
func (s *Server) touch(ctx context.Context, used []*wirepb.UsedBinding) {
	if len(used) == 0 {
		return
	}
	uses := make([]affinity.Use, 0, len(used))
	for _, u := range used {
		if scope, ok := digest(u.GetDigest()); ok {
			uses = append(uses, affinity.Use{Scope: scope, Worker: core.WorkerID(u.GetWorker())})
		}
	}
	_ = s.bindings.Touch(ctx, s.clock(), uses)
}

func digest(b []byte) (d affinity.Digest, ok bool) {
	return d, copy(d[:], b) == len(d) && len(b) == len(d)
}

// within bounds a call by what its caller waits.
func within(ctx context.Context, millis uint32) (context.Context, context.CancelFunc) {
	if millis == 0 || millis > maxCallMillis {
		millis = maxCallMillis
	}
	return context.WithTimeout(ctx, time.Duration(millis)*time.Millisecond)
}

// decodeMessage reads a message in either form. Unknown keys are skipped in
// protobuf and refused in JSON, where they are typing mistakes.
func decodeMessage(body []byte, inJSON bool, into proto.Message, what string) error {
	unmarshal := proto.Unmarshal
	if inJSON {
		unmarshal, what = protojson.Unmarshal, what+" in JSON"
	}
	if err := unmarshal(body, into); err != nil {
		return errors.New("not " + what + ": " + plainProtoError(err))
	}
	return nil
}
