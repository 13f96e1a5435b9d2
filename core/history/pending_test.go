package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/history"
)

// due is what each engine was sent of a prompt that counts at an instant.
func due(p *history.Pending, path *history.Path, now core.Instant, engines ...*core.Worker) (list []uint64) {
	p.Lookup(path, now)
	for _, w := range engines {
		list = append(list, p.Depth(w))
	}
	return list
}

func TestPending_counts_for_its_time(t *testing.T) {
	p, a, b := history.NewPending(100), engine(0), engine(1)
	first, second := chat(text("system", 1500), "one"), chat(text("system", 1500), "two")
	p.Enter(a, first, 1000)
	require.Equal(t, []uint64{1503, 0}, due(p, first, 1099, a, b))
	require.Equal(t, []uint64{1500, 0}, due(p, second, 1099, a, b), "what both begin with")
	p.Enter(a, second, 1050)
	require.Equal(t, []uint64{1500, 0}, due(p, first, 1100, a, b), "the second one used it again")
	require.Equal(t, []uint64{0, 0}, due(p, second, 1150, a, b))
	require.Zero(t, p.Entries())
	require.False(t, p.Lookup(second, 1150).Found)
}

func TestPending_takes_back(t *testing.T) {
	p, a := history.NewPending(100), engine(0)
	first, second := chat("system", "one"), chat("system", "two")
	refused := p.Enter(a, first, 0)
	p.Enter(a, second, 0)
	p.Leave(a, first, refused)
	require.Equal(t, []uint64{6}, due(p, first, 1, a), "what another request was sent stays")
	p.Leave(a, first, history.Mark{})
	require.Equal(t, 2, p.Entries())
}

// A restarted engine was sent nothing, and another one in its place neither.
func TestPending_generations(t *testing.T) {
	p, path := history.NewPending(100), chat("system", "one")
	p.Enter(&core.Worker{ID: "a", Generation: 1}, path, 0)
	for life, w := range map[string]*core.Worker{
		"restarted": {ID: "a", Generation: 2},
		"another":   {ID: "b", Generation: 1},
	} {
		require.Equal(t, []uint64{0}, due(p, path, 1, w), life)
	}
	again := &core.Worker{ID: "a", Generation: 2}
	p.Enter(again, chat("other"), 50)
	require.Equal(t, []uint64{0}, due(p, path, 60, again))
	require.Equal(t, []uint64{5}, due(p, chat("other"), 120, again), "the end of the former life's time is nobody's")
}

func TestPending_is_bounded(t *testing.T) {
	p, w := history.NewPending(1<<40), engine(0)
	long := text("long", 40<<10)
	for i := range 20_000 {
		p.Enter(w, chat(fmt.Sprint(i), long), 0)
	}
	require.LessOrEqual(t, p.Entries(), history.PendingEntries)
	require.Less(t, p.Bytes(), 6<<20)
	last := chat(fmt.Sprint(19_999), long)
	require.Equal(t, []uint64{last.Bytes()}, due(p, last, 1, w))
	before := p.Bytes()
	for i := range 20_000 {
		p.Enter(w, chat(fmt.Sprint("more", i), long), 1)
	}
	require.Equal(t, before, p.Bytes())
}

// It knows what a list of all that was sent knows.
func TestPending_against_a_list(t *testing.T) {
	type sent struct {
		w        int
		messages []string
		ends     core.Instant
	}
	rapid.Check(t, func(t *rapid.T) {
		const ttl = 10
		p, now, list := history.NewPending(ttl), core.Instant(0), []sent(nil)
		engines := []*core.Worker{engine(0), engine(1), engine(2)}
		messages := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", text("long", 1500)}), 1, 4)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now += core.Instant(rapid.IntRange(0, 4).Draw(t, "later"))
			m, w := messages.Draw(t, "messages"), rapid.IntRange(0, 2).Draw(t, "engine")
			if rapid.Bool().Draw(t, "send") {
				p.Enter(engines[w], chat(m...), now)
				list = append(list, sent{w: w, messages: m, ends: now + ttl})
			}
			want := make([]uint64, len(engines))
			for _, s := range list {
				if s.ends > now {
					want[s.w] = max(want[s.w], common(s.messages, m))
				}
			}
			require.Equal(t, want, due(p, chat(m...), now, engines...))
		}
	})
}

// common is the bytes up to the last boundary that two prompts have in common.
func common(a, b []string) (n uint64) {
	first, second := boundaries(a), boundaries(b)
	for i := range min(len(first), len(second)) {
		if first[i] != second[i] {
			break
		}
		n = uint64(len(first[i]))
	}
	return n
}

func TestPending_allocates_nothing_once_grown(t *testing.T) {
	p, now := history.NewPending(50), core.Instant(0)
	paths := make([]*history.Path, 100)
	for i := range paths {
		paths[i] = chat(strings.Repeat("s", 4000), fmt.Sprint("user ", i))
	}
	engines := []*core.Worker{engine(0), engine(1)}
	step := func() {
		for i, path := range paths {
			now++
			p.Lookup(path, now)
			p.Enter(engines[i%len(engines)], path, now)
		}
	}
	step()
	step()
	require.Zero(t, testing.AllocsPerRun(20, step))
}
