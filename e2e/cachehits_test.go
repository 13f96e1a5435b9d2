package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// asking has the state service ask engines for tokens, whose calls may take as long
// as a busy machine makes them.
const asking = "tokenize: {ask_engines: true, timeout_ms: 10000}\n"

// caching are engines with a prefix cache that publish what it does.
func caching(dialect fakes.Dialect, n int) []fakes.Config {
	return fakes.Replicate(fakes.Config{Models: []string{"m"}, Dialect: dialect, KV: &fakes.KVConfig{Publish: true}}, n)
}

// block is the tokens of a block of the engines.
const block = 16

// conversation is a chat that grows by its answers.
type conversation struct {
	r        *rig
	messages []map[string]string
	asked    int // tokens of the last prompt
}

func (c *conversation) turn(text string) (answer, usage) {
	c.r.t.Helper()
	c.messages = append(c.messages, map[string]string{"role": "user", "content": text})
	body, err := json.Marshal(map[string]any{"model": "m", "messages": c.messages, "max_tokens": 8})
	require.NoError(c.r.t, err)
	a := c.r.post(string(body))
	require.Equal(c.r.t, http.StatusOK, a.status, a.body)
	var doc struct {
		Choices []struct{ Message struct{ Content string } }
		Usage   usage
	}
	require.NoError(c.r.t, json.Unmarshal([]byte(a.body), &doc))
	c.messages = append(c.messages, map[string]string{"role": "assistant", "content": doc.Choices[0].Message.Content})
	return a, doc.Usage
}

// usage is what an engine says of a request.
type usage struct {
	PromptTokens        int `json:"prompt_tokens"`
	PromptTokensDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// awaitStored waits until the index has all that the engines said. An engine says what it
// holds of a prompt after it has answered, so what is in it must end first.
func (r *rig) awaitStored() {
	r.t.Helper()
	r.awaitIdle()
	r.eventually(func() bool {
		for _, e := range r.fleet.Engines() {
			resp, err := http.Get("http://" + r.state.addr + "/v1/index?worker=" + e.Name())
			if err != nil {
				return false
			}
			var view struct {
				Engines []struct {
					Trust   string
					Streams []struct{ Last int64 }
				}
			}
			err = json.NewDecoder(resp.Body).Decode(&view)
			_ = resp.Body.Close()
			if err != nil || len(view.Engines) != 1 || view.Engines[0].Trust != "full" || len(view.Engines[0].Streams) != e.Config().Ranks {
				return false
			}
			for rank, stream := range view.Engines[0].Streams {
				if feed, ok := e.Feed(rank); !ok || stream.Last != int64(feed.Next())-1 {
					return false
				}
			}
		}
		return true
	}, "the index lacks what engines said")
}

// D: a turn goes to the engine that holds the conversation, which its own usage
// shows, whichever of the two ways of saying so it has.
func TestCacheAware_turns_find_their_prefix(t *testing.T) {
	const models = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "min_matched_tokens": 16}}}}]}}`
	for _, h := range oneEnvoy() {
		for _, dialect := range []fakes.Dialect{fakes.VLLM, fakes.SGLang} {
			t.Run(h.name+"/"+dialect.String(), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, h, setup{engines: caching(dialect, 4), filter: models, service: asking, state: patient, concurrency: 2})
				r.awaitWorkers()
				r.awaitStored()
				chats := make([]conversation, 6)
				homes := make([]string, len(chats))
				for turn := range 4 {
					for i := range chats {
						c := &chats[i]
						c.r = r
						a, u := c.turn(fmt.Sprintf("%d of chat %d: %s", turn, i, strings.Repeat(fmt.Sprint("word", i, " "), 60)))
						before := c.asked
						c.asked = u.PromptTokens
						if turn == 0 {
							homes[i] = a.engine()
							continue
						}
						require.Equal(t, homes[i], a.engine(), "chat %d turn %d", i, turn)
						require.Greater(t, u.PromptTokensDetails.CachedTokens, before-block, "chat %d turn %d", i, turn)
						require.Less(t, u.PromptTokensDetails.CachedTokens, u.PromptTokens)
					}
					r.awaitStored()
				}
			})
		}
	}
}

// Bucket limits go by what the engine's own tokenizer counts.
func TestLengths_by_the_engines_tokenizer(t *testing.T) {
	const models = `{"m": {"buckets": [
	  {"id": "short", "limits": {"max": 60}, "groups": {"plain": {"worker_ids": ["engine-0"], "policy": {"type": "random"}}}},
	  {"id": "long", "groups": {"plain": {"worker_ids": ["engine-1"], "policy": {"type": "random"}}}}]}}`
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fakes.Replicate(fakes.Config{Models: []string{"m"}}, 2), filter: models, service: asking, state: patient})
			r.awaitWorkers()
			// The tokenizer is known to the service a second after the engines are.
			const long = `{"model":"m","max_tokens":4,"metadata":{"x":"%s"},"messages":[{"role":"user","content":"hello"}]}`
			r.eventually(func() bool { return r.post(fmt.Sprintf(long, strings.Repeat("a", 4000))).engine() == "engine-0" }, "a few tokens, a thousand by the estimate, are not counted")
			require.Equal(t, "engine-1", r.chat("m", 4000).engine())
		})
	}
}
