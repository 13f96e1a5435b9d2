package tokenize_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/peaktest"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
)

// mostPerByte is what tokenizing may take for each byte of a body (README.md, Bounds), and
// beside for what does not go by the size.
const (
	mostPerByte = 192
	beside      = 16 << 20
)

// largest is the size of the largest bodies that the state service reads by default.
func largest() int {
	if testing.Short() {
		return 640 << 10
	}
	return 4 << 20
}

// memoryBodies are bodies of that size of which each byte takes much memory, or might.
func memoryBodies(t testing.TB, size int) map[string]string {
	list := func(before, part, after string) string {
		return before + part + strings.Repeat(","+part, (size-len(before)-len(after)-len(part))/(len(part)+1)) + after
	}
	chatOf := func(part string) string { return list(`{"model":"m","messages":[`, part, `]}`) }
	word := func(of string, n int) string { return strings.Repeat(of, n/len(of)) }
	return map[string]string{
		"a word of 4 MB":    chatBody(t, word("a", size-100)),
		"words of 1 MB":     chatBody(t, word(word("ab", size/4-1)+" ", size-100)),
		"NUL":               chatBody(t, word("\x00", size/6-100)),
		"messages":          chatOf(`{"role":"user","content":"x"}`),
		"bare messages":     chatOf(`{"role":"user"}`),
		"mappings in tools": list(`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","description":"","parameters":{"a":[`, `{"":0}`, `]}}}]}`),
		"lists of ids":      list(`{"model":"m","prompt":[`, `[1]`, `]}`),
		"texts":             list(`{"model":"m","prompt":[`, `"x"`, `]}`),
	}
}

func dialectOf(body string) chat.Dialect {
	if strings.Contains(body[:60], "messages") {
		return chat.DialectChat
	}
	return chat.DialectCompletions
}

// Whatever a body holds, its tokens take no more memory than is documented.
func TestHardBodiesAreBoundedInMemory(t *testing.T) {
	for name, body := range memoryBodies(t, largest()) {
		t.Run(name, func(t *testing.T) {
			peaktest.Within(t, mostPerByte*int64(largest())+beside, func() func() {
				m := trusted(t, "qwen3", render.VLLM, 1<<20)
				return func() {
					got, err := m.Tokens(t.Context(), dialectOf(body), body)
					require.NoError(t, err)
					require.Positive(t, got.Longest)
				}
			})
		})
	}
}

// Nor do many callers take more than those whose turn it is; small bodies have no turns.
func TestManyHardBodiesAreBoundedInMemory(t *testing.T) {
	large := largest()
	for name, tt := range map[string]struct{ size, callers, atOnce int }{
		"large":  {large, 8, 2},
		"middle": {large / 8, 48, 16},
		"small":  {large / 128, 256, 256},
	} {
		t.Run(name, func(t *testing.T) {
			body := memoryBodies(t, tt.size)["mappings in tools"]
			peaktest.Within(t, mostPerByte*int64(tt.atOnce*tt.size)+beside, func() func() {
				m := trusted(t, "qwen3", render.VLLM, 1<<20)
				return func() { tokenizeAtOnce(t, m, body, tt.callers) }
			})
		})
	}
}

func tokenizeAtOnce(t *testing.T, m *tokenize.Model, body string, callers int) {
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			got, err := m.Tokens(t.Context(), dialectOf(body), body)
			if err != nil || got.Longest == 0 {
				t.Error("no answer", got.Reason, err)
			}
		})
	}
	running.Wait()
}
