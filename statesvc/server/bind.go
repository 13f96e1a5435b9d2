package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pointsman/pointsman/core"
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
	request, inJSON, ok := s.bindRequest(w, r)
	if !ok {
		s.meter.Count(BindRefused, 1)
		return
	}
	ctx, cancel := within(r.Context(), request.GetTimeoutMs())
	defer cancel()
	if reply := s.bound(ctx, request); reply != nil {
		writeReply(w, r, reply, inJSON)
		return
	}
	unavailable(w, bindingsUnavailable, "the bindings cannot be reached; go on without")
}

// bindingsUnavailable is the code of a bind that the store did not answer.
const bindingsUnavailable = "bindings_unavailable"

// bound answers a bind within ctx; nil when the bindings cannot be reached.
func (s *Server) bound(ctx context.Context, request *wirepb.BindRequest) *wirepb.BindReply {
	proposals := s.proposals(request.GetProposals())
	bound, err := s.bindings.Bind(ctx, s.clock(), proposals)
	late := ctx.Err() != nil
	switch {
	case late:
		s.meter.Count(BindLate, 1)
	case err != nil:
		s.meter.Count(BindUnavailable, 1)
	default:
		s.meter.Count(BindAnswered, 1)
	}
	if err != nil {
		s.meter.Count(ProposalUnavailable, len(proposals))
		return nil
	}
	return s.placed(proposals, bound)
}

// bindRequest reads a request, or answers why it is none.
func (s *Server) bindRequest(w http.ResponseWriter, r *http.Request) (request *wirepb.BindRequest, inJSON, ok bool) {
	body, inJSON, ok := s.message(w, r)
	if !ok {
		return nil, false, false
	}
	request, err := s.readBind(body, inJSON)
	if err != nil {
		fail(w, http.StatusBadRequest, badRequest, err.Error())
	}
	return request, inJSON, err == nil
}

// readBind reads an encoded request and holds it against the contract.
func (s *Server) readBind(body []byte, inJSON bool) (*wirepb.BindRequest, error) {
	request := &wirepb.BindRequest{}
	if err := decodeMessage(body, inJSON, request, "a bind request"); err != nil {
		return nil, err
	}
	return request, s.checkBind(request)
}

// placed says what came of the proposals.
func (s *Server) placed(proposals []affinity.Proposal, bound []core.WorkerID) *wirepb.BindReply {
	reply := &wirepb.BindReply{}
	for i, worker := range bound {
		switch worker {
		case "":
			s.meter.Count(ProposalNoRoom, 1)
			continue
		case proposals[i].Worker:
			s.meter.Count(ProposalWon, 1)
		default:
			s.meter.Count(ProposalLost, 1)
		}
		reply.Bindings = append(reply.Bindings, binding(proposals[i].Scope, worker))
	}
	return reply
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
	s.meter.Count(ProposalUnknownWorker, len(list)-len(out))
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
