package flow

import (
	"regexp"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

const aborting = `"abort":{"cluster":"engines"},"paths":["/v1/chat/completions","/v1/completions","/generate","/v1/responses","/v1/messages","/v1/embeddings"],` + oneBucket

// sglangs are engines that end requests by rid.
func sglangs(n int) []wire.Worker {
	list := engines(n)
	for i := range list {
		list[i].Aborts = true
	}
	return list
}

var ridText = regexp.MustCompile(`"rid":"([0-9a-f]{32})"`)

// named sends a request and gives the rid it was given, empty for none, and the
// body its engine gets with the rid's place marked.
func (m *machine) named(path, body string) (r *Request, rid, after string) {
	m.t.Helper()
	r, effects := m.post(path, body)
	after = spliced(m.t.(*testing.T), body, effects)
	if found := ridText.FindStringSubmatch(after); found != nil && !strings.Contains(body, found[1]) {
		rid = found[1]
	}
	return r, rid, strings.ReplaceAll(after, rid+`"`, `RID"`)
}

func TestRid_is_given(t *testing.T) {
	const sampling = `"sampling":{"override":{"temperature":0.6}},`
	withSampling := strings.Replace(aborting, `{"buckets"`, `{`+sampling+`"buckets"`, 1)
	for _, tt := range []struct{ members, path, body, want string }{
		{aborting, chatPath, `{"model":"m"}`, `{"rid":"RID","model":"m"}`},
		{aborting, chatPath, "\n { \"model\":\"m\"}", "\n {\"rid\":\"RID\", \"model\":\"m\"}"},
		{aborting, chatPath, `{"model":"m","rid":null}`, `{"model":"m","rid":null,"rid":"RID"}`},
		{aborting, "/v1/completions", `{"model":"m","prompt":"p","n":1}`, `{"rid":"RID","model":"m","prompt":"p","n":1}`},
		{aborting, "/v1/embeddings", `{"model":"m","input":"i"}`, `{"rid":"RID","model":"m","input":"i"}`},
		{aborting, "/generate", `{"text":"t"}`, `{"rid":"RID","text":"t"}`},
		{aborting, "/generate", `{}`, `{"rid":"RID"}`},
		{withSampling, chatPath, `{"model":"m"}`, `{"rid":"RID","model":"m","temperature":0.6}`},
		{withSampling, chatPath, `{"rid":null,"model":"m"}`, `{"rid":null,"model":"m","rid":"RID","temperature":0.6}`},
		{withSampling, "/generate", `{"sampling_params":{"top_k":2},"text":"t"}`, `{"rid":"RID","sampling_params":{"top_k":2,"temperature":0.6},"text":"t"}`},
		{withSampling, "/generate", `{"sampling_params":{"top_k":2},"rid":null}`, `{"sampling_params":{"top_k":2,"temperature":0.6},"rid":null,"rid":"RID"}`},
		{withSampling, "/generate", `{}`, `{"rid":"RID","sampling_params":{"temperature":0.6}}`},
		{withSampling, "/generate", `{"text":"t"}`, `{"rid":"RID","text":"t","sampling_params":{"temperature":0.6}}`},
	} {
		_, rid, after := newMachine(t, tt.members, sglangs(1)...).named(tt.path, tt.body)
		require.Len(t, rid, 32, tt.body)
		require.Equal(t, tt.want, after)
	}
}

func TestRid_is_not_given(t *testing.T) {
	const n = `{"sampling":{"override":{"n":4}},"buckets"`
	for name, tt := range map[string]struct {
		members, path, body string
		engine              wire.Worker
	}{
		"not asked for":          {oneBucket, chatPath, `{"model":"m"}`, sglangs(1)[0]},
		"another engine":         {aborting, chatPath, `{"model":"m"}`, engine(0)},
		"the client's":           {aborting, chatPath, `{"model":"m","rid":"mine"}`, sglangs(1)[0]},
		"the client's, a list":   {aborting, "/generate", `{"text":"t","rid":["mine"]}`, sglangs(1)[0]},
		"the client's, a number": {aborting, chatPath, `{"model":"m","rid":7}`, sglangs(1)[0]},
		"two answers":            {aborting, chatPath, `{"model":"m","n":2}`, sglangs(1)[0]},
		"who knows how many":     {aborting, chatPath, `{"model":"m","n":"x"}`, sglangs(1)[0]},
		"two prompts":            {aborting, "/v1/completions", `{"model":"m","prompt":["a","b"]}`, sglangs(1)[0]},
		"two by contract":        {strings.Replace(aborting, `{"buckets"`, n, 1), chatPath, `{"model":"m"}`, sglangs(1)[0]},
		"responses":              {aborting, "/v1/responses", `{"model":"m","input":"i"}`, sglangs(1)[0]},
		"messages":               {aborting, "/v1/messages", `{"model":"m","messages":[]}`, sglangs(1)[0]},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, tt.members, tt.engine)
			r, rid, after := m.named(tt.path, tt.body)
			require.Empty(t, rid)
			require.NotContains(t, after, `"rid":"RID"`)
			require.Empty(t, r.Step(&Event{Kind: EventDone, End: fleet.EndGone}))
			require.Zero(t, m.Counters[AbortsAsked])
		})
	}
}

