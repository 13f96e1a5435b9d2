package history_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/history"
	"github.com/pointsman/pointsman/core/wire"
)

var ns = history.Namespace{Model: "m"}

func engine(slot int) *core.Worker {
	return &core.Worker{ID: core.WorkerID(fmt.Sprintf("w%d", slot)), Slot: slot}
}

// chat is a path of messages; one that begins with "A:" is an engine's answer.
func chat(messages ...string) *history.Path {
	p := &history.Path{}
	p.Reset(&ns)
	for _, m := range messages {
		p.Message(m, strings.HasPrefix(m, "A:"))
	}
	return p
}

func text(tag string, n int) string { return strings.Repeat(tag+" ", n/(len(tag)+1)+1)[:n] }

// depths is what each engine holds of a prompt.
func depths(t *history.Table, p *history.Path, engines ...*core.Worker) (list []uint64) {
	t.Lookup(p, 0)
	for _, w := range engines {
		list = append(list, t.Depth(w))
	}
	return list
}

func TestPath_boundaries(t *testing.T) {
	p := chat(text("system", 2500), "hi")
	require.Equal(t, 4, p.Len(), "two chunks, the end of the first message, the second")
	require.Equal(t, uint64(2502), p.Bytes())
	require.Equal(t, 2, chat(text("x", 2048)).Len(), "an end on a chunk's end is one boundary")
	require.Zero(t, (&history.Path{}).Len())

	p.Reset(&ns)
	p.Rest(text("prompt", 2500))
	require.Equal(t, 2, p.Len(), "a text that may go on has no boundary at its end")
	require.Equal(t, uint64(2500), p.Bytes())
}

// A text that goes on has the boundaries of what it was before.
func TestPath_text_that_grows(t *testing.T) {
	before, now := &history.Path{}, &history.Path{}
	before.Reset(&ns)
	now.Reset(&ns)
	all := text("prompt", 5000)
	before.Rest(all[:3500])
	now.Rest(all)
	require.Equal(t, 4, now.Len())
	require.Equal(t, before.Tip(), now.Hash(before.Len()-1))
}

func TestPath_is_bounded(t *testing.T) {
	p := chat(text("long", 300*history.Chunk), "tail")
	require.Equal(t, history.MaxBoundaries, p.Len())
	require.Equal(t, uint64(300*history.Chunk+4), p.Bytes())
	many := make([]string, 100_000)
	for i := range many {
		many[i] = "x"
	}
	require.Equal(t, history.MaxBoundaries, chat(many...).Len())
}

func TestPath_namespaces_are_apart(t *testing.T) {
	seen := map[uint64]history.Namespace{}
	for _, n := range []history.Namespace{
		{},
		{Model: "m"},
		{Adapter: "m"},
		{Salt: "m"},
		{Template: "m"},
		{Dialect: 1},
		{Model: "m", Adapter: "m"},
		{Model: "mm"},
		{Model: "m", Salt: "m"},
	} {
		p := &history.Path{}
		p.Reset(&n)
		p.Message("hello", false)
		require.NotContains(t, seen, p.Tip(), "%+v", n)
		seen[p.Tip()] = n
	}
}

func TestPath_turns(t *testing.T) {
	p := chat("sys", "u1", "A: a1", "u2", "A: call", "tool", "A: a2", text("u3", 1500))
	require.Equal(t, []int{5, 3, 1}, p.AppendTurns(nil, 8), "what stands before an engine's answers, latest first")
	require.Equal(t, []int{5}, p.AppendTurns(nil, 1))
	require.Equal(t, chat("sys", "u1").Tip(), p.Hash(1))
}

func TestTable_growing_chat(t *testing.T) {
	table, a, b := history.New(0), engine(0), engine(1)
	first := chat("sys", "u1")
	require.False(t, table.Lookup(first, 0).Found)
	_, fresh := table.Enter(a, first, core.Count{})
	require.Zero(t, fresh)
	require.Equal(t, []uint64{5, 0}, depths(table, first, a, b))

	second := chat("sys", "u1", "A: generated", "u2")
	require.Equal(t, []uint64{17, 0}, depths(table, second, a, b), "the answer was generated there")
	require.Equal(t, []uint64{5, 0}, depths(table, chat("sys", "u1", "somebody else's", "u2"), a, b))
	_, fresh = table.Enter(a, second, core.Count{})
	require.Equal(t, 2, fresh)
	require.Equal(t, []uint64{19, 0}, depths(table, second, a, b))
	require.Equal(t, []uint64{3, 0}, depths(table, chat("sys", "A: u1"), a, b), "no prompt ended before this answer")
}

