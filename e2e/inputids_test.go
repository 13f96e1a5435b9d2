package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// idsModels forwards chats with their ids.
const idsModels = `{"m": {"input_ids": {}, "sampling": {"override": {"temperature": 0.5}}, "buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]}}`

// forwards is a proxy that forwards chats with their ids, once the state service tells them.
func forwards(t *testing.T, h host, dialect fakes.Dialect) *rig {
	t.Helper()
	r := newRig(t, h, setup{engines: caching(dialect, 1), filter: idsModels, service: asking, state: patient})
	r.awaitWorkers()
	r.awaitLookups()
	return r
}

// tokensOf asks the engine for the tokens of messages.
func (r *rig) tokensOf(messages string) (ids []uint32) {
	r.t.Helper()
	resp, err := http.Post("http://"+r.engine(0).Addr()+"/tokenize", "application/json", strings.NewReader(`{"model":"m","messages":`+messages+`}`))
	require.NoError(r.t, err)
	defer resp.Body.Close()
	var doc struct{ Tokens []uint32 }
	require.NoError(r.t, json.NewDecoder(resp.Body).Decode(&doc))
	require.NotEmpty(r.t, doc.Tokens)
	return doc.Tokens
}

// gets sends a chat and checks, byte for byte, what its engine was sent.
func (r *rig) gets(body, want string) answer {
	r.t.Helper()
	a := r.post(body)
	require.Equal(r.t, http.StatusOK, a.status, a.body)
	seen := r.engine(0).Requests()
	got := seen[len(seen)-1]
	require.Equal(r.t, want[:min(len(want), fakes.RecordedBody)], string(got.Body))
	require.Equal(r.t, int64(len(want)), got.BodyLength)
	require.Equal(r.t, sha256.Sum256([]byte(want)), got.BodySHA256)
	require.Equal(r.t, strconv.Itoa(len(want)), got.Header.Get("Content-Length"))
	return a
}

// idsMember is the member that is added to a body.
func idsMember(ids []uint32) string {
	text, err := json.Marshal(ids)
	if err != nil {
		panic(err)
	}
	return `,"input_ids":` + string(text)
}

const (
	asksHi   = `[{"role":"system","content":"be brief"},{"role":"user","content":"say hi \ud83d\ude00"}]`
	tempered = `,"temperature":0.5`
)

// SGLang computes with the ids that the state service made of the chat: the engine's own,
// behind the body's own bytes. They name the same prefix as the messages do.
func TestInputIDs_reach_the_engine(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			r := forwards(t, h, fakes.SGLang)
			ids := r.tokensOf(asksHi)
			body := `{ "model": "m",  "messages": ` + asksHi + `, "max_tokens": 2 `
			a := r.gets(body+"}\n", body+tempered+idsMember(ids)+"}\n")
			require.Equal(t, len(ids), usageOf(t, a).PromptTokens)

			for turn, words := range []int{3000, 12_000} { // the second one outgrows what hosts buffer of headers
				messages := fmt.Sprintf(`[{"role":"user","content":%q}]`, wordy("long", words))
				ids = r.tokensOf(messages)
				body = `{"model":"m","max_tokens":2,"messages":` + messages
				a = r.gets(body+`}`, body+tempered+idsMember(ids)+`}`)
				require.Equal(t, len(ids), usageOf(t, a).PromptTokens)
				r.awaitStored()
				a = r.gets(body+`}`, body+tempered+idsMember(ids)+`}`)
				require.Greater(t, usageOf(t, a).PromptTokensDetails.CachedTokens, len(ids)-2*block, "turn %d", turn)
			}
		})
	}
}

// Chats whose rendering depends on more than plain messages go on as they came, with what
// the sampling contract adds, and so does a chat when the state service is away.
func TestInputIDs_other_chats_stay_as_they_are(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			r := forwards(t, h, fakes.SGLang)
			user := `{"role":"user","content":"hi"}`
			for _, members := range []string{
				`"messages":[` + user + `],"input_ids":[1,2,3]`,
				`"messages":[` + user + `],"tools":[{"type":"function","function":{"name":"f"}}]`,
				`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]`,
				`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]`,
				`"messages":[` + user + `,{"role":"assistant","content":"a","reasoning_content":"r"},` + user + `]`,
				`"messages":[` + user + `,` + user + `]`,
				`"messages":[` + user + `],"chat_template_kwargs":{"enable_thinking":false}`,
				`"messages":[` + user + `],"reasoning_effort":"low"`,
				`"messages":[` + user + `,{"role":"assistant","content":"Well,"}]`,
			} {
				body := `{"model":"m","max_tokens":2,` + members
				r.gets(body+`}`, body+tempered+`}`)
			}
			text := `{"model":"m","max_tokens":2,"prompt":"hi"`
			a := r.do(http.MethodPost, "/v1/completions", jsonHeader(), strings.NewReader(text+`}`))
			require.Equal(t, http.StatusOK, a.status, a.body)
			seen := r.engine(0).Requests()
			require.Equal(t, text+tempered+`}`, string(seen[len(seen)-1].Body), "no chat")

			body := `{"model":"m","max_tokens":2,"messages":[` + user + `]`
			r.gets(body+`}`, body+tempered+idsMember(r.tokensOf(`[`+user+`]`))+`}`)
			r.state.stop()
			r.gets(body+`}`, body+tempered+`}`)
		})
	}
}

// vLLM does not read ids beside messages: its bodies carry none.
func TestInputIDs_not_for_other_engines(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			r := forwards(t, h, fakes.VLLM)
			body := `{"model":"m","max_tokens":2,"messages":` + asksHi
			r.gets(body+`}`, body+tempered+`}`)
		})
	}
}