// Rids differ, and a seeded context gives the same ones again: they come from the
// request's own random numbers.
func TestRid_comes_from_the_request(t *testing.T) {
	var first []string
	for range 2 {
		m := newMachine(t, aborting, sglangs(2)...)
		seen := map[string]bool{}
		var rids []string
		for range 100 {
			_, rid, _ := m.named(chatPath, `{"model":"m"}`)
			seen[rid] = true
			rids = append(rids, rid)
		}
		require.Len(t, seen, 100)
		if first != nil {
			require.Equal(t, first, rids)
		}
		first = rids
	}
}

func TestAbort_of_unfinished_requests(t *testing.T) {
	const gone, cut, whole = fleet.EndGone, fleet.EndCut, fleet.EndComplete
	for name, tt := range map[string]struct {
		response *Event
		end      fleet.End
		want     bool
	}{
		"client leaves before the answer": {nil, gone, true},
		"client leaves mid-stream":        {&Event{Status: 200}, gone, true},
		"engine breaks off":               {&Event{Status: 200}, cut, true},
		"engine cut before its answer":    {&Event{Status: 503, Failure: true}, cut, true},
		"host's time-out of the engine":   {&Event{Status: 504, Failure: true}, cut, true},
		"host's idle time-out":            {&Event{Status: 408, Own: true}, gone, true},
		"whole answer":                    {&Event{Status: 200}, whole, false},
		"no answer, no trouble":           {nil, whole, false},
		"engine's error":                  {&Event{Status: 400}, whole, false},
		"engine's error, client leaves":   {&Event{Status: 500}, gone, false},
		"no engine was reached":           {&Event{Status: 503, Own: true}, gone, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, aborting, sglangs(1)...)
			r, rid, _ := m.named(chatPath, `{"model":"m"}`)
			if tt.response != nil {
				tt.response.Kind = EventResponse
				require.Empty(t, r.Step(tt.response))
			}
			var want []Effect
			if tt.want {
				want = []Effect{{Kind: EffectAbort, Endpoint: "10.0.0.0:80", Text: rid}}
			}
			require.ElementsMatch(t, want, r.Step(&Event{Kind: EventDone, End: tt.end}))
			require.Equal(t, tt.want, m.Counters[AbortsAsked] == 1)
			require.Zero(t, m.inflight(), "released all the same")
			require.Empty(t, r.Step(&Event{Kind: EventDone, End: tt.end}), "once")
		})
	}
}

// A transport retry moved the request: the engine that has it is told, unless it is
// one that cannot be.
func TestAbort_follows_a_retry(t *testing.T) {
	fleetOf := sglangs(3)
	fleetOf[2].Aborts = false
	m := newMachine(t, `"transport_retry":true,`+aborting, fleetOf...)
	r, rid, _ := m.named(chatPath, `{"model":"m"}`)
	effects := r.Step(&Event{Kind: EventDone, End: fleet.EndGone, Upstream: "10.0.0.1:80"})
	require.Equal(t, []Effect{{Kind: EffectAbort, Endpoint: "10.0.0.1:80", Text: rid}}, effects)
	for _, elsewhere := range []string{"10.0.0.2:80", "192.0.2.1:80"} {
		m = newMachine(t, `"transport_retry":true,`+aborting, fleetOf...)
		r, _, _ = m.named(chatPath, `{"model":"m"}`)
		require.Empty(t, r.Step(&Event{Kind: EventDone, End: fleet.EndGone, Upstream: elsewhere}))
	}
}

// A request that waited for the state service is named as well, once it is sent.
func TestRid_of_a_request_that_waited(t *testing.T) {
	m := newMachine(t, aborting)
	r, effects := m.chat(`{"model":"m"}`)
	require.Equal(t, []EffectKind{EffectPause}, kinds(effects))
	m.apply(wire.SyncReply{Full: true, Workers: sglangs(1)})
	effects = r.Step(&Event{Kind: EventTick, Now: 1})
	require.Regexp(t, ridText, spliced(t, `{"model":"m"}`, effects))
}
