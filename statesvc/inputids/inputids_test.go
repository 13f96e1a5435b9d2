package inputids_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/inputids"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

const (
	system    = `{"role":"system","content":"be brief"}`
	user      = `{"role":"user","content":"hi"}`
	assistant = `{"role":"assistant","content":"yes"}`
)

func messages(list string) string { return `{"model":"m","messages":[` + list + `]}` }

func with(members string) string { return `{"model":"m",` + members + `,"messages":[` + user + `]}` }

// The exclusions of engine-selection.md 12.5. Where several apply the first one in its
// order is named.
func TestShape(t *testing.T) {
	for body, want := range map[string]wirepb.InputIDsVerdict{
		messages(user):                                                                           wirepb.InputIDsVerdict_INPUT_IDS_GIVEN,
		messages(system + "," + user):                                                            wirepb.InputIDsVerdict_INPUT_IDS_GIVEN,
		messages(user + "," + assistant + "," + user):                                            wirepb.InputIDsVerdict_INPUT_IDS_GIVEN,
		messages(`{"content":"hi","role":"user","name":"n"}`):                                    wirepb.InputIDsVerdict_INPUT_IDS_GIVEN,
		messages(`{"role":"us\u0065r","content":"h\u0069"}`):                                     wirepb.InputIDsVerdict_INPUT_IDS_GIVEN,
		with(`"tools":[],"stream":true,"n":2,"temperature":0.5`):                                 wirepb.InputIDsVerdict_INPUT_IDS_GIVEN,
		with(`"tools":null,"input_ids":null,"task":null`):                                        wirepb.InputIDsVerdict_INPUT_IDS_GIVEN,
		with(`"add_generation_prompt":true,"continue_final_message":false,"tool_choice":"auto"`): wirepb.InputIDsVerdict_INPUT_IDS_GIVEN,

		with(`"input_ids":[1,2]`):         wirepb.InputIDsVerdict_INPUT_IDS_CALLER,
		with(`"input_ids":[]`):            wirepb.InputIDsVerdict_INPUT_IDS_CALLER,
		with(`"input\u005fids":[1]`):      wirepb.InputIDsVerdict_INPUT_IDS_CALLER,
		with(`"input_embeds":[[0.5]]`):    wirepb.InputIDsVerdict_INPUT_IDS_CALLER,
		`{"model":"m","input_ids":[1,2]}`: wirepb.InputIDsVerdict_INPUT_IDS_CALLER,

		`{"model":"m"}`:                             wirepb.InputIDsVerdict_INPUT_IDS_NO_MESSAGES,
		`{"model":"m","messages":null}`:             wirepb.InputIDsVerdict_INPUT_IDS_NO_MESSAGES,
		`{"model":"m","messages":"hi","tools":[1]}`: wirepb.InputIDsVerdict_INPUT_IDS_NO_MESSAGES,
		messages(""):                                wirepb.InputIDsVerdict_INPUT_IDS_NO_MESSAGES,
		`{"messages":[` + user + `],"messages":[]}`: wirepb.InputIDsVerdict_INPUT_IDS_NO_MESSAGES,
		with(`"tools":[{"type":"function"}]`):       wirepb.InputIDsVerdict_INPUT_IDS_TOOLS,
		with(`"tools":[1],"tools":null`):            wirepb.InputIDsVerdict_INPUT_IDS_TOOLS,
		with(`"functions":[{}]`):                    wirepb.InputIDsVerdict_INPUT_IDS_TOOLS,
		with(`"tool_choice":"required"`):            wirepb.InputIDsVerdict_INPUT_IDS_TOOLS,
		with(`"tool_choice":{"type":"function"}`):   wirepb.InputIDsVerdict_INPUT_IDS_TOOLS,
		messages(user + `,{"role":"assistant","content":null,"tool_calls":[{}]}`): wirepb.InputIDsVerdict_INPUT_IDS_TOOLS,
		messages(user + `,{"role":"tool","content":"4"}`):                         wirepb.InputIDsVerdict_INPUT_IDS_TOOLS,

		messages(`{"role":"user","content":[{"type":"text","text":"hi"}]}`):           wirepb.InputIDsVerdict_INPUT_IDS_NON_TEXT_CONTENT,
		messages(`{"role":"user","content":[{"type":"image_url","image_url":{}}]}`):   wirepb.InputIDsVerdict_INPUT_IDS_NON_TEXT_CONTENT,
		messages(`{"role":"user","content":null}`):                                    wirepb.InputIDsVerdict_INPUT_IDS_NON_TEXT_CONTENT,
		messages(`{"role":"user"}`):                                                   wirepb.InputIDsVerdict_INPUT_IDS_NON_TEXT_CONTENT,
		messages(`"hi"`):                                                              wirepb.InputIDsVerdict_INPUT_IDS_NON_TEXT_CONTENT,
		messages(user + `,{"role":"assistant","content":"y","reasoning_content":""}`): wirepb.InputIDsVerdict_INPUT_IDS_REASONING_CONTENT,
		messages(user + `,{"role":"assistant","content":"y","reasoning":"r"}`):        wirepb.InputIDsVerdict_INPUT_IDS_REASONING_CONTENT,

		messages(user + "," + user):                     wirepb.InputIDsVerdict_INPUT_IDS_ROLE_REWRITE,
		messages(user + "," + system):                   wirepb.InputIDsVerdict_INPUT_IDS_ROLE_REWRITE,
		messages(system + "," + system):                 wirepb.InputIDsVerdict_INPUT_IDS_ROLE_REWRITE,
		messages(`{"role":"developer","content":"hi"}`): wirepb.InputIDsVerdict_INPUT_IDS_ROLE_REWRITE,
		messages(`{"content":"hi"}`):                    wirepb.InputIDsVerdict_INPUT_IDS_ROLE_REWRITE,

		with(`"chat_template":"{{x}}"`):                    wirepb.InputIDsVerdict_INPUT_IDS_TEMPLATE_CONTROLS,
		with(`"chat_template_kwargs":{}`):                  wirepb.InputIDsVerdict_INPUT_IDS_TEMPLATE_CONTROLS,
		with(`"reasoning":{"effort":"low"}`):               wirepb.InputIDsVerdict_INPUT_IDS_TEMPLATE_CONTROLS,
		with(`"reasoning_effort":"low"`):                   wirepb.InputIDsVerdict_INPUT_IDS_TEMPLATE_CONTROLS,
		with(`"task":"t"`):                                 wirepb.InputIDsVerdict_INPUT_IDS_TEMPLATE_CONTROLS,
		with(`"add_generation_prompt":false`):              wirepb.InputIDsVerdict_INPUT_IDS_TEMPLATE_CONTROLS,
		with(`"truncate_prompt_tokens":5`):                 wirepb.InputIDsVerdict_INPUT_IDS_TEMPLATE_CONTROLS,
		messages(user + "," + assistant):                   wirepb.InputIDsVerdict_INPUT_IDS_ASSISTANT_CONTINUATION,
		with(`"continue_final_message":true`):              wirepb.InputIDsVerdict_INPUT_IDS_ASSISTANT_CONTINUATION,
		messages(`{"role":"assistant","content":"I say"}`): wirepb.InputIDsVerdict_INPUT_IDS_ASSISTANT_CONTINUATION,
	} {
		require.Equal(t, want.String(), inputids.Shape(body).String(), body)
	}
}

