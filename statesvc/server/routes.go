package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pointsman/pointsman/statesvc/callstream"
	"google.golang.org/grpc/codes"
)

// route is one path. Its name is a metric label, so the set is closed.
type route struct {
	name    string
	methods map[string]http.HandlerFunc
	// guarded routes ask for the token when there is one.
	guarded bool
	// urgent routes are answered even when every slot is taken.
	urgent bool
	// overloaded is what a request counts as that finds no slot; nil is nothing.
	overloaded *Outcome
	// grpc routes refuse gRPC requests in gRPC's way.
	grpc bool
	// hint is added to the answer to another method.
	hint string
}

func (s *Server) table(metrics http.Handler) map[string]*route {
	get := func(h http.HandlerFunc) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{http.MethodGet: h, http.MethodHead: h}
	}
	table := map[string]*route{
		"/":             {name: "status", methods: get(s.statusPage), guarded: true},
		"/healthz":      {name: "healthz", methods: get(s.healthz), urgent: true},
		"/readyz":       {name: "readyz", methods: get(s.readyz), urgent: true},
		"/metrics":      {name: "metrics", methods: get(metrics.ServeHTTP)},
		"/v1/sync":      {name: "sync", methods: map[string]http.HandlerFunc{http.MethodPost: s.sync}, guarded: true},
		"/v1/observe":   {name: "observe", methods: map[string]http.HandlerFunc{http.MethodPost: s.observe}, guarded: true, overloaded: new(ObserveOverloaded)},
		"/v1/bind":      {name: "bind", methods: map[string]http.HandlerFunc{http.MethodPost: s.bind}, guarded: true, overloaded: new(BindOverloaded)},
		callstream.Path: {name: "calls", methods: map[string]http.HandlerFunc{http.MethodPost: s.stream}, guarded: true, urgent: true, grpc: true},
		workersPath:     {name: "workers", methods: get(s.workers), guarded: true},
	}
	s.addManagement(table)
	s.addIndex(table)
	return table
}

// ServeHTTP finds the route and applies the limits that need no body.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	w = rec
	rt := s.routes[r.URL.Path]
	if rt == nil && strings.HasPrefix(r.URL.Path, workersPath+"/") {
		rt = s.worker
	}
	name := "other"
	if rt != nil {
		name = rt.name
	}
	defer func() {
		if !rec.stream {
			s.meter.Request(name, rec.status, time.Since(began))
		}
	}()
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if handler := s.admit(w, r, rt); handler != nil {
		s.withSlot(w, r, rt, handler)
	}
}

// admit gives the handler of an acceptable request and answers any other.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, rt *route) http.HandlerFunc {
	count := 0
	for _, values := range r.Header {
		count += len(values)
	}
	switch {
	case count > s.limits.MaxHeaders:
		fail(w, http.StatusRequestHeaderFieldsTooLarge, "too_many_headers", fmt.Sprintf("more than %d request headers", s.limits.MaxHeaders))
		return nil
	case rt == nil:
		fail(w, http.StatusNotFound, "not_found", "no such path; see / for what there is")
		return nil
	case rt.guarded && !s.authorized(r):
		unauthorized(w, r, rt)
		return nil
	}
	handler := rt.methods[r.Method]
	if handler == nil {
		allowed := make([]string, 0, len(rt.methods))
		for method := range rt.methods {
			allowed = append(allowed, method)
		}
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		fail(w, http.StatusMethodNotAllowed, "method_not_allowed", "use "+strings.Join(allowed, " or ")+rt.hint)
	}
	return handler
}

func unauthorized(w http.ResponseWriter, r *http.Request, rt *route) {
	if rt.grpc && callstream.Speaks(r) == nil {
		callstream.Refuse(w, codes.Unauthenticated, "the stream carries no valid token; send it in the initial metadata, authorization: Bearer <token>")
		counted(w, http.StatusUnauthorized)
		return
	}
	w.Header().Set("WWW-Authenticate", "Bearer")
	fail(w, http.StatusUnauthorized, "unauthorized", "the request carries no valid token; send Authorization: Bearer <token>")
}

// withSlot runs the handler in one of the server's slots and refuses at once
// when all are taken.
func (s *Server) withSlot(w http.ResponseWriter, r *http.Request, rt *route, handler http.HandlerFunc) {
	if rt.urgent {
		handler(w, r)
		return
	}
	if !s.enter() {
		if rt.overloaded != nil {
			s.meter.Count(*rt.overloaded, 1)
		}
		unavailable(w, overloaded, "too many requests at once; try again")
		return
	}
	defer s.leave()
	handler(w, r)
}

// enter takes a slot if one is free; leave gives it back.
func (s *Server) enter() bool {
	select {
	case s.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s *Server) leave() { <-s.slots }

// authorized reports whether the caller may read: who may change the fleet may too.
func (s *Server) authorized(r *http.Request) bool {
	return s.token == nil || s.token.matches(r) || s.admin != nil && s.admin.matches(r)
}

// token is the hash of a bearer token.
type token [sha256.Size]byte

func newToken(text string) *token {
	if text == "" {
		return nil
	}
	t := token(sha256.Sum256([]byte(text)))
	return &t
}

// matches compares in constant time; hashing hides the length as well.
func (t *token) matches(r *http.Request) bool {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return subtle.ConstantTimeCompare(sum[:], t[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// recorder notes the status for the meter.
type recorder struct {
	http.ResponseWriter
	status int
	stream bool // of calls: its handler counts it
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// counted notes another status for the meter than HTTP shows: gRPC refuses with 200.
func counted(w http.ResponseWriter, status int) {
	if rec, ok := w.(*recorder); ok {
		rec.status = status
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
