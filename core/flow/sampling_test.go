package flow

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/sampling"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// governed is oneBucket with a sampling contract, and all paths routed.
func governed(contract string) string {
	return `"paths":["/v1/chat/completions","/v1/completions","/generate","/v1/responses","/v1/messages","/v1/embeddings"],` +
		strings.Replace(oneBucket, `{"m":{`, `{"m":{"sampling":`+contract+`,"aliases":["alias"],`, 1)
}

const strict = `{"override":{"temperature":0.6,"top_k":20,"top_p":{"min":0.5,"max":1}}}`

// post sends a whole request to a path and returns the effects of its body.
func (m *machine) post(path, body string) (*Request, []Effect) {
	m.t.Helper()
	r := m.NewRequest()
	ev := m.headers()
	ev.Path = path
	require.Equal(m.t, []EffectKind{EffectStrip, EffectPause}, kinds(r.Step(&ev)))
	return r, r.Step(&Event{Kind: EventBody, Now: m.now, Body: body})
}

// spliced gives the body an engine gets.
func spliced(t *testing.T, body string, effects []Effect) string {
	t.Helper()
	require.NotEmpty(t, effects)
	if e := effects[0]; e.Kind == EffectSplice {
		body = inserted(body, e.Insertions)
		effects = effects[1:]
	}
	require.Equal(t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects))
	require.True(t, json.Valid([]byte(body)), body)
	return body
}

func TestSampling_defaults_are_spliced(t *testing.T) {
	for _, tt := range []struct{ path, body, want string }{
		{chatPath, `{"model":"m"}`, `{"model":"m","temperature":0.6,"top_k":20}`},
		{chatPath, `{"model":"alias"}`, `{"model":"alias","temperature":0.6,"top_k":20}`},
		{chatPath, `{"model":"m","temperature":null,"top_k":"20"}`, `{"model":"m","temperature":null,"top_k":"20","temperature":0.6}`},
		{chatPath, `{"model":"m","temperature":0.6,"top_k":20,"top_p":0.5}`, `{"model":"m","temperature":0.6,"top_k":20,"top_p":0.5}`},
		{chatPath, `{"model":"m","temperature":9,"temperature":0.6,"top_k":20}`, `{"model":"m","temperature":9,"temperature":0.6,"top_k":20}`},
		{"/v1/completions", "{\"model\":\"m\" \n } ", "{\"model\":\"m\" \n ,\"temperature\":0.6,\"top_k\":20} "},
		{"/generate", `{"text":"t"}`, `{"text":"t","sampling_params":{"temperature":0.6,"top_k":20}}`},
		{"/generate", `{"sampling_params":{"top_k":20},"text":"t","temperature":9}`, `{"sampling_params":{"top_k":20,"temperature":0.6},"text":"t","temperature":9}`},
		{"/v1/responses", `{"model":"m","input":"i"}`, `{"model":"m","input":"i","temperature":0.6,"top_k":20}`},
		{"/v1/messages", `{"model":"m","messages":[]}`, `{"model":"m","messages":[],"temperature":0.6,"top_k":20}`},
		{"/v1/embeddings", `{"model":"m","input":"i"}`, `{"model":"m","input":"i"}`},
		{"/v1/embeddings", `{"model":"m","input":"i","temperature":9}`, `{"model":"m","input":"i","temperature":9}`},
	} {
		m := newMachine(t, governed(strict), engines(1)...)
		_, effects := m.post(tt.path, tt.body)
		require.Equal(t, tt.want, spliced(t, tt.body, effects))
	}
}

func TestSampling_violations_are_refused(t *testing.T) {
	for _, tt := range []struct {
		path, body, message string
		counted             sampling.Set
	}{
		{chatPath, `{"model":"m","temperature":0.7}`, `"temperature" must be 0.6 for this model`, sampling.Of(sampling.Temperature)},
		{chatPath, `{"model":"m","top_p":0.4}`, `"top_p" must be a number from 0.5 to 1 for this model`, sampling.Of(sampling.TopP)},
		{chatPath, `{"model":"m","top_p":0.4,"top_k":"all","temperature":1e400}`, `"temperature" must be 0.6 for this model`, sampling.Of(sampling.Temperature, sampling.TopP, sampling.TopK)},
		{"/generate", `{"sampling_params":{"top_k":1}}`, `"top_k" must be 20 for this model`, sampling.Of(sampling.TopK)},
		{"/generate", `{"text":["a"],"sampling_params":[{"top_k":20}]}`, `"sampling_params" is a list, and this model's sampling parameters are governed: send one object for all prompts`, 0},
	} {
		m := newMachine(t, governed(strict), engines(1)...)
		r, effects := m.post(tt.path, tt.body)
		require.Equal(t, []EffectKind{EffectRespond, EffectReceipt}, kinds(effects))
		require.Equal(t, ErrorResponse(CodeSamplingViolation, tt.message), effects[0].Response)
		require.Equal(t, 400, effects[0].Response.Status)
		require.Equal(t, "sampling_contract_violation", r.Receipt().Code)
		for f := range sampling.FieldCount {
			require.Equal(t, tt.counted.Has(f), m.Counters[firstField+Counter(f)] == 1, f)
		}
		require.Zero(t, m.inflight())
	}
}

