package render_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
)

func renderer(t *testing.T, family string, engine render.Engine) *render.Renderer {
	config, err := os.ReadFile(tokenizetest.File(t, family, "tokenizer_config.json"))
	require.NoError(t, err)
	r, err := render.New(config, "", engine)
	require.NoError(t, err)
	return r
}

func text(t *testing.T, r *render.Renderer, members string) (render.Text, error) {
	p, err := prompt.Read(chat.DialectChat, `{"model":"m",`+members+`}`)
	require.NoError(t, err)
	return r.Render(t.Context(), &p)
}

const (
	hi   = `{"role":"user","content":"hi"}`
	said = `{"role":"assistant","content":"Yes. "}`
	tool = `{"function":{"parameters":{"z":1,"a":[]},"description":"d <é>","name":"f"},"type":"function"}`
)

func TestWaysOfTheEngines(t *testing.T) {
	const begin, ask = "<|im_start|>", "<|im_start|>assistant\n"
	tests := []struct {
		name, members string
		vllm, sglang  render.Text
		refusedBy     map[render.Engine]bool
	}{
		{
			name: "parts", members: `"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"text":"b","type":"text"}]}]`,
			vllm:   render.Text{Text: begin + "user\na\nb<|im_end|>\n" + ask},
			sglang: render.Text{Text: begin + "user\na b<|im_end|>\n" + ask},
		},
		{
			name: "no generation prompt", members: `"messages":[` + hi + `],"add_generation_prompt":false`,
			vllm:   render.Text{Text: begin + "user\nhi<|im_end|>\n"},
			sglang: render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask},
		},
		{
			name: "continued", members: `"messages":[` + hi + `,` + said + `],"continue_final_message":true,"add_generation_prompt":false`,
			vllm:   render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask + "<think>\n\n</think>\n\nYes. "},
			sglang: render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask, Then: "Yes. "},
		},
		{
			name: "continued by SGLang", members: `"messages":[` + hi + `,` + said + `],"continue_final_message":true`,
			sglang:    render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask, Then: "Yes. "},
			refusedBy: map[render.Engine]bool{render.VLLM: true},
		},
		{
			name: "assistant last", members: `"messages":[` + hi + `,` + said + `]`,
			vllm:   render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask + "<think>\n\n</think>\n\nYes. <|im_end|>\n" + ask},
			sglang: render.Text{Text: begin + "user\nhi<|im_end|>\n" + begin + "user\nYes. <|im_end|>\n" + ask},
		},
		{
			name: "arguments of the template", members: `"messages":[` + hi + `],"chat_template_kwargs":{"enable_thinking":false}`,
			vllm:   render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask + "<think>\n\n</think>\n\n"},
			sglang: render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask + "<think>\n\n</think>\n\n"},
		},
		{
			name: "calls", members: `"messages":[` + hi + `,{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":` +
				`{"name":"f","arguments":"{\"z\":1.0,\"a\":\"é\"}"}}]},{"role":"tool","tool_call_id":"1","content":"ok"}]`,
			vllm: render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask + "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"z\": 1.0, \"a\": \"é\"}}\n</tool_call><|im_end|>\n" +
				begin + "user\n<tool_response>\nok\n</tool_response><|im_end|>\n" + ask},
			sglang: render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask + "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"z\": 1.0, \"a\": \"é\"}}\n</tool_call><|im_end|>\n" +
				begin + "user\n<tool_response>\nok\n</tool_response><|im_end|>\n" + ask},
		},
		{
			name: "null members", members: `"messages":[{"role":"user","content":"hi","name":null,"tool_calls":null}],"tools":null,"documents":null`,
			vllm:   render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask},
			sglang: render.Text{Text: begin + "user\nhi<|im_end|>\n" + ask},
		},
	}
	for _, tt := range tests {
		for engine, want := range map[render.Engine]render.Text{render.VLLM: tt.vllm, render.SGLang: tt.sglang} {
			t.Run(tt.name, func(t *testing.T) {
				got, err := text(t, renderer(t, "qwen3", engine), tt.members)
				if tt.refusedBy[engine] {
					var refused *render.UnrenderableError
					require.ErrorAs(t, err, &refused)
					return
				}
				require.NoError(t, err)
				require.Equal(t, want.Text, got.Text)
				require.Equal(t, want.Then, got.Then)
			})
		}
	}
}

func TestToolsAreWrittenAsTheEnginesClassesDo(t *testing.T) {
	got, err := text(t, renderer(t, "qwen3", render.VLLM), `"messages":[`+hi+`],"tools":[`+tool+`]`)
	require.NoError(t, err)
	require.Contains(t, got.Text, `<tools>`+"\n"+`{"type": "function", "function": {"name": "f", "description": "d <é>", "parameters": {"z": 1, "a": []}}}`+"\n</tools>")
	got, err = text(t, renderer(t, "qwen3", render.SGLang), `"messages":[`+hi+`],"tools":[`+tool+`]`)
	require.NoError(t, err)
	require.Contains(t, got.Text, `{"type": "function", "function": {"parameters": {"z": 1, "a": []}, "description": "d <é>", "name": "f"}, "defer_loading": null}`)
}

