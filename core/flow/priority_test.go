package flow

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const anyEngine = `"models":{"m":{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"random"}}}}]}}`

// prioritized sends a body with a priority header and gives the body that the engine
// gets.
func (m *machine) prioritized(path, header, body string) (string, []Effect) {
	r, ev := m.NewRequest(), m.headers()
	ev.Path, ev.PriorityHeader = path, header
	effects := r.Step(&ev)
	if r.Waiting() {
		effects = r.Step(&Event{Kind: EventBody, Now: m.now, Body: body})
	}
	spliced := []byte(body)
	for _, e := range effects {
		for _, in := range slices.Backward(e.Insertions) {
			spliced = slices.Insert(spliced, in.At, []byte(in.Text)...)
		}
	}
	return string(spliced), effects
}

func TestPriority_becomes_a_member(t *testing.T) {
	const chat, completions = chatPath, "/v1/completions"
	higher := `"priority":{"header":"X-Priority","classes":{"Interactive":10,"bulk":-10}},`
	lower := `"priority":{"header":"x-priority","lower_first":true},`
	for _, tt := range []struct{ config, path, header, body, want string }{
		{higher, chat, "5", `{"model":"m"}`, `{"priority":5,"model":"m"}`},
		{higher, chat, " -5 ", ` { "model":"m"}`, ` {"priority":-5, "model":"m"}`},
		{higher, completions, "INTERACTIVE", `{"model":"m"}`, `{"priority":10,"model":"m"}`},
		{higher, chat, "bulk", `{"model":"m"}`, `{"priority":-10,"model":"m"}`},
		{lower, chat, "5", `{"model":"m"}`, `{"priority":-5,"model":"m"}`},
		{higher, chat, "5", `{"model":"m","priority":7}`, `{"priority":5,"model":"m","priority":7}`}, // parsers keep the last
		{higher, chat, "", `{"model":"m"}`, `{"model":"m"}`},
		{higher, "/v1/embeddings", "5", `{"model":"m"}`, `{"model":"m"}`},
		{``, chat, "5", `{"model":"m"}`, `{"model":"m"}`},
	} {
		m := newMachine(t, `"paths":["/v1/chat/completions","/v1/completions","/v1/embeddings"],`+tt.config+anyEngine, engines(1)...)
		body, _ := m.prioritized(tt.path, tt.header, tt.body)
		require.Equal(t, tt.want, body, "%+v", tt)
	}
}

// The member stands in front of a rid and of sampling parameters.
func TestPriority_beside_other_members(t *testing.T) {
	e := engine(0)
	e.Aborts = true
	m := newMachine(t, `"abort":{"cluster":"engines"},"priority":{"header":"x-priority"},"models":{"m":{"sampling":{"override":{"temperature":0.5}},
		"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"random"}}}}]}}`, e)
	body, _ := m.prioritized(chatPath, "3", `{"model":"m"}`)
	require.Regexp(t, `^\{"priority":3,"rid":"[0-9a-f]{32}","model":"m","temperature":0.5\}$`, body)
	body, _ = m.prioritized(chatPath, "3", `{"model":"m","rid":null}`)
	require.Regexp(t, `^\{"priority":3,"model":"m","rid":null,"rid":"[0-9a-f]{32}","temperature":0.5\}$`, body)
}

func TestPriority_is_refused(t *testing.T) {
	m := newMachine(t, `"priority":{"header":"X-Priority","classes":{"bulk":-10,"Interactive":10}},`+anyEngine, engines(1)...)
	for _, header := range []string{"urgent", "1.5", "1000001", "-1000001", "99999999999999999999", "\xff"} {
		_, effects := m.prioritized(chatPath, header, `{"model":"m"}`)
		code, message := refusal(t, effects)
		require.Equal(t, CodeBadRequest, code)
		require.Equal(t, "the header x-priority must be a whole number from -1000000 to 1000000, or one of bulk, interactive", message)
	}
	require.Zero(t, m.inflight())
}
