package server

import (
	"fmt"
	"net/http"
	"strings"
)

// healthz says that the process answers.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	writeText(w, http.StatusOK, "ok\n")
}

// readyz says whether syncs are answered: every engine has had a verdict and
// the service is not stopping. ?verbose adds what that rests on, to those who
// may read /v1/workers.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	status, word := http.StatusOK, "ready"
	switch {
	case s.draining.Load():
		status, word = http.StatusServiceUnavailable, "stopping"
	case !s.ready():
		status, word = http.StatusServiceUnavailable, "starting: some engines have not been probed yet"
	}
	text := word + "\n"
	if r.URL.Query().Has("verbose") && s.authorized(r) {
		text += s.verbose()
	}
	writeText(w, status, text)
}

func (s *Server) verbose() string {
	var b strings.Builder
	up, loaded := 0, 0
	entries := s.entries()
	for i := range entries {
		if entries[i].Healthy {
			up++
		}
		if entries[i].Load != nil {
			loaded++
		}
	}
	counts := s.board.Counts()
	fmt.Fprintf(&b, "version %s\nreplica %016x\n", s.version, counts.Replica)
	fmt.Fprintf(&b, "workers %d, healthy %d, with fresh load %d\n", len(entries), up, loaded)
	fmt.Fprintf(&b, "contexts %d, gauges %d, snapshot %d\n", counts.Contexts, counts.Gauges, counts.Version)
	for i := range entries {
		e := &entries[i]
		for _, text := range []string{e.ProbeError, e.LoadError, e.DescribeError} {
			if text != "" {
				fmt.Fprintf(&b, "worker %s (%s): %s\n", e.ID, e.Health, text)
			}
		}
	}
	s.verboseIndex(&b)
	return b.String()
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}
