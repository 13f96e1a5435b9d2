package server

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/pointsman/pointsman/statesvc/fleet"
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
		status, word = http.StatusServiceUnavailable, s.missing()
	}
	text := word + "\n"
	if r.URL.Query().Has("verbose") && s.authorized(r) {
		text += s.verbose()
	}
	writeText(w, status, text)
}

// missing says what the first answer to a sync waits for.
func (s *Server) missing() string {
	var silent []string
	for _, source := range s.fleet.Sources() {
		if !source.Heard {
			silent = append(silent, string(source.Source))
		}
	}
	if len(silent) > 0 {
		return "starting: nothing heard yet of discovery by " + strings.Join(silent, ", ")
	}
	return "starting: some engines have not been probed yet"
}

func verboseSources(b *strings.Builder, list []fleet.SourceStatus) {
	for _, s := range list {
		fmt.Fprintf(b, "discovery %s: %d workers", s.Source, s.Workers)
		if !s.Heard {
			b.WriteString(", not heard yet")
		}
		if s.Conflicts > 0 {
			fmt.Fprintf(b, ", %d left out", s.Conflicts)
		}
		if s.Error != "" {
			b.WriteString(": " + strings.ReplaceAll(s.Error, "\n", "; "))
		}
		b.WriteString("\n")
	}
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
	verboseSources(&b, s.fleet.Sources())
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
