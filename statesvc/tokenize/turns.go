package tokenize

import "context"

// Sizes of request bodies, in bytes, above which requests take turns, and how many have
// theirs at once. A body takes up to some 80 bytes of memory for each of its own while it is
// tokenized (a list of short messages or of mappings), so that without turns the memory
// would be that times the largest body times every caller. Each size has turns of its own:
// large bodies hold up nobody but each other.
const (
	middleBody  = 32 << 10
	largeBody   = 512 << 10
	middleTurns = 16
	largeTurns  = 2
)

// Turns bounds the memory of large requests that are tokenized at once. Models of one
// process share it. It is safe for concurrent use.
type Turns struct {
	middle, large chan struct{}
}

// NewTurns makes the turns of a process.
func NewTurns() *Turns {
	return &Turns{middle: make(chan struct{}, middleTurns), large: make(chan struct{}, largeTurns)}
}

// take waits for the turn of a body of that size. It reports false when the context ends
// first; otherwise leave ends the turn.
func (t *Turns) take(ctx context.Context, size int) (leave func(), ok bool) {
	turns := t.middle
	switch {
	case size <= middleBody:
		return func() {}, true
	case size > largeBody:
		turns = t.large
	}
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, true
	case <-ctx.Done():
		return nil, false
	}
}
