package flow

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// What a client sends is cut and escaped, and the answer stays one JSON object.
func TestEnvelope_of_hostile_names(t *testing.T) {
	m := newMachine(t, oneBucket, engines(1)...)
	for _, name := range []string{
		`\"},\"error\":{`, `</script>`, `\u0000\r\n`, "\\u2028", "\xff\xfe", "%s%d%n", `\ud800`, strings.Repeat("ä", 200), strings.Repeat("x", 1<<20),
	} {
		r, effects := m.chat(`{"model":"` + name + `"}`)
		code, message := refusal(t, effects)
		require.Equal(t, CodeModelNotFound, code)
		require.Less(t, len(message), 1200)
		require.Less(t, len(r.Receipt().Model), 140)
		require.NotContains(t, r.Receipt().Describe(), "\n")
		r.Step(&Event{Kind: EventDone, End: fleet.EndGone})
	}
}

func TestErrorResponse_without_a_message_of_text(t *testing.T) {
	r := ErrorResponse(CodeBadRequest, "\xff")
	require.Contains(t, string(r.Body), `"message":"\ufffd"`)
}

func TestShorten(t *testing.T) {
	require.Equal(t, "abc", shorten("abc"))
	require.Equal(t, strings.Repeat("x", 128), shorten(strings.Repeat("x", 128)))
	require.Equal(t, strings.Repeat("x", 128)+"...", shorten(strings.Repeat("x", 129)))
	require.Equal(t, strings.Repeat("x", 127)+"...", shorten(strings.Repeat("x", 127)+"ää"), "no half of a character")
}

func TestModels(t *testing.T) {
	list := func(m *machine) Response {
		r := m.NewRequest()
		effects := r.Step(&Event{Kind: EventHeaders, Method: "GET", Path: "/v1/models?x=1", EndOfStream: true})
		require.Equal(t, []EffectKind{EffectStrip, EffectRespond}, kinds(effects))
		response := effects[1].Response
		require.Empty(t, r.Step(&Event{Kind: EventDone}))
		return response
	}
	const models = `"models":{
		"m":{"aliases":["alias"],"buckets":[{"id":"b","groups":{"plain":{"policy":{"type":"random"}}}}]},
		"idle":{"buckets":[{"id":"b","groups":{"plain":{"policy":{"type":"random"}}}}]}}`
	e := engine(0)
	e.Models = []string{"m", "not routed"}
	e.Adapters = []core.Adapter{{Name: "lora", Base: "m"}, {Name: "of alias", Base: "alias"}, {Name: "stray", Base: "not routed"}, {Name: "m", Base: "m"}}
	m := newMachine(t, models, e)
	response := list(m)
	require.Equal(t, 200, response.Status)
	require.Equal(t, CodeNone, response.Code)
	require.False(t, response.RetryAfter)
	require.JSONEq(t, `{"object":"list","data":[
		{"id":"alias","object":"model","owned_by":"pointsman"},
		{"id":"m","object":"model","owned_by":"pointsman"},
		{"id":"lora","object":"model","owned_by":"pointsman","parent":"m"},
		{"id":"of alias","object":"model","owned_by":"pointsman","parent":"alias"}]}`, string(response.Body))
	require.Equal(t, uint64(1), m.Counters[ModelsListed])

	m.apply(wire.SyncReply{Full: true})
	require.JSONEq(t, `{"object":"list","data":[]}`, string(list(m).Body))

	unknown := newMachine(t, models)
	r := unknown.NewRequest()
	code, _ := refusal(t, r.Step(&Event{Kind: EventHeaders, Method: "GET", Path: "/v1/models", EndOfStream: true}))
	require.Equal(t, CodeStateUnavailable, code)
}
