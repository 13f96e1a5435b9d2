package chat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func partsOf(t *testing.T, body string, d Dialect) (list []Part) {
	t.Helper()
	f, err := Peek(body, d)
	require.NoError(t, err)
	Parts(f.Prompt, f.Lead, func(p Part) { list = append(list, p) })
	return list
}

func TestParts_messages(t *testing.T) {
	body := `{"model":"m","messages":[ {"role":"system","content":"s"}, {"role": "user","content":[{"text":"a, b"}]},{"content":"x","role":"assistant"},{"role": "assistant","content":"\"role\""},{"content":"assistant"} ]}`
	require.Equal(t, []Part{
		{`[ {"role":"system","content":"s"}`, true, false},
		{`, {"role": "user","content":[{"text":"a, b"}]}`, true, false},
		{`,{"content":"x","role":"assistant"}`, true, true},
		{`,{"role": "assistant","content":"\"role\""}`, true, true},
		{`,{"content":"assistant"}`, true, false},
	}, partsOf(t, body, DialectChat))
}

// Two bodies of one conversation have the former's pieces in common.
func TestParts_grow(t *testing.T) {
	first := partsOf(t, `{"model":"m","messages":[{"role":"user","content":"a"}]}`, DialectChat)
	second := partsOf(t, `{"model":"m","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, DialectChat)
	require.Equal(t, first, second[:1])
	require.True(t, second[1].Answer)
}

func TestParts_other_prompts(t *testing.T) {
	for _, tt := range []struct {
		dialect Dialect
		body    string
		want    []Part
	}{
		{DialectCompletions, `{"model":"m","prompt":"once upon"}`, []Part{{`"once upon"`, false, false}}},
		{DialectCompletions, `{"model":"m","prompt":[1,2,3]}`, []Part{{`[1,2,3]`, false, false}}},
		{DialectCompletions, `{"model":"m"}`, nil},
		{DialectChat, `{"model":"m","messages":[]}`, []Part{{`[]`, false, false}}},
		{DialectChat, `{"model":"m","messages":7}`, []Part{{`7`, false, false}}},
		{DialectChat, `{"model":"m","messages":[{},3]}`, []Part{{`[{}`, true, false}, {`,3]`, false, false}}},
		{DialectMessages, `{"model":"m","messages":[{"role":"user"}],"system":"be"}`, []Part{{`"be"`, true, false}, {`[{"role":"user"}`, true, false}}},
		{DialectResponses, `{"model":"m","input":"hi","instructions":"be"}`, []Part{{`"be"`, true, false}, {`"hi"`, false, false}}},
	} {
		require.Equal(t, tt.want, partsOf(t, tt.body, tt.dialect), tt.body)
	}
}

// A prompt that was cut short has the pieces that are whole, and the rest.
func TestParts_cut(t *testing.T) {
	prompt := `[{"role":"user","content":"a"},{"role":"user","content":"b`
	var list []Part
	Parts(prompt, 0, func(p Part) { list = append(list, p) })
	require.Equal(t, []Part{{`[{"role":"user","content":"a"}`, true, false}, {`,{"role":"user","content":"b`, false, false}}, list)
}

// D11: the same messages with other tools are another prompt, and so are other
// template arguments.
func TestPeek_tools_and_template(t *testing.T) {
	f, err := Peek(`{"model":"m","tools":[{"z":1,"a":2}],"chat_template_kwargs":{"think":false},"messages":[],"reasoning_effort":"low"}`, DialectChat)
	require.NoError(t, err)
	require.Equal(t, `[{"z":1,"a":2}]`, f.Tools, "as the client wrote it")
	require.Equal(t, `{"think":false}"low"`, f.Template)
	f, err = Peek(`{"model":"m","tools":[1],"prompt":""}`, DialectCompletions)
	require.NoError(t, err)
	require.Empty(t, f.Tools)
}

func TestParts_allocate_nothing(t *testing.T) {
	prompt := "[" + strings.Repeat(`{"role":"user","content":"hello"},`, 50) + `{"role":"assistant","content":"x"}]`
	var bytes int
	require.Zero(t, testing.AllocsPerRun(100, func() { Parts(prompt, 0, func(p Part) { bytes += len(p.Text) }) }))
}