func TestTable_shared(t *testing.T) {
	table, a := history.New(0), engine(0)
	for i, want := range []uint64{0, 0, 3, 3, 3} {
		p := chat("sys", fmt.Sprintf("user %d", i))
		require.Equal(t, want, table.Lookup(p, 0).Shared, i)
		table.Enter(a, p, core.Count{})
		table.Enter(a, chat("sys", "user 0"), core.Count{})
	}
}

// A prompt sent again and again is nobody's conversation.
func TestTable_same_prompt_is_shared(t *testing.T) {
	table, a, p := history.New(0), engine(0), chat("sys", "same")
	for range 2 {
		require.Zero(t, table.Lookup(p, 0).Shared)
		table.Enter(a, p, core.Count{})
	}
	require.Equal(t, history.Match{Found: true, Bytes: 7, Shared: 7, Deepest: 7}, table.Lookup(p, 0))
}

func TestTable_leave(t *testing.T) {
	table, a, b := history.New(0), engine(0), engine(1)
	short, long := chat("sys", "u1"), chat("sys", "u1", "A: a1", "u2")
	table.Enter(a, short, core.Count{})
	mark, _ := table.Enter(a, long, core.Count{})
	table.Leave(b, long, mark)
	table.Leave(a, long, history.Mark{})
	require.Equal(t, []uint64{12}, depths(table, long, a))
	table.Leave(a, long, mark)
	require.Equal(t, []uint64{10}, depths(table, long, a), "what it held before stays, and the answer")

	mark, _ = table.Enter(a, long, core.Count{})
	table.Enter(a, chat("sys", "u1", "A: a1", "u2", "A: a2", "u3"), core.Count{})
	table.Leave(a, long, mark)
	require.Equal(t, []uint64{12}, depths(table, long, a), "another dispatch has used it since")
}

func TestTable_generations(t *testing.T) {
	table, p := history.New(0), chat("sys", "u1")
	unknown, first, second := engine(0), engine(0), engine(0)
	first.Generation, second.Generation = 1, 2
	mark, _ := table.Enter(first, p, core.Count{})
	require.Equal(t, []uint64{5, 5, 0}, depths(table, p, unknown, first, second))
	table.Enter(second, chat("other"), core.Count{})
	require.Equal(t, []uint64{0, 0}, depths(table, p, first, second))
	table.Leave(first, p, mark)
	require.Equal(t, 1, table.Entries())

	other := engine(0)
	other.ID = "elsewhere"
	require.Equal(t, []uint64{0, 5}, depths(table, chat("other"), other, second), "another engine in the same slot")
	require.Zero(t, table.Depth(engine(77)))
	require.Zero(t, table.Depth(&core.Worker{Slot: -1}))
}

// Capacity is in tokens of four bytes; the oldest prompts go, ends first.
func TestTable_capacity(t *testing.T) {
	table, a := history.New(0), engine(0)
	prompt := func(i int) *history.Path { return chat(text("system", 1024), text(fmt.Sprint("user", i), 1024)) }
	for i := range 5 {
		table.Enter(a, prompt(i), core.Known(4*1024/history.BytesPerToken))
	}
	for i, want := range []uint64{1024, 1024, 2048, 2048, 2048} {
		require.Equal(t, []uint64{want}, depths(table, prompt(i), a), i)
	}
	table.Enter(a, prompt(5), core.Count{})
	require.Equal(t, []uint64{1024}, depths(table, prompt(2), a), "a missing report changes nothing")
}

