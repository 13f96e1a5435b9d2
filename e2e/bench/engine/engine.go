// Package engine is the lightest engine that a router can be measured with: many
// of them in one process, each on a loopback port of its own, answering chats
// with a fixed answer or a fixed stream, health probes, and the pages that
// routers ask engines for. It parses no more of HTTP/1.1 than that takes.
package engine

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Model is the name that every engine serves.
const Model = "demo"

// Chunks is the number of chunks of a streamed answer, ChunkBytes the size of one.
const (
	Chunks     = 200
	ChunkBytes = 200
)

// Config says what to run.
type Config struct {
	Engines int
	// Interval between the chunks of a stream.
	Interval time.Duration
}

// Server is a running set of engines.
type Server struct {
	config    Config
	listeners []net.Listener
	serving   sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// Start listens and serves in the background. Stop must be called.
func Start(c Config) (*Server, error) {
	s := &Server{config: c, conns: map[net.Conn]struct{}{}}
	for range c.Engines {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Stop()
			return nil, fmt.Errorf("engine %d: %w", len(s.listeners), err)
		}
		s.listeners = append(s.listeners, l)
		s.serving.Go(func() { s.accept(l) })
	}
	return s, nil
}

// Addrs are the engines' addresses.
func (s *Server) Addrs() []string {
	addrs := make([]string, 0, len(s.listeners))
	for _, l := range s.listeners {
		addrs = append(addrs, l.Addr().String())
	}
	return addrs
}

// Stop closes everything and waits for it.
func (s *Server) Stop() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	for _, l := range s.listeners {
		_ = l.Close()
	}
	s.serving.Wait()
}

func (s *Server) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil && s.enter(c) {
			s.serving.Go(func() {
				defer s.leave(c)
				serve(c, s.config.Interval)
			})
		}
	}
}

func (s *Server) enter(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = c.Close()
		return false
	}
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) leave(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}
