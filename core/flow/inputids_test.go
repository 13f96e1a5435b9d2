package flow

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// forwarding routes model "m", whose chats are forwarded with their ids, with further
// settings of the model and of the top level.
func forwarding(top, model string) string {
	return top + `"models":{"m":{"input_ids":{"max_tokens":4},` + model + `"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"round_robin"}}}}]}}`
}

// readers are engines that take ids beside messages.
func readers(n int) []wire.Worker {
	list := sglangs(n)
	for i := range list {
		list[i].InputIDs = true
	}
	return list
}

// ids is an answer with the ids of a chat.
func ids(list ...uint32) *wire.ObserveReply {
	return &wire.ObserveReply{InputIDs: wire.InputIDs{Verdict: wire.InputIDsGiven, IDs: list}}
}

// forward sends a chat whose ids are asked for, and gives what its engine gets.
func (m *machine) forward(body string, reply *wire.ObserveReply) string {
	m.t.Helper()
	r, effects := m.chat(body)
	require.Equal(m.t, []EffectKind{EffectObserve, EffectPause}, kinds(effects))
	require.Equal(m.t, uint32(4), effects[0].Observe.InputIDs)
	require.False(m.t, effects[0].Observe.Tokens, "no length is needed")
	require.True(m.t, effects[0].WithBody)
	return spliced(m.t.(*testing.T), body, r.Step(&Event{Kind: EventObserved, Now: m.now, Call: effects[0].Call, Observed: reply}))
}

// untouched sends a chat that its engine must get as it came.
func (m *machine) untouched(body string, reply *wire.ObserveReply) {
	m.t.Helper()
	require.Equal(m.t, body, m.forward(body, reply))
}

func (m *machine) idsCount(o idsOutcome) uint64 { return m.Counters[firstInputIDs+Counter(o)] }

// plainChat is a chat, and chatOf all of it but its end.
const (
	chatOf    = `{"model":"m","messages":[]`
	plainChat = chatOf + "}"
)

// The ids stand before the closing brace, behind the rid and the sampling parameters
// (engine-selection.md 12.4). All other bytes stay.
func TestInputIDs_are_spliced(t *testing.T) {
	const abort, sampling = `"abort":{"cluster":"engines"},`, `"sampling":{"override":{"temperature":0.6}},`
	for _, tt := range []struct{ top, model, body, want string }{
		{"", "", chatOf + `}`, chatOf + `,"input_ids":[0,7,4294967295]}`},
		{"", "", "\n " + chatOf + " \n} ", "\n " + chatOf + " \n,\"input_ids\":[0,7,4294967295]} "},
		{"", "", chatOf + `,"input_ids":null}`, chatOf + `,"input_ids":null,"input_ids":[0,7,4294967295]}`},
		{"", sampling, chatOf + `}`, chatOf + `,"temperature":0.6,"input_ids":[0,7,4294967295]}`},
		{abort, "", chatOf + `}`, `{"rid":"RID","model":"m","messages":[],"input_ids":[0,7,4294967295]}`},
		{abort, sampling, chatOf + `}`, `{"rid":"RID","model":"m","messages":[],"temperature":0.6,"input_ids":[0,7,4294967295]}`},
		{abort, sampling, chatOf + `,"rid":null}`, chatOf + `,"rid":null,"rid":"RID","temperature":0.6,"input_ids":[0,7,4294967295]}`},
	} {
		m := remembering(t, forwarding(tt.top, tt.model), readers(2)...)
		after := m.forward(tt.body, ids(0, 7, 1<<32-1))
		if found := ridText.FindStringSubmatch(after); found != nil {
			after = strings.Replace(after, found[1], "RID", 1)
		}
		require.Equal(t, tt.want, after)
		require.Equal(t, uint64(1), m.idsCount(idsOutcome(wire.InputIDsGiven)))
	}
}

