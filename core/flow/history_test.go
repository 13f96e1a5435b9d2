package flow

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

const byHistory = `"models":{"m":{"aliases":["n"],"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"cache_aware","source":"history"}}}}]}}`

// remembering is a context whose policy goes by history.
func remembering(t tester, members string, engines ...wire.Worker) *machine {
	t.Helper()
	cfg, err := spec.Decode([]byte(`{"version":1,"state":{"cluster":"s"},` + members + `}`))
	require.NoError(t, err)
	cfg = spec.Defaults(cfg)
	known, views := fleet.New(cfg.BreakerConfig(), cfg.Static()), &Views{}
	router, err := spec.Build(cfg, spec.Handles{Load: known, Bindings: views, Prefixes: views})
	require.NoError(t, err)
	m := &machine{Context: NewContext(cfg, router, known, 7), t: t}
	m.UseState(StateOf(cfg, router, views, 77))
	if len(engines) > 0 {
		m.apply(wire.SyncReply{Full: true, Workers: engines})
	}
	return m
}

// talk is a conversation, its turns long enough to count.
type talk struct {
	messages []map[string]string
	more     string // further members of the body
}

func say(n int, word string) string { return strings.Repeat(word+" ", n/(len(word)+1)) }

func (c *talk) add(role, content string) *talk {
	c.messages = append(c.messages, map[string]string{"role": role, "content": content})
	return c
}

func (c *talk) body() string {
	list, _ := json.Marshal(c.messages)
	return fmt.Sprintf(`{"model":"m"%s,"messages":%s}`, c.more, list)
}

// newTalk is a conversation after its first question.
func newTalk(id int) *talk {
	return (&talk{}).add("system", say(8000, "rules")).add("user", say(5000, fmt.Sprint("q", id)))
}

// send sends a conversation's next request, which must reach an engine without a
// call to the state service.
func (m *machine) send(c *talk) (*Request, core.WorkerID) {
	m.t.Helper()
	r, effects := m.chat(c.body())
	require.Equal(m.t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects))
	return r, r.Receipt().Chosen
}

// turn sends a request, ends it well and adds its answer and the next question.
func (m *machine) turn(c *talk) core.WorkerID {
	m.t.Helper()
	r, id := m.send(c)
	m.answer(r, 200)
	c.add("assistant", say(3000, "answer")).add("user", say(2000, "next"))
	return id
}

// Conversations stay where they began, with no callout, whatever they share. Those
// that begin together begin apart.
func TestHistory_conversations_stay(t *testing.T) {
	m := remembering(t, byHistory, engines(8)...)
	talks, at, open := make([]*talk, 40), map[int]core.WorkerID{}, []*Request{}
	used := map[core.WorkerID]int{}
	for i := range talks {
		talks[i] = newTalk(i)
		r, id := m.send(talks[i])
		open, at[i] = append(open, r), id
		used[id]++
	}
	for id, n := range used {
		require.LessOrEqual(t, n, 7, "%s: the mean and two", id)
	}
	for i, r := range open {
		m.answer(r, 200)
		talks[i].add("assistant", say(3000, "answer")).add("user", say(2000, "next"))
	}
	for range 3 {
		for i, c := range talks {
			require.Equal(t, at[i], m.turn(c), "conversation %d", i)
		}
	}
}

func TestHistory_receipt_has_the_depth(t *testing.T) {
	m, c := remembering(t, byHistory, engines(2)...), newTalk(1)
	r, id := m.send(c)
	require.Contains(t, r.Receipt().Describe(), string("chose "+id+" by no_cache_candidate of 2, holding 0 tokens by history ["))
	m.answer(r, 200)
	c.add("assistant", say(3000, "answer")).add("user", "and?")
	r, _ = m.send(c)
	require.InDelta(t, float64(r.Receipt().Input), r.Receipt().Matched.N, 20, "all but the last question")
	require.Contains(t, r.Receipt().Describe(), fmt.Sprintf("chose %s by cache_candidate of 2, holding %d tokens by history [", id, r.Receipt().Matched.N))
	m.answer(r, 200)
	require.Equal(t, uint64(1), m.Counters[firstCache+Counter(core.CacheHit)])
	require.Equal(t, uint64(1), m.Counters[firstCache+Counter(core.CacheMiss)])
}

// What an engine refused, or never got, it does not hold.
func TestHistory_failures_leave(t *testing.T) {
	for _, response := range []Event{
		{Status: 500},
		{Status: 429},
		{Status: 301},
		{Status: 503, Failure: true},
		{Status: 503, Own: true},
	} {
		m := remembering(t, byHistory, engines(2)...)
		r, _ := m.send(newTalk(1))
		require.NotZero(t, m.past.table.Entries())
		response.Kind = EventResponse
		r.Step(&response)
		require.Zero(t, m.past.table.Entries(), "%+v", response)
		r.Step(&Event{Kind: EventDone})
	}
}

