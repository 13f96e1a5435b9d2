package server

import (
	"errors"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/pointsman/pointsman/statesvc/fleet/register"
)

// Registry takes orders about the fleet. *register.Registry is one.
type Registry interface {
	Register(w config.Worker) (register.Outcome, error)
	Remove(id string) (register.Outcome, error)
	Drain(id string, drain bool) (register.Outcome, error)
}

// workersPath is the list of workers; with a worker's ID behind it, that worker.
const workersPath = "/v1/workers"

// orderReply is the answer to an order.
type orderReply struct {
	ID      string          `json:"id"`
	Changed bool            `json:"changed"` // by this order; an order may be repeated
	Present bool            `json:"present"` // the worker is in the fleet
	Address string          `json:"address,omitempty"`
	Sources []claims.Source `json:"sources"`
	// Draining is what all sources and orders come to; DrainedBy names who drains.
	Draining  bool     `json:"draining"`
	DrainedBy []string `json:"drained_by"`
	Note      string   `json:"note,omitempty"`
}

// addManagement adds the routes that change the fleet, where that is allowed at all.
func (s *Server) addManagement(table map[string]*route) {
	workers := table[workersPath]
	if s.registry == nil {
		workers.hint = "; workers are changed over HTTP only with discovery.http.enabled in the configuration"
		return
	}
	workers.methods[http.MethodPost] = s.managed(s.register)
	s.worker = &route{name: "worker", guarded: true, methods: map[string]http.HandlerFunc{
		http.MethodDelete: s.managed(s.remove),
		http.MethodPost:   s.managed(s.drain),
	}, hint: "; POST /v1/workers/{id}/drain or /undrain, DELETE /v1/workers/{id}"}
}

// proxied are headers of requests that a browser or a proxy on this machine passes on.
var proxied = []string{"Origin", "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Proto"}

// managed lets a handler run for those who may change the fleet: who has the token of
// discovery.http, or, where there is none, a program on this machine. Reaching the port of
// the syncs is never enough.
func (s *Server) managed(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.admin != nil && !s.admin.matches(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "unauthorized", "workers are changed with the token of discovery.http; send Authorization: Bearer <token>")
		case s.admin == nil && !local(r):
			fail(w, http.StatusForbidden, "forbidden", "without a token of discovery.http workers are changed from this machine only, and not through a browser or a proxy")
		default:
			handler(w, r)
		}
	}
}

func local(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		return false
	}
	for _, name := range proxied {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	return true
}

// register is POST /v1/workers: one worker as an entry of fleet.static.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != jsonType {
		fail(w, http.StatusUnsupportedMediaType, "unsupported_media_type", "send content-type "+jsonType)
		return
	}
	body, ok := s.body(w, r, min(s.limits.MaxBodyBytes, maxJSONBytes))
	if !ok {
		return
	}
	worker, err := config.ParseWorker(body, s.limits.MaxStringBytes)
	if err != nil {
		fail(w, http.StatusBadRequest, badRequest, err.Error())
		return
	}
	outcome, err := s.registry.Register(worker)
	s.answerOrder(w, &outcome, err)
}

// remove is DELETE /v1/workers/{id}.
func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	id, ok := s.workerID(w, strings.TrimPrefix(r.URL.EscapedPath(), workersPath+"/"))
	if !ok {
		return
	}
	outcome, err := s.registry.Remove(id)
	s.answerOrder(w, &outcome, err)
}

// drain is POST /v1/workers/{id}/drain and /undrain. The ID may hold slashes.
func (s *Server) drain(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), workersPath+"/")
	cut := strings.LastIndexByte(path, '/')
	action := path[cut+1:]
	if cut < 0 || action != "drain" && action != "undrain" {
		fail(w, http.StatusNotFound, "not_found", "no such path; POST /v1/workers/{id}/drain or /undrain")
		return
	}
	id, ok := s.workerID(w, path[:cut])
	if !ok {
		return
	}
	outcome, err := s.registry.Drain(id, action == "drain")
	s.answerOrder(w, &outcome, err)
}

func (s *Server) workerID(w http.ResponseWriter, escaped string) (string, bool) {
	id, err := url.PathUnescape(escaped)
	if err != nil || id == "" || len(id) > s.limits.MaxStringBytes {
		fail(w, http.StatusBadRequest, badRequest, "the path holds no worker's id; /v1/workers lists them")
		return "", false
	}
	return id, true
}

func (s *Server) answerOrder(w http.ResponseWriter, o *register.Outcome, err error) {
	conflict, isConflict := errors.AsType[*register.ConflictError](err)
	switch {
	case errors.Is(err, register.ErrUnknown):
		fail(w, http.StatusNotFound, "unknown_worker", "no such worker; /v1/workers lists them")
	case isConflict:
		fail(w, http.StatusConflict, "conflict", conflict.Reason)
	case err != nil:
		fail(w, http.StatusInternalServerError, "internal_error", err.Error())
	default:
		writeJSON(w, http.StatusOK, orderAnswer(o))
	}
}

func orderAnswer(o *register.Outcome) orderReply {
	reply := orderReply{ID: o.ID, Changed: o.Changed, Present: o.Present, Sources: []claims.Source{}, DrainedBy: []string{}}
	if !o.Present {
		return reply
	}
	reply.Address, reply.Sources = o.Worker.Config.Endpoint.HostPort(), o.Worker.Sources
	reply.Draining = o.Worker.Config.Draining
	reply.DrainedBy = append(reply.DrainedBy, o.Worker.DrainedBy...)
	if first := o.Worker.Sources[0]; first != claims.HTTP {
		reply.Note = "the worker is named by " + string(first) + "; it can be drained here, and removed only there"
	}
	return reply
}