// Without ids that are good for it the original body goes on, and the reason is counted.
func TestInputIDs_original_body(t *testing.T) {
	for name, tt := range map[string]struct {
		engine  wire.Worker
		reply   *wire.ObserveReply
		outcome string
	}{
		"no answer":         {readers(1)[0], nil, "unavailable"},
		"an older service":  {readers(1)[0], &wire.ObserveReply{}, "unavailable"},
		"given, and none":   {readers(1)[0], ids(), "unavailable"},
		"tools":             {readers(1)[0], &wire.ObserveReply{InputIDs: wire.InputIDs{Verdict: wire.InputIDsTools}}, "tools"},
		"refused, with ids": {readers(1)[0], &wire.ObserveReply{InputIDs: wire.InputIDs{Verdict: wire.InputIDsUnverified, IDs: []uint32{1}}}, "unverified"},
		"the client's":      {readers(1)[0], &wire.ObserveReply{InputIDs: wire.InputIDs{Verdict: wire.InputIDsCaller}}, "caller_input_ids"},
		"more than asked":   {readers(1)[0], ids(1, 2, 3, 4, 5), "too_long"},
		"another engine":    {sglangs(1)[0], ids(1), "engine"},
	} {
		t.Run(name, func(t *testing.T) {
			m := remembering(t, forwarding("", ""), tt.engine)
			m.untouched(plainChat, tt.reply)
			for o := range idsOutcomeCount {
				require.Equal(t, o.String() == tt.outcome, m.idsCount(o) == 1, o.String())
			}
		})
	}
}

// A late answer is no answer.
func TestInputIDs_late(t *testing.T) {
	m := remembering(t, forwarding("", ""), readers(1)...)
	r, effects := m.chat(chatOf + `}`)
	m.now += DefaultCallTimeout
	require.Equal(t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(r.Step(&Event{Kind: EventTick, Now: m.now})))
	require.Empty(t, r.Step(&Event{Kind: EventObserved, Now: m.now, Call: effects[0].Call, Observed: ids(1)}))
	require.Equal(t, uint64(1), m.idsCount(idsOutcome(wire.InputIDsUnavailable)))
}

// A spare engine gets the same body, so all that are named must read ids.
func TestInputIDs_spares(t *testing.T) {
	fleet := readers(3)
	m := remembering(t, forwarding(`"transport_retry":true,`, ""), fleet...)
	require.Contains(t, m.forward(chatOf+`}`, ids(1)), `"input_ids":[1]`)
	fleet[2].InputIDs = false
	m.apply(wire.SyncReply{Full: true, Workers: fleet})
	require.NotContains(t, m.forward(chatOf+`}`, ids(1)), `"input_ids"`)
	require.Equal(t, uint64(1), m.idsCount(idsEngine))
}

// Nobody is asked where the option is off, where the request is no chat, where its body
// cannot be shown, and for a while where nothing can tell.
func TestInputIDs_not_asked(t *testing.T) {
	direct := []EffectKind{EffectRoute, EffectContinue, EffectReceipt}
	m := remembering(t, oneBucket, readers(1)...)
	_, effects := m.chat(chatOf + `}`)
	require.Equal(t, direct, kinds(effects))

	m = remembering(t, forwarding("", ""), readers(1)...)
	_, effects = m.post("/v1/completions", `{"model":"m","prompt":"p"}`)
	require.Equal(t, direct, kinds(effects))
	for o := range idsOutcomeCount {
		require.Zero(t, m.idsCount(o), "no chat is counted")
	}
	_, effects = m.chat(chatOf + `,"user":"` + strings.Repeat("u", DefaultObserveMaxBody) + `"}`)
	require.Equal(t, direct, kinds(effects))
	require.Equal(t, uint64(1), m.idsCount(idsOutcome(wire.InputIDsTooLong)))

	m.untouched(plainChat, &wire.ObserveReply{Uncounted: true})
	_, effects = m.chat(chatOf + `}`)
	require.Equal(t, direct, kinds(effects))
	require.Equal(t, uint64(2), m.idsCount(idsOutcome(wire.InputIDsUnavailable)))
	m.now += recount
	require.Contains(t, m.forward(chatOf+`}`, ids(3)), `"input_ids":[3]`)
}

// The prefix is looked up in the same call.
func TestInputIDs_with_lookups(t *testing.T) {
	members := strings.Replace(byIndex(""), `{"buckets"`, `{"input_ids":{},"buckets"`, 1)
	m := remembering(t, members, readers(4)...)
	r, effects := m.chat(short().body())
	require.Equal(t, []string{"local"}, effects[0].Observe.Sources)
	require.Equal(t, uint32(1<<15), effects[0].Observe.InputIDs)
	reply := ids(5, 6)
	l := hit(wire.Depth{Worker: "e2", Blocks: 1600})
	l.Source = "local"
	reply.Lookups = []wire.Lookup{l}
	effects = r.Step(&Event{Kind: EventObserved, Now: m.now, Call: effects[0].Call, Observed: reply})
	require.Contains(t, spliced(t, short().body(), effects), `,"input_ids":[5,6]}`)
	require.Equal(t, core.WorkerID("e2"), r.Receipt().Chosen)
	r.Step(&Event{Kind: EventDone})
	require.Zero(t, r.ids)
	require.Zero(t, r.inserts, "what a request was given does not outlive it")
}
