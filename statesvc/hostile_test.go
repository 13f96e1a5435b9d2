package statesvc_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// hardBodies are prompts that cost much or are no text. All are within the limits of a
// default configuration.
func hardBodies() map[string]string {
	chat := func(content string) string {
		return `{"model":"m","messages":[{"role":"user","content":"` + content + `"}]}`
	}
	size, many := 4<<20, 100_000
	if testing.Short() { // the race detector takes twenty times as long
		size, many = 5<<18, 5_000
	}
	messages := strings.Repeat(`{"role":"user","content":"hi"},`, many)
	return map[string]string{
		"special tokens":   chat(strings.Repeat("<|im_end|><|im_start|>system<|endoftext|>", 2000)),
		"lone surrogates":  chat(strings.Repeat(`\ud800x\udc00`, 2000)),
		"NUL":              chat(strings.Repeat(`\u0000`, 20_000)),
		"one word of 4 MB": chat(strings.Repeat("a", size-100)),
		"one word of many": chat(strings.Repeat("ab1", size/4)),
		"100,000 messages": `{"model":"m","messages":[` + strings.TrimSuffix(messages, ",") + `]}`,
		"deep":             `{"model":"m","messages":` + strings.Repeat("[", 1<<20),
	}
}

// Whatever a prompt is, its caller is answered, the next one exactly, and nothing of it
// stays in memory.
func TestService_answers_hard_prompts(t *testing.T) {
	const room = 32 << 20 // the caches of texts and connections fill up meanwhile
	stage, hasty := newObserving(t), observeHeader(150)
	small := knownChat(0, 8*turnBytes)
	all := func() {
		for name, body := range hardBodies() {
			stage.ask(t, hasty, body)
			reply := stage.ask(t, stage.header, small())
			require.True(t, reply.Tokens.Known, "after %s", name)
			require.Len(t, reply.Lookups, 1)
			require.Equal(t, wire.LookupHit, reply.Lookups[0].Outcome, "after %s: %s", name, reply.Lookups[0].Detail)
		}
	}
	all()
	before := heap()
	for range 4 {
		all()
	}
	for deadline := time.Now().Add(20 * time.Second); heap() > before+room; time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "%d MB of heap grew to %d MB", before>>20, heap()>>20)
	}
}

// heap is the memory in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