func TestWhatIsNotDoneAlikeIsRefused(t *testing.T) {
	for _, members := range []string{
		`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]`,
		`"messages":[{"role":"user","content":[{"type":"text","text":"x","cache_control":{}}]}]`,
		`"messages":[{"role":"user","content":["x"]}]`,
		`"messages":[{"role":"user","content":7}]`,
		`"messages":[{"role":"developer","content":"x"}]`,
		`"messages":[{"role":"user","content":"x","mood":"good"}]`,
		`"messages":[{"role":"user","content":"x","reasoning_content":"y"}]`,
		`"messages":[{"role":"user","content":"x","tool_call_id":"y"}]`,
		`"messages":["x"]`,
		`"messages":[` + hi + `],"tools":[{"type":"function","function":{"name":"f"}}]`,
		`"messages":[` + hi + `],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{},"strict":true}}]`,
		`"messages":[` + hi + `],"tools":{}`,
		`"messages":[` + hi + `],"tools":[` + tool + `],"tool_choice":"none"`,
		`"messages":[` + hi + `],"chat_template":"x"`,
		`"messages":[{"role":"system","content":"x-anthropic-billing-header: cch=1\nx"}]`,
		`"messages":[` + hi + `],"documents":[]`,
		`"messages":[` + hi + `],"reasoning_effort":"low"`,
		`"messages":[` + hi + `],"add_special_tokens":true`,
		`"messages":[` + hi + `],"chat_template_kwargs":{"tools":[]}`,
		`"messages":[` + hi + `],"chat_template_kwargs":{"eos_token":"x"}`,
		`"messages":[` + hi + `],"chat_template_kwargs":7`,
		`"messages":[` + hi + `],"continue_final_message":true`,
		`"messages":[],"continue_final_message":true,"add_generation_prompt":false`,
		`"messages":[{"role":"assistant","content":"x","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{"}}]}]`,
		`"messages":[{"role":"assistant","content":"x","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"[1]"}}]}]`,
		`"messages":[{"role":"assistant","content":"x","tool_calls":[{"id":"1","type":"function"}]}]`,
	} {
		_, err := text(t, renderer(t, "qwen3", render.VLLM), members)
		var refused *render.UnrenderableError
		require.ErrorAs(t, err, &refused, members)
	}
}

func TestFeaturesOfMessages(t *testing.T) {
	r := renderer(t, "qwen3", render.VLLM)
	for members, want := range map[string]prompt.Features{
		`"messages":[` + hi + `]`:                           prompt.Chat,
		`"messages":[` + hi + `],"tools":[` + tool + `]`:    prompt.Chat | prompt.Tools,
		`"messages":[{"role":"user","content":[]}]`:         prompt.Chat | prompt.Parts,
		`"messages":[{"role":"tool","content":""}]`:         prompt.Chat | prompt.Tools,
		`"messages":[{"role":"assistant","tool_calls":[]}]`: prompt.Chat | prompt.Tools,
	} {
		got, err := text(t, r, members)
		require.NoError(t, err)
		require.Equal(t, want, got.Features, members)
	}
}

func TestTemplatesOfConfigurations(t *testing.T) {
	_, err := render.New([]byte(`{`), "", render.VLLM)
	require.ErrorContains(t, err, "not valid JSON")
	_, err = render.New([]byte(strings.Repeat("[", 16<<20)), "", render.VLLM)
	require.ErrorContains(t, err, "not valid JSON")
	_, err = render.New([]byte(`{}`), "", render.VLLM)
	require.ErrorContains(t, err, "no chat template")

	r, err := render.New([]byte(`{"chat_template":[{"name":"tool_use","template":"t"},{"name":"default","template":"{{ messages[0].content }}"}]}`), "", render.VLLM)
	require.NoError(t, err)
	got, err := text(t, r, `"messages":[`+hi+`]`)
	require.NoError(t, err)
	require.Equal(t, "hi", got.Text)
	_, err = text(t, r, `"messages":[`+hi+`],"tools":[`+tool+`]`)
	require.ErrorContains(t, err, "another template")

	// A template that goes through parts gets parts, from vLLM for plain text too.
	loop := "{% for m in messages %}{% if m.content is string %}S{% else %}{% for c in m.content %}P{{ c.text }}{% endfor %}{% endif %}{% endfor %}"
	for engine, want := range map[render.Engine]string{render.VLLM: "Phi", render.SGLang: "S"} {
		r, err = render.New([]byte(`{}`), loop, engine)
		require.NoError(t, err)
		got, err = text(t, r, `"messages":[`+hi+`]`)
		require.NoError(t, err)
		require.Equal(t, want, got.Text)
	}
	r, err = render.New([]byte(`{}`), "{# image #}{% for m in messages %}{{ m.role if m.content is string else m.content|length }}{% endfor %}", render.SGLang)
	require.NoError(t, err)
	got, err = text(t, r, `"messages":[`+hi+`,{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"tool","content":[{"type":"text","text":"x"}]}]`)
	require.NoError(t, err)
	r, err = render.New([]byte(`{}`), loop, render.VLLM)
	require.NoError(t, err)
	vllm, err := text(t, r, `"messages":[{"role":"tool","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},{"role":"tool","content":"x"}]`)
	require.NoError(t, err)
	require.Equal(t, "SS", vllm.Text, "vLLM gives text for tools")
	require.Equal(t, "user1tool", got.Text, "SGLang gives parts to a template that speaks of images, but text for tools")
	r, err = render.New([]byte(`{}`), "{% for m in messages %}{% set content = m.content %}{% for c in content %}{{ c }}{% endfor %}{% endfor %}", render.VLLM)
	require.NoError(t, err)
	_, err = text(t, r, `"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]`)
	require.ErrorContains(t, err, "may or may not")
}
