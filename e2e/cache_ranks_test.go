package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// An engine of several ranks is told which of them holds the prompt, and finds it there.
// Which rank a client names makes no difference: a new prompt goes to any, an old one to
// its own.
func TestCache_ranks(t *testing.T) {
	for _, h := range oneEnvoy() {
		for _, dialect := range []fakes.Dialect{fakes.VLLM, fakes.SGLang} {
			if h.version != "" && dialect == fakes.SGLang {
				continue // the filter sees no difference
			}
			t.Run(h.name+"/"+dialect.String(), func(t *testing.T) {
				t.Parallel()
				engines := caching(dialect, 2)
				for i := range engines {
					engines[i].Ranks = 4
				}
				r := caches(t, h, cachePolicy(""), engines)
				const chats = 6
				ranks := map[string]bool{}
				for turn := range 2 {
					for i := range chats {
						body := turnBody(t, prefixOf("chat", i), fmt.Sprint("turn ", turn))
						a, rank := r.named(body, "1")
						if turn == 0 {
							require.Empty(t, rank, "nobody holds it: the engine chooses")
							continue
						}
						require.NotEmpty(t, rank)
						require.Greater(t, usageOf(t, a).PromptTokensDetails.CachedTokens, 1400, "chat %d", i)
						ranks[a.engine()+rank] = true
					}
					r.awaitIdle()
					r.awaitStored()
				}
				require.Greater(t, len(ranks), 2, "%v", ranks)
			})
		}
	}
}

// named sends a chat whose client names a rank, and gives the rank that its engine was
// told, empty for none.
func (r *rig) named(body, rank string) (a answer, told string) {
	r.t.Helper()
	header := jsonHeader()
	header.Set("X-Data-Parallel-Rank", rank)
	a = r.do(http.MethodPost, "/v1/chat/completions", header, strings.NewReader(body))
	require.Equal(r.t, http.StatusOK, a.status, a.body)
	for _, e := range r.fleet.Engines() {
		if e.Name() == a.engine() {
			seen := e.Requests()
			return a, seen[len(seen)-1].Header.Get("X-Data-Parallel-Rank")
		}
	}
	return a, ""
}