func TestSampling_allow_lets_other_values_pass(t *testing.T) {
	m := newMachine(t, governed(`{"override":{"temperature":0.6},"conflict":"allow"}`), engines(1)...)
	for _, body := range []string{`{"model":"m","temperature":2}`, `{"model":"m","temperature":"hot"}`} {
		_, effects := m.chat(body)
		require.Equal(t, body, spliced(t, body, effects))
	}
	_, effects := m.chat(`{"model":"m"}`)
	want := `{"model":"m","temperature":0.6}`
	require.Equal(t, want, spliced(t, `{"model":"m"}`, effects))
}

// A request that waits for the first fleet is held to the contract once its model
// is known, adapters included.
func TestSampling_after_waiting_for_the_fleet(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"poet"}`:                 `{"model":"poet","temperature":0.6,"top_k":20}`,
		`{"model":"poet","temperature":1}`: ``,
	} {
		m := newMachine(t, governed(strict))
		r, effects := m.chat(body)
		require.Equal(t, []EffectKind{EffectPause}, kinds(effects))
		e := engine(0)
		e.Models, e.Adapters = []string{"m"}, []core.Adapter{{Name: "poet", Base: "m"}}
		m.apply(wire.SyncReply{Full: true, Workers: []wire.Worker{e}})
		effects = r.Step(&Event{Kind: EventTick, Now: m.now})
		if want == "" {
			require.Equal(t, CodeSamplingViolation, effects[0].Response.Code)
			continue
		}
		require.Equal(t, want, spliced(t, body, effects))
	}
}

// The contract holds where the host chooses the engine too.
func TestSampling_without_a_fleet(t *testing.T) {
	m := newMachine(t, `"on_no_state":"host",`+governed(strict))
	_, effects := m.chat(`{"model":"m"}`)
	require.Equal(t, []EffectKind{EffectSplice, EffectContinue}, kinds(effects))
	_, effects = m.chat(`{"model":"m","top_k":1}`)
	require.Equal(t, []EffectKind{EffectRespond, EffectReceipt}, kinds(effects))
}

func TestGenerate_takes_the_configured_model(t *testing.T) {
	m := newMachine(t, governed(strict), engines(1)...)
	r, effects := m.post("/generate", `{"model":"other","input_ids":[1,2,3],"sampling_params":{"max_new_tokens":9}}`)
	require.Equal(t, EffectSplice, effects[0].Kind)
	require.Equal(t, "m", r.Receipt().Model)
	require.Equal(t, core.Tokens(3), r.Receipt().Input)
	require.Equal(t, core.Known(12), r.Receipt().Peak)
	require.Equal(t, receipt.SourceTokenIDs, r.Receipt().Source)
}

// A body's own adapter goes to an engine that has it, if it is one of the model's.
func TestAdapter_named_beside_the_model(t *testing.T) {
	with := engine(1)
	with.Models, with.Adapters = []string{"m"}, []core.Adapter{{Name: "poet", Base: "m"}}
	m := newMachine(t, governed(strict), engine(0), with)
	for range 4 {
		r, _ := m.post("/generate", `{"text":"t","lora_path":"poet"}`)
		require.Equal(t, core.WorkerID("e1"), r.Receipt().Chosen)
	}
	r, _ := m.post("/generate", `{"text":"t","lora_path":"unheard"}`)
	require.NotEmpty(t, r.Receipt().Chosen, "the engine decides about a name the fleet does not know")
}

// Where no body is seen, nothing can be held to a contract: it is counted.
func TestSampling_in_header_only_mode(t *testing.T) {
	m := newMachine(t, governed(strict), engines(1)...)
	m.headerOnly = true
	r := m.NewRequest()
	ev := m.headers()
	require.Equal(t, []EffectKind{EffectStrip, EffectRoute, EffectContinue, EffectReceipt}, kinds(r.Step(&ev)))
	require.Equal(t, uint64(1), m.Counters[SamplingUnseen])
	r = m.NewRequest()
	ev.Path, ev.ModelHeader = "/generate", "other"
	require.Equal(t, []EffectKind{EffectStrip, EffectRoute, EffectContinue, EffectReceipt}, kinds(r.Step(&ev)))
	require.Equal(t, "m", r.Receipt().Model, "the configured model, whatever the header says")
}

// inserted puts insertions into a body, as hosts do.
func inserted(body string, insertions []Insertion) string {
	for _, in := range slices.Backward(insertions) {
		body = body[:in.At] + in.Text + body[in.At:]
	}
	return body
}