// Ids are given when they are certain, were compared with an engine's and are not too
// many.
func TestOf(t *testing.T) {
	good := tokenize.Tokens{IDs: []uint32{5, 6, 7}, Certainty: tokenize.Exact, Origin: tokenize.FromBPE, Compared: true}
	change := func(edit func(*tokenize.Tokens)) tokenize.Tokens {
		tokens := good
		edit(&tokens)
		return tokens
	}
	for name, tt := range map[string]struct {
		tokens tokenize.Tokens
		most   uint32
		want   wirepb.InputIDsVerdict
	}{
		"given":     {good, 3, wirepb.InputIDsVerdict_INPUT_IDS_GIVEN},
		"too long":  {good, 2, wirepb.InputIDsVerdict_INPUT_IDS_TOO_LONG},
		"on trust":  {change(func(t *tokenize.Tokens) { t.Compared = false }), 3, wirepb.InputIDsVerdict_INPUT_IDS_UNVERIFIED},
		"counted":   {change(func(t *tokenize.Tokens) { t.Certainty = tokenize.Counted }), 3, wirepb.InputIDsVerdict_INPUT_IDS_TOKENIZE_FAILED},
		"none":      {change(func(t *tokenize.Tokens) { t.IDs = nil }), 3, wirepb.InputIDsVerdict_INPUT_IDS_TOKENIZE_FAILED},
		"too large": {tokenize.Tokens{Reason: tokenize.ReasonTooLarge}, 3, wirepb.InputIDsVerdict_INPUT_IDS_TOKENIZE_FAILED},
	} {
		t.Run(name, func(t *testing.T) {
			got := inputids.Of(chat.DialectChat, messages(user), &tt.tokens, tt.most)
			require.Equal(t, tt.want.String(), got.GetVerdict().String())
			if tt.want == wirepb.InputIDsVerdict_INPUT_IDS_GIVEN {
				require.Equal(t, good.IDs, got.GetIds())
			} else {
				require.Empty(t, got.GetIds())
			}
		})
	}
	got := inputids.Of(chat.DialectCompletions, `{"model":"m","prompt":"hi"}`, &good, 3)
	require.Equal(t, wirepb.InputIDsVerdict_INPUT_IDS_NO_MESSAGES, got.GetVerdict())
	require.Equal(t, wirepb.InputIDsVerdict_INPUT_IDS_TOOLS, inputids.Of(chat.DialectChat, with(`"tools":[1]`), &tokenize.Tokens{}, 3).GetVerdict(),
		"what the chat is like goes before what is known of it")
}
