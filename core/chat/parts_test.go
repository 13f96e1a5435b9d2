package chat

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func partsOf(t *testing.T, body string, d Dialect) (list []Part) {
	t.Helper()
	var ends Ends
	f, err := PeekWith(body, d, nil, &ends)
	require.NoError(t, err)
	require.Equal(t, f.Prompt == "", f.Ends == nil)
	Parts(f.Prompt, f.Lead, f.Ends, func(p Part) { list = append(list, p) })
	var again []Part
	Parts(f.Prompt, f.Lead, nil, func(p Part) { again = append(again, p) })
	require.Equal(t, again, list, "the prompt read a second time")
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

// What is noted while the body is read and what a second look finds are the same,
// whatever of the prompt was kept.
func FuzzParts_ends(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","messages":[ {"role":"system","content":"s"} , {"role":"assistant"},3,{}]}`,
		`{"model":"m","tools":[{},{}],"messages":[{"content":[1,[2]]}],"stop":["a","b"]}`,
		`{"model":"m","system":[{}],"messages":[]}`,
		`{"model":"m","input":"text"}`,
	} {
		f.Add(body, uint16(len(body)))
	}
	f.Fuzz(func(t *testing.T, body string, kept uint16) {
		var ends Ends
		for _, d := range []Dialect{DialectChat, DialectCompletions, DialectMessages, DialectResponses, DialectGenerate} {
			facts, err := PeekWith(body, d, nil, &ends)
			if err != nil || facts.Ends == nil {
				continue
			}
			prompt := facts.Prompt[:max(facts.Lead, min(len(facts.Prompt), int(kept)))]
			var once, twice []Part
			note := func(list *[]Part) func(Part) {
				return func(p Part) {
					if strings.TrimSpace(p.Text) != "" { // where a prompt is cut, space may stand or not
						*list = append(*list, p)
					}
				}
			}
			Parts(prompt, facts.Lead, facts.Ends, note(&once))
			Parts(prompt, facts.Lead, nil, note(&twice))
			require.Equal(t, twice, once)
		}
	})
}

// A prompt of more elements than are noted is read again.
func TestParts_many(t *testing.T) {
	var ends Ends
	for n, known := range map[int]bool{maxEnds: true, maxEnds + 1: false} {
		body := `{"model":"m","messages":[` + strings.Repeat(`{"role":"user"},`, n-1) + `{"role":"user"}]}`
		facts, err := PeekWith(body, DialectChat, nil, &ends)
		require.NoError(t, err)
		require.Equal(t, known, facts.Ends != nil)
		var parts int
		Parts(facts.Prompt, 0, facts.Ends, func(Part) { parts++ })
		require.Equal(t, n, parts)
	}
}

// A prompt that was cut short has the pieces that are whole, and the rest.
func TestParts_cut(t *testing.T) {
	prompt := `[{"role":"user","content":"a"},{"role":"user","content":"b`
	var list []Part
	Parts(prompt, 0, nil, func(p Part) { list = append(list, p) })
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
	require.Zero(t, testing.AllocsPerRun(100, func() { Parts(prompt, 0, nil, func(p Part) { bytes += len(p.Text) }) }))
}
