//go:build vllm

package vllm

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
)

// conversation is a chat that grows by the engines' answers.
type conversation struct {
	name     string
	further  map[string]any // members of its requests
	say      func(text string) any
	messages []map[string]any
	last     turn
}

// turn is one request and what came of it.
type turn struct {
	worker         string
	prompt, answer []uint32 // as the engine says
	content        string
	cached         int
}

// seen is all that the engine then has computed: the last token of an answer is not.
func (t *turn) seen() []uint32 {
	return append(append([]uint32(nil), t.prompt...), t.answer[:max(len(t.answer)-1, 0)]...)
}

// tide is a tool.
const tide = `{"type":"function","function":{"name":"tide","description":"Height of the tide <at> \"noon\" & later",
	"parameters":{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}}}`

func plain(text string) any { return text }

func awkward(text string) any {
	return text + "<|im_start|>system\nno<|endoftext|> \u00e9\u0301 \U0001F6A2 \u6e2f\t\r\n 12345"
}

func inParts(text string) any {
	part := func(text string) any { return map[string]any{"type": "text", "text": text} }
	half := len(text) / 2
	return []any{part(text[:half]), part(text[half:])}
}

// conversations differ in what tokenizers and templates do differently. Half of them are
// answered in words, whose text has the tokens again that the engine chose, the others in
// what a model without training says, which may not.
func conversations(words []uint32) []*conversation {
	list := []*conversation{
		{name: "tools", say: plain, further: map[string]any{"tools": []any{json.RawMessage(tide)}}},
		{name: "parts", say: inParts},
		{name: "no thinking", say: plain, further: map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": false}}},
		{name: "special tokens", say: awkward},
	}
	for _, name := range []string{"clear", "fog", "rain", "storm"} {
		list = append(list, &conversation{name: name, say: plain, further: map[string]any{"allowed_token_ids": words}})
	}
	for _, c := range list {
		c.messages = []map[string]any{{"role": "system", "content": strings.Repeat("The harbour master of "+c.name+" keeps two books. ", 12)}}
	}
	return list
}

// next is the body of the chat's next turn.
func (c *conversation) next(t testing.TB, number int) []byte {
	t.Helper()
	if c.last.worker != "" {
		c.messages = append(c.messages, map[string]any{"role": "assistant", "content": c.last.content})
	}
	c.messages = append(c.messages, map[string]any{"role": "user", "content": c.say(fmt.Sprintf("Question %d about %s: which ships came in, and from where did each of them come?", number, c.name))})
	body := map[string]any{"model": model, "messages": c.messages, "max_tokens": 70, "ignore_eos": true, "seed": number, "return_token_ids": true}
	maps.Copy(body, c.further)
	text, err := json.Marshal(body)
	require.NoError(t, err)
	return text
}

// send sends a request through the proxy.
func (r *rig) send(body []byte) turn {
	r.t.Helper()
	var reply struct {
		PromptTokenIDs []uint32 `json:"prompt_token_ids"`
		Choices        []struct {
			TokenIDs []uint32 `json:"token_ids"`
			Message  struct{ Content string }
		}
		Usage struct {
			PromptTokens        int `json:"prompt_tokens"`
			PromptTokensDetails struct {
				CachedTokens int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	header := postJSON(r.t, r.envoy.URL()+"/v1/chat/completions", body, &reply)
	require.Len(r.t, reply.Choices, 1)
	require.Len(r.t, reply.PromptTokenIDs, reply.Usage.PromptTokens)
	return turn{
		worker: header.Get("x-pointsman-worker"), prompt: reply.PromptTokenIDs, answer: reply.Choices[0].TokenIDs,
		content: reply.Choices[0].Message.Content, cached: reply.Usage.PromptTokensDetails.CachedTokens,
	}
}

// settle waits until the index has all that an engine told after a turn.
func (r *rig) settle(last *turn) {
	r.t.Helper()
	seen := last.seen()
	full := len(seen) / block * block
	r.eventually(func() bool { return r.held(last.worker, seen) == full }, "the index holds %d of %d tokens", r.held(last.worker, seen), full)
}

// first begins all chats at once, so that load spreads them.
func (r *rig) first(chats []*conversation) map[string]int {
	r.t.Helper()
	var wg sync.WaitGroup
	for _, c := range chats {
		body := c.next(r.t, 1)
		wg.Go(func() { c.last = r.send(body) })
	}
	wg.Wait()
	used := map[string]int{}
	for _, c := range chats {
		require.Zero(r.t, c.last.cached, c.name)
		used[c.last.worker]++
	}
	return used
}

// turn sends a chat's next turn once the index has the one before.
func (r *rig) turn(c *conversation, number int) ([]byte, turn) {
	r.t.Helper()
	r.settle(&c.last)
	return r.checked(c, number)
}

// checked sends a chat's next turn and checks what the receipt says against the engine.
func (r *rig) checked(c *conversation, number int) ([]byte, turn) {
	r.t.Helper()
	before := len(r.receipts())
	body := c.next(r.t, number)
	now := r.send(body)
	r.eventually(func() bool { return len(r.receipts()) > before }, "there is no receipt of %s", c.name)
	said := r.receipts()[before]
	require.Equal(r.t, now.worker, said[3])
	require.Equal(r.t, "tokenizer", said[2], "%s: who counted", c.name)
	require.Equal(r.t, strconv.Itoa(len(now.prompt)), said[1], "%s: tokens by us and by the engine", c.name)
	require.Equal(r.t, strconv.Itoa(now.cached), said[5], "%s turn %d: the depth told and found: %s", c.name, number, said[0])
	require.Empty(r.t, said[6], "%s: %s", c.name, said[0])
	r.t.Logf("%-14s turn %d: engine %s, prompt %4d, told and found in its cache %4d (%s)", c.name, number, now.worker, len(now.prompt), now.cached, said[4])
	c.last = now
	return body, now
}

// ours tokenizes as the state service does, with nothing but the model's files. The words
// are tokens of one word each.
func ours(t testing.TB) (m *tokenize.Model, words []uint32) {
	t.Helper()
	local, err := tokenize.OpenLocal(modelDir(t), render.VLLM, 1<<20)
	require.NoError(t, err)
	require.Empty(t, local.Refusals)
	words, err = local.Encode(t.Context(), nil, " ship tide wind from the north and west with corn salt wool")
	require.NoError(t, err)
	m = tokenize.New(tokenize.Options{Name: model, Local: local, API: render.VLLM, Trust: true})
	t.Cleanup(m.Close)
	return m, words
}

// Conversations stay at the engine that has them in its cache, by its own word; what is
// counted and foretold here is what it counts and finds. An engine that begins anew is
// forgotten.
func TestVLLM_conversations(t *testing.T) {
	r := newRig(t)
	tokens, words := ours(t)
	chats := conversations(words)
	used := r.first(chats)
	t.Logf("chats by engine: %v", used)
	require.Len(t, used, 2, "one engine has them all")
	for number := 2; number <= 4; number++ {
		for _, c := range chats {
			home := c.last.worker
			body, now := r.turn(c, number)
			require.Equal(t, home, now.worker, "%s leaves", c.name)
			require.Positive(t, now.cached, c.name)

			local, err := tokens.Tokens(t.Context(), chat.DialectChat, string(body))
			require.NoError(t, err)
			require.Equal(t, tokenize.Exact, local.Certainty, "%s: %s", c.name, local.Local)
			require.Equal(t, now.prompt, local.IDs, "%s: tokens by the model's files and by the engine", c.name)
			require.Equal(t, now.prompt, r.engines[now.worker].tokenize(body), "%s: the engine's /tokenize", c.name)
		}
	}
	require.Regexp(t, `pointsman_state_streamed_calls_total\{outcome="taken"\} [1-9]`, r.ofState("/metrics"), "no call came on a stream")
	r.neverDiffered()
	r.restart(chats)
}

// neverDiffered requires that the model's files told all tokens, and that all comparisons
// with the engines agreed.
func (r *rig) neverDiffered() {
	r.t.Helper()
	for line := range strings.Lines(r.ofState("/metrics")) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "pointsman_state_tokens_answers_total"):
			require.Contains(r.t, line, `origin="bpe"`)
			r.t.Log(line)
		case strings.HasPrefix(line, "pointsman_state_tokens_compared_total"):
			require.Equal(r.t, strings.Contains(line, `result="different"`), strings.HasSuffix(line, " 0"), line)
			r.t.Log(line)
		}
	}
}

// restart ends an engine and lets it begin anew at the same address: what it held is
// forgotten, and its chats, computed once more, are found again.
func (r *rig) restart(chats []*conversation) {
	t, e := r.t, r.engines["one"]
	before := r.workers()[e.id].Generation
	for _, c := range chats {
		r.settle(&c.last)
	}
	e.stop()
	e.start()
	e.await()
	r.eventually(func() bool { w := r.workers()[e.id]; return w.Healthy && w.Generation > before }, "the restart is not seen")
	for _, c := range chats {
		if c.last.worker == e.id {
			require.Zero(t, r.held(e.id, c.last.seen()), c.name)
		} else {
			require.Positive(t, r.held(c.last.worker, c.last.seen()), c.name)
		}
	}
	for _, c := range chats {
		home := c.last.worker
		if home == e.id {
			_, now := r.checked(c, 5)
			require.Zero(t, now.cached, "%s: nobody has it", c.name)
			home = now.worker
		}
		_, now := r.turn(c, 6)
		require.Equal(t, home, now.worker, "%s leaves", c.name)
		require.Positive(t, now.cached, c.name)
	}
}
