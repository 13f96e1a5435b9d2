package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/statesvc/indexer/indexertest"
	"github.com/pointsman/pointsman/statesvc/indexer/kvindexerpb"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// remotePolicy routes model "m" by the answers of an indexer.
const remotePolicy = `, "source": "remote", "min_matched_tokens": 16`

// remotely are the lines of a state service that asks an indexer.
func remotely(url, further string) string {
	return asking + "kv: {remote: {endpoints: ['" + url + "'], block_size: 16" + further + "}}\n"
}

// asksIndexer is a rig whose state service asks the index of another one, which follows
// the same engines. The other one runs once it is started.
func asksIndexer(t *testing.T, h host, filter string, engines []fakes.Config) (r *rig, index *stateService) {
	t.Helper()
	address := envoytest.FreePort(t)
	r = newRig(t, h, setup{
		engines: engines, filter: filter, state: patient, concurrency: 2, extra: `"worker_header":true,"receipts":"log",`,
		service: remotely("http://"+address, ", timeout_ms: 5000"),
	})
	index = newStateWith(t, r.fleet, fmt.Sprintf("indexer: {listen: %q}\n", address))
	r.awaitWorkers()
	return r, index
}

// of is the rig seen from another state service.
func (r *rig) of(s *stateService) *rig {
	other := *r
	other.state = s
	return &other
}

// awaitRemote waits until prompts are looked up at the indexer.
func (r *rig) awaitRemote() {
	r.t.Helper()
	r.eventually(func() bool {
		return r.lookup("remote", chatBody("m", 4000)).Outcome != wire.LookupUnavailable
	}, "the state service looks no prompt up at the indexer")
}

// remoteLookups reads how many lookups had one of the outcomes.
func (r *rig) remoteLookups(outcomes ...string) (sum int) {
	r.t.Helper()
	resp, err := http.Get("http://" + r.state.addr + "/metrics")
	require.NoError(r.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	for _, outcome := range outcomes {
		_, after, found := strings.Cut(string(text), `pointsman_state_remote_lookups_total{outcome="`+outcome+`"} `)
		require.True(r.t, found, outcome)
		digits, _, _ := strings.Cut(after, "\n")
		n, err := strconv.Atoi(digits)
		require.NoError(r.t, err)
		sum += n
	}
	return sum
}

// Two state services, one asking the other: turns find their prefix, and what each
// engine holds is what the index says that follows the engines itself. When the other
// one goes, load decides, and the receipt says why; it comes back by itself.
func TestRemote_asks_another_state_service(t *testing.T) {
	for _, h := range oneEnvoy() {
		for _, dialect := range []fakes.Dialect{fakes.VLLM, fakes.SGLang} {
			t.Run(h.name+"/"+dialect.String(), func(t *testing.T) {
				r, index := asksIndexer(t, h, cachePolicy(remotePolicy), caching(dialect, 4))
				index.start()
				r.of(index).awaitStored()
				r.awaitRemote()
				r.awaitStored()
				chats := make([]conversation, 4)
				homes := make([]string, len(chats))
				for turn := range 3 {
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
					}
					r.of(index).awaitStored()
					r.awaitStored()
					for i := range chats {
						r.sameAsLocal(&chats[i])
					}
				}
				require.Contains(t, unescaped(r.log()), " tokens by remote")

				index.stop()
				r.eventually(func() bool {
					return r.lookup("remote", chatBody("m", 4000)).Detail != "" && strings.HasPrefix(r.lookup("remote", chatBody("m", 4000)).Detail, "unreachable: ")
				}, "the loss of the indexer is not noticed")
				chats[0].turn("anybody there?")
				r.eventually(func() bool {
					return strings.Contains(unescaped(r.log()), `by cache_unavailable`) && strings.Contains(unescaped(r.log()), `remote unavailable: "unreachable: `)
				}, "no receipt tells of the loss")
				require.Positive(t, r.remoteLookups("unreachable"))

				index.start()
				r.of(index).awaitStored()
				r.awaitRemote()
			})
		}
	}
}

