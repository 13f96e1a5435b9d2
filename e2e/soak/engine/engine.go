// Package engine is a fake engine for long runs: it answers at once, and fails
// in the way a request asks for, so that every failure of a run is one that was
// asked for. Engines of one process share their memory of lost requests.
package engine

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Model is the name that every engine serves.
const Model = "soak"

// Header is the request header that says how the engine is to fail. Without it
// the request is answered.
const Header = "X-Soak"

// Values of Header.
const (
	Status500 = "500"     // answers 500
	Status429 = "429"     // answers 429
	Cut       = "cut"     // streams a few events, then resets the connection
	Wait      = "wait"    // never answers
	Endless   = "endless" // streams until the client is gone
	// Lose followed by a name that no other request has: resets the connection
	// without an answer the first time, at whatever engine, and answers the second.
	Lose = "lose-"
)

// CountsPath is where every engine tells the Counts of its process.
const CountsPath = "/soak"

// Counts are of all engines of the process.
type Counts struct {
	Received int64 // inference requests, each attempt
	Lost     int64 // attempts reset without an answer
	Open     int64 // requests in flight
}

// Server is a running set of engines.
type Server struct {
	servers []*http.Server
	addrs   []string
	serving sync.WaitGroup

	received, lost, open atomic.Int64

	mu   sync.Mutex
	once map[string]struct{} // requests lost once and not yet seen again
}

// Start listens with n engines on loopback and serves in the background. Stop
// must be called.
func Start(n int) (*Server, error) {
	s := &Server{once: map[string]struct{}{}}
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Stop()
			return nil, fmt.Errorf("engine %d: %w", len(s.addrs), err)
		}
		hs := &http.Server{Handler: s.routes(), ReadHeaderTimeout: time.Minute}
		s.servers, s.addrs = append(s.servers, hs), append(s.addrs, l.Addr().String())
		s.serving.Go(func() { _ = hs.Serve(l) })
	}
	return s, nil
}

// Addrs are the engines' addresses.
func (s *Server) Addrs() []string { return s.addrs }

// Stop closes everything and waits for the listeners.
func (s *Server) Stop() {
	for _, hs := range s.servers {
		_ = hs.Close()
	}
	s.serving.Wait()
}

func (s *Server) counts() Counts {
	return Counts{Received: s.received.Load(), Lost: s.lost.Load(), Open: s.open.Load()}
}

// loseOnce reports whether this is the first time the request is seen.
func (s *Server) loseOnce(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, seen := s.once[name]; seen {
		delete(s.once, name)
		return false
	}
	s.once[name] = struct{}{}
	return true
}

var errNoHijack = errors.New("the connection cannot be taken over")

// reset ends a connection without a word.
func reset(w http.ResponseWriter) error {
	h, ok := w.(http.Hijacker)
	if !ok {
		return errNoHijack
	}
	c, _, err := h.Hijack()
	if err != nil {
		return err
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return c.Close()
}
