package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/history"
)

// oracle is what a Table should know, kept in the plainest way: boundaries are
// the texts up to them, and each engine has a list in the order of last use.
type oracle struct {
	ways    map[string]map[string]bool // boundary -> how prompts went on
	engines []*oracleEngine
	endings int
}

type oracleEngine struct {
	held     []string // newest first
	tips     map[string]bool
	capacity int
}

// boundaries lists the texts up to each boundary.
func boundaries(messages []string) (list []string) {
	var text string
	for _, m := range messages {
		for ; len(m) > history.Chunk; m = m[history.Chunk:] {
			text += m[:history.Chunk]
			list = append(list, text)
		}
		text += m
		list = append(list, text)
	}
	return list
}

func (o *oracle) enter(w int, messages []string) {
	e, list := o.engines[w], boundaries(messages)
	for at, b := range slices.Backward(list) {
		e.held = slices.DeleteFunc(e.held, func(s string) bool { return s == b })
		e.held = slices.Insert(e.held, 0, b)
		if o.ways[b] == nil {
			o.ways[b] = map[string]bool{}
		}
		if at+1 < len(list) {
			o.ways[b][list[at+1]] = true
			continue
		}
		o.endings++
		o.ways[b][fmt.Sprint("ending ", o.endings)] = true
		e.tips[b] = true
	}
	for len(e.held) > 1 && o.bytes(e) > e.capacity {
		last := e.held[len(e.held)-1]
		delete(e.tips, last)
		e.held = e.held[:len(e.held)-1]
		if !o.holds(last) {
			delete(o.ways, last)
		}
	}
}

func (o *oracle) holds(b string) bool {
	return slices.ContainsFunc(o.engines, func(e *oracleEngine) bool { return slices.Contains(e.held, b) })
}

// bytes is what an engine holds. The last piece of a text begins where its last// message does, cut in chunks.
// themselves: every message begins with a length of its own.
func (o *oracle) bytes(e *oracleEngine) (sum int) {
	for _, b := range e.held {
		tail := b[strings.LastIndexByte(b, '<'):]
		n := len(tail) % history.Chunk
		if n == 0 {
			n = history.Chunk
		}
		sum += n
	}
	return sum
}

func (o *oracle) depth(w int, messages []string) (depth int) {
	e, list := o.engines[w], boundaries(messages)
	var text string
	after := map[string]int{} // an answer's end by the text before it
	for _, m := range messages {
		if strings.HasPrefix(m, "<A") && text != "" {
			after[text] = len(text) + len(m)
		}
		text += m
	}
	for _, b := range list {
		if !o.holds(b) {
			break
		}
		if slices.Contains(e.held, b) {
			depth = max(depth, len(b))
			if e.tips[b] {
				depth = max(depth, after[b])
			}
		}
	}
	return depth
}

func (o *oracle) shared(messages []string) (shared int) {
	list := boundaries(messages)
	for at, b := range list {
		if !o.holds(b) {
			break
		}
		ways, way := len(o.ways[b]), "its own ending"
		if at+1 < len(list) {
			way = list[at+1]
		}
		if !o.ways[b][way] {
			ways++
		}
		if ways >= 3 {
			shared = len(b)
		}
	}
	return shared
}

// drawPrompt draws a conversation from few messages, so that prompts meet.
func drawPrompt(t *rapid.T) []string {
	kinds := rapid.SampledFrom([]string{"A", "u", "s"})
	sizes := rapid.SampledFrom([]int{3, 40, 1023, 1024, 1025, 2500})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		m := "<" + kinds.Draw(t, "kind")
		return m + strings.Repeat("x", sizes.Draw(t, "size")-len(m))
	}), 1, 4).Draw(t, "prompt")
}

func TestTable_is_as_the_oracle_says(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const engines = 3
		o, table := &oracle{ways: map[string]map[string]bool{}}, history.New(0)
		var list []*core.Worker
		for w := range engines {
			o.engines = append(o.engines, &oracleEngine{tips: map[string]bool{}, capacity: rapid.SampledFrom([]int{40, 4000, 9000, 1 << 20}).Draw(t, "capacity")})
			list = append(list, engine(w))
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			messages := drawPrompt(t)
			p := &history.Path{}
			p.Reset(&ns)
			for _, m := range messages {
				p.Message(m, strings.HasPrefix(m, "<A"))
			}
			least := rapid.SampledFrom([]uint64{0, 40, 1024, 3000, 1 << 20}).Draw(t, "least")
			match := table.Lookup(p, least)
			require.Equal(t, len(strings.Join(messages, "")), int(match.Bytes))
			require.Equal(t, o.shared(messages), int(match.Shared))
			for i, h := range table.Holders() {
				if depth := table.Depth(h); depth >= least {
					require.Equal(t, depth, table.Depths()[i])
				}
			}
			for w := range engines {
				if o.depth(w, messages) >= max(1, int(least)) {
					require.Contains(t, table.Holders(), list[w])
				}
				require.Equal(t, o.depth(w, messages), int(table.Depth(list[w])), "engine %d, %.30q", w, messages)
			}
			w := rapid.IntRange(0, engines-1).Draw(t, "engine")
			table.Enter(list[w], p, core.Known(uint64(o.engines[w].capacity/history.BytesPerToken)))
			o.enter(w, messages)
		}
	})
}
