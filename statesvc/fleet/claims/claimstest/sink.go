// Package claimstest is a sink of claims for the tests of sources.
package claimstest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/stretchr/testify/require"
)

// Sink remembers what a source says. It is a claims.Sink.
type Sink struct {
	mu     sync.Mutex
	said   int
	list   []claims.Claim
	errors []string
}

// Say implements claims.Sink.
func (s *Sink) Say(_ claims.Source, list []claims.Claim) []claims.Conflict {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said++
	s.list = list
	return nil
}

// Failed implements claims.Sink.
func (s *Sink) Failed(_ claims.Source, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors, err.Error())
}

// Said counts what was said so far.
func (s *Sink) Said() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said
}

// List is what was said last.
func (s *Sink) List() []claims.Claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// Errors are all failures so far.
func (s *Sink) Errors() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.errors)
}

// Addresses are those said last, sorted.
func (s *Sink) Addresses() []string {
	out := []string{}
	for _, c := range s.List() {
		out = append(out, c.Worker.Endpoint.HostPort())
	}
	slices.Sort(out)
	return out
}

// Await polls until the last word is these addresses, in order.
func (s *Sink) Await(t testing.TB, want ...string) {
	t.Helper()
	Eventually(t, func() bool { return s.Said() > 0 && slices.Equal(want, s.Addresses()) }, s.Addresses)
}

// Eventually polls until the condition holds and shows a value when it does not.
func Eventually[T any](t testing.TB, holds func() bool, show func() T) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !holds() {
		require.True(t, time.Now().Before(deadline), "%v", show())
		time.Sleep(2 * time.Millisecond)
	}
}
