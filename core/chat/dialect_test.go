package chat

import (
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/sampling"
	"github.com/stretchr/testify/require"
)

func TestDialectOf(t *testing.T) {
	for path, want := range map[string]Dialect{
		"/v1/chat/completions": DialectChat, "/v1/completions": DialectCompletions, "/generate": DialectGenerate,
		"/v1/responses": DialectResponses, "/v1/messages": DialectMessages, "/v1/embeddings": DialectEmbeddings,
		"/v1/chat/completions/render": DialectNone, "/v1/rerank": DialectNone, "": DialectNone,
	} {
		require.Equal(t, want, DialectOf(path), path)
	}
}

// Where each dialect has its prompt and output budget. Keys of other dialects mean
// nothing.
func TestPeek_dialects(t *testing.T) {
	for _, tc := range []struct {
		name    string
		dialect Dialect
		body    string
		output  core.Count
		prompt  string
	}{
		{"chat", DialectChat, `{"model":"m","messages":[1],"max_completion_tokens":4,"prompt":"p","text":"t","input":"i"}`, core.Known(4), `[1]`},
		{"chat does not know other budgets", DialectChat, `{"model":"m","max_output_tokens":4,"sampling_params":{"max_new_tokens":5}}`, core.Count{}, ``},
		{"completions", DialectCompletions, `{"model":"m","prompt":"p","max_tokens":4,"messages":[]}`, core.Known(4), `"p"`},
		{"generate", DialectGenerate, `{"text":"t","sampling_params":{"max_new_tokens":4,"temperature":0},"max_tokens":9}`, core.Known(4), `"t"`},
		{"generate, the model of a body means nothing", DialectGenerate, `{"model":7,"model":8,"text":"t"}`, core.Count{}, `"t"`},
		{"generate, ids", DialectGenerate, `{"input_ids":[1,2],"text":null}`, core.Count{}, `[1,2]`},
		{"generate, null budget", DialectGenerate, `{"text":"t","sampling_params":{"max_new_tokens":null}}`, core.Count{}, `"t"`},
		{"generate, null parameters", DialectGenerate, `{"text":"t","sampling_params":null}`, core.Count{}, `"t"`},
		{"generate, escaped", DialectGenerate, `{"t\u0065xt":"t","sampling\u005fparams":{"max\u005fnew_tokens":3}}`, core.Known(3), `"t"`},
		{"generate, batch", DialectGenerate, `{"text":["a","b"],"sampling_params":[{"max_new_tokens":3},{"max_new_tokens":8}]}`, core.Known(8), `["a","b"]`},
		{"generate, batch with an unknown budget", DialectGenerate, `{"text":["a","b"],"sampling_params":[{"max_new_tokens":3},null]}`, core.Count{}, `["a","b"]`},
		{"responses, text", DialectResponses, `{"model":"m","input":"i","max_output_tokens":4,"max_tokens":9}`, core.Known(4), `"i"`},
		{"responses, list", DialectResponses, `{"model":"m","input":[{"role":"user"}],"instructions":"be kind"}`, core.Count{}, `"be kind"[{"role":"user"}]`},
		{"responses, instructions after", DialectResponses, `{"instructions":"x","model":"m","input":"i"}`, core.Count{}, `"x""i"`},
		{"responses, null instructions", DialectResponses, `{"model":"m","instructions":null,"input":"i"}`, core.Count{}, `"i"`},
		{"messages (D02)", DialectMessages, `{"model":"m","messages":[1],"system":"s","max_tokens":4}`, core.Known(4), `"s"[1]`},
		{"messages, no system", DialectMessages, `{"model":"m","messages":[1],"max_completion_tokens":4}`, core.Count{}, `[1]`},
		{"embeddings", DialectEmbeddings, `{"model":"m","input":"i","max_tokens":7,"stream":"?"}`, core.Known(0), `"i"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			facts, err := Peek(tc.body, tc.dialect)
			require.NoError(t, err)
			require.Equal(t, tc.output, facts.Output)
			require.Equal(t, tc.prompt, facts.Prompt)
		})
	}
}

// D05: whatever form the input of /v1/responses has, it is seen.
func TestD05_no_form_of_input_is_seen_as_empty(t *testing.T) {
	for _, input := range []string{`"hello"`, `[{"role":"user","content":"hello"}]`, `["hello"]`, `[[1,2]]`} {
		for _, d := range []Dialect{DialectResponses, DialectEmbeddings} {
			facts, err := Peek(`{"model":"m","input":`+input+`}`, d)
			require.NoError(t, err)
			require.Equal(t, input, facts.Prompt)
		}
	}
}

func TestPeek_dialects_refuse(t *testing.T) {
	for _, tc := range []struct {
		dialect    Dialect
		body, want string
	}{
		{DialectGenerate, `{"text":"t","sampling_params":7}`, `"sampling_params" must be an object`},
		{DialectGenerate, `{"text":"t","sampling_params":[7]}`, `"sampling_params" must be an object`},
		{DialectGenerate, `{"text":"t","sampling_params":[[]]}`, `"sampling_params" must be an object or a list of objects`},
		{DialectGenerate, `{"text":"t","sampling_params":{"max_new_tokens":"4"}}`, `"max_new_tokens" must be a whole number`},
		{DialectGenerate, `{"text":"t","sampling_params":[{},{"max_new_tokens":-1}]}`, `"max_new_tokens" must be a whole number`},
		{DialectGenerate, `{"text":"t","sampling_params":{"max_new_tokens":4,"max_new_tokens":4}}`, `"max_new_tokens" stands twice`},
		{DialectGenerate, `{"text":"t","sampling_params":{},"sampling_params":null}`, `"sampling_params" stands twice`},
		{DialectGenerate, `{"stream":1}`, `"stream" must be true or false`},
		{DialectGenerate, `{"text":"t","sampling_params":{"x":}}`, `not valid JSON`},
		{DialectResponses, `{"model":"m","max_output_tokens":1.5}`, `"max_output_tokens" must be a whole number`},
		{DialectResponses, `{"input":"i"}`, `"model" is missing`},
		{DialectMessages, `{"model":"m","max_tokens":1,"max_tokens":1}`, `"max_tokens" stands twice`},
		{DialectEmbeddings, `{"model":"m","model":"m"}`, `"model" stands twice`},
		{DialectNone, `{"model":"m"}`, `this path is not routed`},
	} {
		_, err := Peek(tc.body, tc.dialect)
		require.ErrorContains(t, err, tc.want, tc.body)
	}
}

// Token ids count exactly; text does not.
func TestPeek_token_ids(t *testing.T) {
	unknown := core.Count{}
	for _, tc := range []struct {
		prompt         string
		batch          uint64
		longest, total core.Count
	}{
		{`"text"`, 1, unknown, unknown},
		{`[1,2,3]`, 1, core.Known(3), core.Known(3)},
		{"[ 1 ,\n2 ]", 1, core.Known(2), core.Known(2)},
		{`[[1,2,3],[4]]`, 2, core.Known(3), core.Known(4)},
		{`[[],[4]]`, 2, core.Known(1), core.Known(1)},
		{`["a","b","c"]`, 3, unknown, unknown},
		{`["a",[1]]`, 2, unknown, unknown},
		{`[1,"a"]`, 1, unknown, unknown},
		{`[[1,"a"],[2]]`, 2, unknown, unknown},
		{`[1.5,2]`, 1, unknown, unknown},
		{`[-1]`, 1, unknown, unknown},
		{`[]`, 1, unknown, unknown},
		{`{"a":[1,2]}`, 1, unknown, unknown},
		{`null`, 1, unknown, unknown},
	} {
		for d, key := range map[Dialect]string{DialectCompletions: "prompt", DialectEmbeddings: "input", DialectGenerate: "input_ids"} {
			facts, err := Peek(`{"model":"m","`+key+`":`+tc.prompt+`}`, d)
			require.NoError(t, err)
			require.Equal(t, tc.batch, facts.Batch, tc.prompt)
			require.Equal(t, tc.longest, facts.Longest, tc.prompt)
			require.Equal(t, tc.total, facts.Total, tc.prompt)
		}
	}
	facts, err := Peek(`{"input_ids":[`+strings.Repeat("123456,", 9999)+`1]}`, DialectGenerate)
	require.NoError(t, err)
	require.Equal(t, core.Tokens(10000), facts.EstimateTokens())
	facts, err = Peek(`{"input_ids":[[],[]]}`, DialectGenerate)
	require.NoError(t, err)
	require.Equal(t, core.Tokens(1), facts.EstimateTokens(), "never none")
}

func TestPeek_fan_out(t *testing.T) {
	for _, tc := range []struct {
		dialect Dialect
		members string
		want    core.Count
		fans    bool
	}{
		{DialectChat, ``, core.Known(1), false},
		{DialectChat, `,"n":null`, core.Known(1), false},
		{DialectChat, `,"n":1`, core.Known(1), false},
		{DialectChat, `,"n":true`, core.Known(1), false},
		{DialectChat, `,"n":3`, core.Known(3), true},
		{DialectChat, `,"n":3.0`, core.Known(3), true},
		{DialectChat, `,"n":"2"`, core.Known(2), true},
		{DialectChat, `,"n":3,"n":null`, core.Known(1), false},
		{DialectChat, `,"n":1,"\u006e":2`, core.Known(2), true},
		{DialectChat, `,"n":0`, core.Count{}, true},
		{DialectChat, `,"n":1.5`, core.Count{}, true},
		{DialectChat, `,"n":1e400`, core.Count{}, true},
		{DialectChat, `,"n":[1]`, core.Count{}, true},
		{DialectChat, `,"n":"many"`, core.Count{}, true},
		{DialectCompletions, `,"prompt":["a","b"]`, core.Known(1), true},
		{DialectGenerate, `,"n":4`, core.Known(1), false},
		{DialectGenerate, `,"sampling_params":{"n":4}`, core.Known(4), true},
		{DialectGenerate, `,"sampling_params":[{"n":1}]`, core.Count{}, true},
		{DialectGenerate, `,"text":["a"]`, core.Known(1), false},
		{DialectResponses, `,"n":4`, core.Known(1), false},
	} {
		facts, err := Peek(`{"model":"m"`+tc.members+`}`, tc.dialect)
		require.NoError(t, err, tc.members)
		require.Equal(t, tc.want, facts.Choices, tc.members)
		require.Equal(t, tc.fans, facts.FansOut(), tc.members)
	}
}

func TestPeek_adapter_and_salt(t *testing.T) {
	for _, tc := range []struct{ members, adapter, salt string }{
		{``, "", ""},
		{`,"lora_path":"poet","cache_salt":"s\u0031"`, "poet", "s1"},
		{`,"lora_path":null,"cache_salt":null`, "", ""},
		{`,"lora_path":["a","b"],"cache_salt":["a","b"]`, "", `["a","b"]`},
		{`,"lora_path":"a","lora_path":"b","cache_salt":"x","cache_salt":"y"`, "b", "y"},
		{`,"lora_path":7,"cache_salt":7`, "", ""},
	} {
		facts, err := Peek(`{"model":"m"`+tc.members+`}`, DialectChat)
		require.NoError(t, err)
		require.Equal(t, tc.adapter, facts.Adapter)
		require.Equal(t, tc.salt, facts.Salt)
	}
}

// Members added at the place are members of the body; the rest is as it was.
func TestPeek_place(t *testing.T) {
	const added = `"temperature":0.5`
	for _, tc := range []struct {
		dialect    Dialect
		body, want string
	}{
		{DialectChat, `{"model":"m"}`, `{"model":"m","temperature":0.5}`},
		{DialectChat, " {\"model\":\"m}\" \n } \r\n", " {\"model\":\"m}\" \n ,\"temperature\":0.5} \r\n"},
		{DialectCompletions, `{"model":"m","prompt":"}"}`, `{"model":"m","prompt":"}","temperature":0.5}`},
		{DialectGenerate, `{}`, `{"sampling_params":{"temperature":0.5}}`},
		{DialectGenerate, `{"text":"t"}`, `{"text":"t","sampling_params":{"temperature":0.5}}`},
		{DialectGenerate, `{"sampling_params":null,"text":"t"}`, `{"sampling_params":null,"text":"t","sampling_params":{"temperature":0.5}}`},
		{DialectGenerate, `{"sampling_params":{},"text":"t"}`, `{"sampling_params":{"temperature":0.5},"text":"t"}`},
		{DialectGenerate, ` {"x":1, "sampling_params": { "n":1 } ,"text":"t"}`, ` {"x":1, "sampling_params": { "n":1 ,"temperature":0.5} ,"text":"t"}`},
	} {
		facts, err := Peek(tc.body, tc.dialect)
		require.NoError(t, err)
		at := facts.Place.At
		require.Equal(t, tc.want, tc.body[:at]+facts.Place.Text(added)+tc.body[at:])
		require.Equal(t, strings.LastIndexByte(tc.body, '}'), facts.Brace)
		again, err := Peek(strings.Replace(tc.want, `"sampling_params":null,`, "", 1), tc.dialect)
		require.NoError(t, err)
		require.Equal(t, sampling.Value{Kind: sampling.Number, Number: 0.5}, again.Sampling[sampling.Temperature])
	}
}

// Only what stands where the dialect has its sampling parameters counts.
func TestPeek_sampling_values(t *testing.T) {
	for d, body := range map[Dialect]string{
		DialectChat:     `{"model":"m","temperature":0.5,"sampling_params":{"temperature":1},"extra":{"temperature":1}}`,
		DialectMessages: `{"model":"m","temperature":null,"temperature":0.5}`,
		DialectGenerate: `{"temperature":1,"sampling_params":{"temperature":0.5},"extra":{"temperature":1}}`,
	} {
		facts, err := Peek(body, d)
		require.NoError(t, err)
		require.Equal(t, sampling.Values{sampling.Temperature: {Kind: sampling.Number, Number: 0.5}}, facts.Sampling)
	}
	facts, err := Peek(`{"sampling_params":[{"temperature":0.5}]}`, DialectGenerate)
	require.NoError(t, err)
	require.True(t, facts.PerPrompt)
	require.Equal(t, sampling.Values{}, facts.Sampling)
}