// D11: other tools, another salt, other template arguments, another adapter: not
// the same prompt.
func TestHistory_namespaces(t *testing.T) {
	for _, more := range []string{
		`,"tools":[{"type":"function"}]`,
		`,"cache_salt":"x"`,
		`,"chat_template_kwargs":{"enable_thinking":false}`,
		`,"reasoning_effort":"high"`,
	} {
		m := remembering(t, byHistory, engines(2)...)
		m.turn(newTalk(1))
		other := newTalk(1)
		other.more = more
		r, _ := m.send(other)
		require.Equal(t, core.Known(0), r.Receipt().Matched, more)
		m.answer(r, 200)
		r, _ = m.send(other)
		require.NotZero(t, r.Receipt().Matched.N, "itself it is")
		m.answer(r, 200)
	}
}

// A restarted engine holds nothing.
func TestHistory_generation(t *testing.T) {
	m, c := remembering(t, byHistory, engines(1)...), newTalk(1)
	m.turn(c)
	again := engine(0)
	again.Generation = 2
	m.apply(wire.SyncReply{Workers: []wire.Worker{again}})
	r, _ := m.send(c)
	require.Equal(t, core.Known(0), r.Receipt().Matched)
}

// shelf is the shared data of one proxy.
type shelf struct {
	list map[uint64]wire.Run
	gets int
}

func (s *shelf) Put(tip uint64, id core.WorkerID, generation uint64) {
	s.list[tip] = wire.Run{Worker: id, Generation: generation}
}

func (s *shelf) Get(tip uint64) (core.WorkerID, uint64, bool) {
	s.gets++
	r, ok := s.list[tip]
	return r.Worker, r.Generation, ok
}

// Contexts of one proxy take each other's conversations over at once.
func TestHistory_contexts_of_a_proxy(t *testing.T) {
	shared := &shelf{list: map[uint64]wire.Run{}}
	var contexts []*machine
	for range 4 {
		m := remembering(t, byHistory, engines(8)...)
		m.UseShelf(shared)
		contexts = append(contexts, m)
	}
	for i := range 20 {
		c := newTalk(i)
		id := contexts[i%4].turn(c)
		for turn := range 5 {
			require.Equal(t, id, contexts[(i+turn*turn)%4].turn(c), "conversation %d, turn %d", i, turn)
		}
	}
	gets := shared.gets
	c := newTalk(0)
	contexts[0].turn(c)
	contexts[0].turn(c)
	require.LessOrEqual(t, shared.gets-gets, 4, "the shelf is asked on a miss only")
}

// Proxies take each other's conversations over with the next sync.
func TestHistory_proxies(t *testing.T) {
	a, b := remembering(t, byHistory, engines(8)...), remembering(t, byHistory, engines(8)...)
	for i := range 20 {
		c := newTalk(i)
		id := a.turn(c)
		for range 3 {
			b.Learn(a.Entered(), 0)
			require.Equal(t, id, b.turn(c), "conversation %d", i)
			a.Learn(b.Entered(), 0)
			require.Equal(t, id, a.turn(c), "conversation %d", i)
		}
	}
	require.Positive(t, b.Counters[HistoryImported])
	unknown := []wire.Run{{Worker: "gone", Hashes: []uint64{1}, Sizes: []uint16{1}}}
	before := b.past.table.Entries()
	b.Learn(unknown, 0)
	require.Equal(t, before, b.past.table.Entries())
}

// Without a policy that asks, nothing is kept.
func TestHistory_is_kept_only_where_it_is_asked_for(t *testing.T) {
	m := remembering(t, oneBucket, engines(2)...)
	m.UseShelf(&shelf{})
	m.turn(newTalk(1))
	require.Nil(t, m.past)
	require.Empty(t, m.Entered())
	m.Learn([]wire.Run{{Worker: "e0"}}, 0)
}

func TestAllocations_of_a_request_by_history(t *testing.T) {
	m := remembering(t, byHistory, engines(100)...)
	request := requestOf(chatBody(16 << 10))
	for range 5 {
		m.play(&request)
	}
	require.Zero(t, testing.AllocsPerRun(200, func() {
		m.play(&request)
		m.Entered()
	}))
}

func BenchmarkHistory(b *testing.B) {
	for _, workers := range []int{8, 1000} {
		b.Run(fmt.Sprintf("workers=%d/size=16k", workers), func(b *testing.B) {
			m := remembering(b, byHistory, engines(workers)...)
			request := requestOf(chatBody(16 << 10))
			b.ReportAllocs()
			for b.Loop() {
				m.play(&request)
			}
		})
	}
}