// sameAsLocal holds what the indexer says of a chat against the index here.
func (r *rig) sameAsLocal(c *conversation) {
	r.t.Helper()
	var turns []string
	for _, m := range c.messages {
		turns = append(turns, m["content"])
	}
	body := turnBody(r.t, "", append(turns, "and then?")...)
	var here, there wire.Lookup
	r.eventually(func() bool {
		here, there = r.lookup("local", body), r.lookup("remote", body)
		return here.Outcome == wire.LookupHit && there.Outcome == wire.LookupHit
	}, "a prompt that was sent is not found here and there")
	require.Equal(r.t, here.Blocks, there.Blocks)
	require.Len(r.t, there.Depths, len(here.Depths))
	for i := range here.Depths {
		require.Equal(r.t, here.Depths[i].Worker, there.Depths[i].Worker)
		require.Equal(r.t, here.Depths[i].Blocks, there.Depths[i].Blocks)
	}
}

// Each model's requests ask the source of their own policy, and no other.
func TestRemote_and_local_side_by_side(t *testing.T) {
	const models = `{
	  "m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "min_matched_tokens": 16}}}}]},
	  "n": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "source": "remote", "min_matched_tokens": 16}}}}]}}`
	h := oneEnvoy()[0]
	engines := fakes.Replicate(fakes.Config{Models: []string{"m", "n"}, KV: &fakes.KVConfig{Publish: true}}, 2)
	r, index := asksIndexer(t, h, models, engines)
	index.start()
	r.of(index).awaitStored()
	r.awaitRemote()
	answered := func() int { return r.remoteLookups("empty", "matched") }
	before := answered()
	require.Equal(t, http.StatusOK, r.chat("m", 4000).status)
	require.Equal(t, before, answered(), "model m goes by the index here")
	require.Equal(t, http.StatusOK, r.chat("n", 4000).status)
	require.Equal(t, before+1, answered(), "model n goes by the indexer")
}

// An indexer that hangs, garbles or refuses: the documented outcome, within the time.
func TestRemote_bad_indexer(t *testing.T) {
	var answer atomic.Pointer[indexertest.Answer]
	x := indexertest.Start(t, func(ctx context.Context, query *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) {
		return (*answer.Load())(ctx, query)
	})
	turn := func(a indexertest.Answer) { answer.Store(&a) }
	turn(saying(nil))
	r := newRig(t, oneEnvoy()[0], setup{
		engines: caching(fakes.SGLang, 2), filter: cachePolicy(remotePolicy), state: patient, extra: `"receipts":"log",`,
		service: remotely(x.URL, ", timeout_ms: 200"),
	})
	r.awaitWorkers()
	r.awaitRemote()
	for _, c := range []struct {
		answer  indexertest.Answer
		outcome string
		status  int
	}{
		{saying([]byte("<html>no message</html>")), "senseless", http.StatusOK},
		{refusing(codes.ResourceExhausted), "overloaded", http.StatusOK},
		{refusing(codes.OutOfRange), "too_large", http.StatusOK},
		{indexertest.Hang, "timeout", http.StatusOK},
		{refusing(codes.InvalidArgument), "rejected", http.StatusInternalServerError},
	} {
		turn(c.answer)
		r.eventually(func() bool { return r.chat("m", 4000).status == c.status && r.remoteLookups(c.outcome) > 0 }, "no lookup has the outcome %s", c.outcome)
		for range 5 {
			a := r.chat("m", 4000)
			require.Equal(t, c.status, a.status, a.body)
		}
		if c.status == http.StatusOK {
			r.eventually(func() bool { return strings.Contains(unescaped(r.log()), `remote unavailable: "`+c.outcome+`: `) }, "no receipt says %s", c.outcome)
		}
	}
	turn(saying(nil))
	r.eventually(func() bool { return r.chat("m", 4000).status == http.StatusOK }, "an indexer that answers again is not heard")
}

func saying(message []byte) indexertest.Answer {
	return func(context.Context, *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) { return message, nil }
}

func refusing(code codes.Code) indexertest.Answer {
	return func(context.Context, *kvindexerpb.MatchExternalKvPrefixRequest) ([]byte, error) {
		return nil, status.Error(code, "as told")
	}
}
