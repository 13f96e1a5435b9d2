package statesvc_test

import (
	"fmt"
	"strings"
	gosync "sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/peaktest"
	"github.com/stretchr/testify/require"
)

// What a prompt may come to, when its caller waits long enough.
const (
	looked    = "looked up"
	counted   = "counted, without a lookup"
	estimated = "estimated, without a lookup"
	refused   = "no answer about it"
)

// outcome tells which of these a reply is, and why.
func outcome(r *wire.ObserveReply) (string, string) {
	switch {
	case len(r.Lookups) == 0:
		return refused, ""
	case r.Lookups[0].Outcome != wire.LookupUnavailable:
		return looked, ""
	case r.Tokens.Known:
		return counted, r.Lookups[0].Detail
	}
	return estimated, r.Lookups[0].Detail
}

// Each hard prompt comes to what is documented, and one whose caller has no time for it to
// no answer about it; never to less than a reply.
func TestService_outcomes_of_hard_prompts(t *testing.T) {
	stage := newObserving(t)
	for name, want := range map[string]struct{ outcome, why string }{
		"special tokens":   {looked, ""},
		"lone surrogates":  {counted, "not_text"},
		"NUL":              {looked, ""},
		"one word of 4 MB": {estimated, "the prompt's tokens are not known: engine_"},
		"one word of many": {looked, ""}, // with digits in it, which tokenizers cut at
		"100,000 messages": {looked, ""},
		"deep":             {refused, ""},
	} {
		body := hardBodies()[name]
		got, why := outcome(stage.ask(t, stage.header, body))
		for deadline := time.Now().Add(time.Minute); got == refused && want.outcome != refused && time.Now().Before(deadline); {
			got, why = outcome(stage.ask(t, stage.header, body)) // a slow machine needs more than the 10 s
		}
		require.Equal(t, want.outcome, got, "%s: %s", name, why)
		require.Contains(t, why, want.why, name)
		stage.ask(t, observeHeader(1), body)
	}
}

// While callers of every hard prompt keep the service busy, ordinary prompts are looked up
// as ever: begun and answered while a hard one is under way.
func TestService_answers_ordinary_prompts_beside_hard_ones(t *testing.T) {
	const ordinary = 20
	stage := newObserving(t)
	var hard hardCallers
	for _, body := range hardBodies() {
		for range 2 {
			hard.start(t, stage, body)
		}
	}
	small, beside := knownChat(0, 8*turnBytes), 0
	for deadline := time.Now().Add(2 * time.Minute); beside < ordinary || !hard.allAnswered(); {
		require.True(t, time.Now().Before(deadline), "%d ordinary prompts were answered beside hard ones", beside)
		before := hard.underWay()
		require.True(t, stage.hits(t, small()))
		if hard.still(before) {
			beside++
		}
	}
	hard.stop()
}

// hardCallers ask again and again until they are stopped.
type hardCallers struct {
	calls   []*atomic.Int64 // of each caller: odd while one is under way
	ended   atomic.Bool
	running gosync.WaitGroup
}

func (h *hardCallers) start(t *testing.T, stage *observing, body string) {
	calls := new(atomic.Int64)
	h.calls = append(h.calls, calls)
	h.running.Go(func() {
		for !h.ended.Load() {
			calls.Add(1)
			stage.ask(t, stage.header, body)
			calls.Add(1)
		}
	})
}

func (h *hardCallers) stop() {
	h.ended.Store(true)
	h.running.Wait()
}

// underWay gives the number of the call that each caller has open, 0 for none.
func (h *hardCallers) underWay() []int64 {
	numbers := make([]int64, len(h.calls))
	for i, c := range h.calls {
		if n := c.Load(); n%2 == 1 {
			numbers[i] = n
		}
	}
	return numbers
}

// still reports whether one of the calls that were under way is.
func (h *hardCallers) still(before []int64) bool {
	for i, n := range before {
		if n != 0 && h.calls[i].Load() == n {
			return true
		}
	}
	return false
}

func (h *hardCallers) allAnswered() bool {
	for _, c := range h.calls {
		if c.Load() < 2 {
			return false
		}
	}
	return true
}

// Many callers of prompts that take the most memory have the service take no more than
// what is documented, beside what their bodies are.
func TestService_hard_prompts_are_bounded_in_memory(t *testing.T) {
	const callers = 12
	limits := config.Default().Limits
	size := int(limits.MaxObserveBodyBytes)
	if testing.Short() {
		size = 600 << 10
	}
	// The test makes and sends the bodies in the same process, so each is there five times:
	// sent, on the way, read, and as text, and being read takes two.
	most := int64(2*192*size) + int64(callers*5*size) + 256<<20
	peaktest.Within(t, most, func() func() {
		stage := newObserving(t)
		header := observeHeader(10_000)
		return func() {
			var running gosync.WaitGroup
			for i := range callers {
				running.Go(func() { stage.ask(t, header, mappings(i, size)) })
			}
			running.Wait()
			require.True(t, stage.hits(t, knownChat(0, 8*turnBytes)()))
		}
	})
}

// mappings is a chat of about n bytes with tools of a great many small values.
func mappings(i, n int) string {
	const entry = `{"":0}`
	before := fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":"%d"}],"tools":[{"type":"function","function":{"name":"f","description":"","parameters":{"a":[`, i)
	after := `]}}}]}`
	return before + entry + strings.Repeat(","+entry, (n-len(before)-len(after)-len(entry))/(len(entry)+1)) + after
}
