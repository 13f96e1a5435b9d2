package soak

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// keepExamples bounds what is told of outcomes that were not asked for.
const keepExamples = 10

// Tally counts outcomes by kind. It is safe for concurrent use.
type Tally struct {
	done atomic.Int64

	mu        sync.Mutex
	asAsked   [kindCount]int
	otherwise [kindCount]map[string]int
	examples  []string
}

func (t *Tally) add(i int, kind Kind, outcome, want string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done.Add(1)
	if outcome == want {
		t.asAsked[kind]++
		return
	}
	if t.otherwise[kind] == nil {
		t.otherwise[kind] = map[string]int{}
	}
	t.otherwise[kind][outcome]++
	if len(t.examples) < keepExamples {
		t.examples = append(t.examples, fmt.Sprintf("request %d, %s: %s", i, kind, outcome))
	}
}

// Done is the number of requests that have an outcome.
func (t *Tally) Done() int { return int(t.done.Load()) }

// Otherwise is the number of outcomes that were not asked for.
func (t *Tally) Otherwise() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, outcomes := range t.otherwise {
		for _, count := range outcomes {
			n += count
		}
	}
	return n
}