func TestTable_runs_of_other_proxies(t *testing.T) {
	here, there, a := history.New(0), history.New(0), engine(0)
	a.Generation = 7
	var out history.Outbox
	send := func(p *history.Path) {
		_, fresh := here.Enter(a, p, core.Count{})
		out.Add(a, p, fresh)
	}
	send(chat("sys", "u1"))
	send(chat("sys", "u1", "A: a1", "u2"))
	send(chat("sys", "u1", "A: a1", "u2"))
	runs := out.Drain()
	require.Len(t, runs, 2, "only what is new")
	require.Len(t, runs[1].Hashes, 2)
	for i := range runs {
		there.Import(a, &runs[i], core.Count{})
	}
	third := chat("sys", "u1", "A: a1", "u2", "A: a2", "u3")
	require.Equal(t, depths(here, third, a), depths(there, third, a))
	require.Equal(t, []uint64{17}, depths(there, third, a))
	require.Empty(t, out.Drain())

	bad := runs[0]
	for _, change := range []func(r *wire.Run){
		func(r *wire.Run) { r.Generation = 8 },
		func(r *wire.Run) { r.Sizes = r.Sizes[:1] },
		func(r *wire.Run) { r.Hashes, r.Sizes = nil, nil },
		func(r *wire.Run) { r.Sizes = []uint16{0, 9} },
		func(r *wire.Run) { r.Sizes = []uint16{history.Chunk + 1, 9} },
		func(r *wire.Run) { r.Hashes, r.Sizes = make([]uint64, 300), make([]uint16, 300) },
	} {
		run, empty := bad, history.New(0)
		change(&run)
		empty.Import(a, &run, core.Count{})
		require.Zero(t, empty.Entries())
	}
}

func TestTable_learns_a_turn(t *testing.T) {
	table, a := history.New(0), engine(0)
	p := chat("sys", "u1", "A: a1", "u2")
	turns := p.AppendTurns(nil, 4)
	table.Learn(a, p, turns[0])
	require.Equal(t, []uint64{10}, depths(table, p, a), "all that was sent, and the answer")
}

func TestOutbox_is_bounded(t *testing.T) {
	var out history.Outbox
	for i := range 10 {
		p := chat(text(fmt.Sprint(i), 200*history.Chunk))
		out.Add(engine(0), p, 0)
	}
	require.Len(t, out.Drain(), 5)
	require.Equal(t, uint64(1000), out.Dropped())
	out.Add(engine(0), chat("x"), 1)
	require.Empty(t, out.Drain(), "nothing new")
}

// However many prompts and engines, a table keeps its bound and its memory.
func TestTable_is_bounded(t *testing.T) {
	table := history.New(2048)
	var bytes int
	for i := range 20_000 {
		table.Enter(engine(i%300), chat("sys", text(fmt.Sprint("user", i), 4000)), core.Count{})
		require.LessOrEqual(t, table.Entries(), 2048+1)
		if i == 5000 {
			bytes = table.Bytes()
		}
	}
	require.Equal(t, bytes, table.Bytes())
	require.Less(t, bytes, 400_000)
	require.Greater(t, table.Entries(), 1000)
}

func TestTable_many_engines_of_one_prompt(t *testing.T) {
	table, p := history.New(0), chat("sys", "u")
	for i := range 100 {
		table.Enter(engine(i), p, core.Count{})
	}
	require.Equal(t, 32, table.Entries(), "the latest sixteen")
	require.Equal(t, []uint64{0, 4, 4}, depths(table, p, engine(83), engine(84), engine(99)))
}

func TestTable_allocates_nothing(t *testing.T) {
	table, out := history.New(4096), &history.Outbox{}
	p, i := &history.Path{}, 0
	bodies := make([]string, 300)
	for k := range bodies {
		bodies[k] = text(fmt.Sprint("user", k), 9000)
	}
	engines := make([]*core.Worker, 50)
	for k := range engines {
		engines[k] = engine(k)
	}
	request := func() {
		i++
		w := engines[i*7%50]
		p.Reset(&ns)
		p.Message("sys", false)
		p.Message(bodies[i%300], i%2 == 0)
		table.Lookup(p, 0)
		mark, fresh := table.Enter(w, p, core.Known(100_000))
		out.Add(w, p, fresh)
		if i%10 == 0 {
			table.Leave(w, p, mark)
			out.Drain()
		}
	}
	for range 3000 {
		request()
	}
	require.Zero(t, testing.AllocsPerRun(1000, request))
}
