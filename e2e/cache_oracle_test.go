package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// The multi-turn workload: sessions that grow turn by turn behind a few shared system
// prompts, in random order, and engines that cannot keep all of them.
const (
	oracleSessions = 50
	oracleTurns    = 8
	oracleShared   = 4
	oracleSystem   = 1500 // tokens
	oracleTurn     = 200
	oracleBusiest  = 1.25 // times the mean
	oracleBlocks   = 1200 // of 16 tokens, for each of four engines; the sessions need 1,600
)

// tally is what a run found.
type tally struct {
	prompt int            // tokens
	cached int            // of them in the cache of the engine that was chosen
	used   map[string]int // requests by engine
}

func (s *tally) rate() float64 { return float64(s.cached) / float64(s.prompt) }

// busiest is the most requests of one engine, by the mean.
func (s *tally) busiest(engines int) float64 {
	most, all := 0, 0
	for _, n := range s.used {
		most, all = max(most, n), all+n
	}
	return float64(most) * float64(engines) / float64(all)
}

// oracleModels are the policies of one proxy before the same engines: cache_aware as
// it is recommended, by the index and by history, and others to compare it with.
func oracleModels(t *testing.T) string {
	t.Helper()
	return cacheModels(map[string]string{
		"m":  recommended(t),
		"h":  policyIn(t, "cache-aware-by-history.json"),
		"p2": `{"type": "power_of_two"}`,
		"ch": `{"type": "consistent_hash", "key": "session"}`,
	})
}

// recommended is the shipped policy of cache_aware by the index.
func recommended(t *testing.T) string { return policyIn(t, "cache-aware.json") }

// policyIn is the policy of a shipped configuration.
func policyIn(t *testing.T, name string) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(envoytest.Root(t), "configs", "filter", name))
	require.NoError(t, err)
	var doc struct {
		Models map[string]struct {
			Buckets []struct {
				Groups struct {
					Plain struct{ Policy json.RawMessage }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(file, &doc))
	return string(doc.Models["demo"].Buckets[0].Groups.Plain.Policy)
}

// oracleOrders are the orders of the turns: several where they cost little.
func oracleOrders(h host) []uint64 {
	if h.version != "" {
		return []uint64{1}
	}
	return []uint64{1, 2, 3, 4}
}

// cache_aware has almost the hits of an oracle that knows the whole workload and no
// router: each system prompt has an engine of its own, which computes it once and has
// its share of the sessions. The oracle's requests are sent past the proxy. So it has by
// history, which asks nobody; by the index it asks on a stream, as it is shipped.
func TestCache_hits_like_an_oracles(t *testing.T) {
	engines := fakes.Replicate(fakes.Config{
		Models: []string{"m", "h", "p2", "ch"}, KVBlocks: oracleBlocks, MaxModelLen: 8192, KV: &fakes.KVConfig{Publish: true},
	}, 4)
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			for _, order := range oracleOrders(h) {
				t.Run(fmt.Sprint("order-", order), func(t *testing.T) {
					r := caches(t, h, oracleModels(t), engines, `,"call_stream":true`)
					// cache_aware comes first: an engine that is emptied says so with its next event only.
					routed := r.workload("m", order, r.route, true)
					r.emptyCaches()
					oracle := r.workload("m", order, r.place, false)
					r.emptyCaches()
					remembered := r.workload("h", order, r.route, false)
					r.emptyCaches()
					blind := r.workload("p2", order, r.route, false)
					r.emptyCaches()
					hashed := r.workload("ch", order, r.route, false)
					for _, s := range []struct {
						name string
						*tally
					}{{"cache_aware", routed}, {"by history", remembered}, {"oracle", oracle}, {"power_of_two", blind}, {"consistent_hash", hashed}} {
						t.Logf("%-15s hit rate %.3f, busiest engine %.2f of the mean", s.name, s.rate(), s.busiest(len(engines)))
					}
					best := max(oracle.rate(), blind.rate(), hashed.rate())
					require.GreaterOrEqual(t, routed.rate(), 0.95*best)
					require.GreaterOrEqual(t, remembered.rate(), 0.95*best)
					require.Greater(t, min(routed.rate(), remembered.rate()), blind.rate())
					require.LessOrEqual(t, routed.busiest(len(engines)), oracleBusiest)
					require.LessOrEqual(t, remembered.busiest(len(engines)), oracleBusiest)
					require.Positive(t, r.counter(streamOpened), "no call went on a stream")
				})
			}
		})
	}
}

// workload sends all turns, one after the other, in an order of its own for each seed.
func (r *rig) workload(model string, seed uint64, send func(*session, []byte) answer, indexed bool) *tally {
	order := rand.New(rand.NewPCG(seed, 1))
	sessions := make([]*session, oracleSessions)
	var line []*session
	for i := range sessions {
		sessions[i] = &session{model: model, key: fmt.Sprint(model, "-", i), group: i % oracleShared}
		sessions[i].say("system", wordy(fmt.Sprint("g", i%oracleShared), oracleSystem))
		for range oracleTurns {
			line = append(line, sessions[i])
		}
	}
	order.Shuffle(len(line), func(i, j int) { line[i], line[j] = line[j], line[i] })
	s := &tally{used: map[string]int{}}
	for n, c := range line {
		c.say("user", wordy(fmt.Sprint("t", n), oracleTurn))
		r.turn(c, send, s)
		r.awaitIdle()
		if indexed {
			r.awaitStored()
		}
	}
	return s
}

// route sends a session's request through the proxy.
func (r *rig) route(c *session, body []byte) answer {
	header := jsonHeader()
	header.Set("x-session-id", c.key)
	return r.do(http.MethodPost, "/v1/chat/completions", header, strings.NewReader(string(body)))
}

// place sends it to the engine of its system prompt.
func (r *rig) place(c *session, body []byte) answer {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.engine(c.group).URL()+"/v1/chat/completions", strings.NewReader(string(body)))
	require.NoError(r.t, err)
	req.Header = jsonHeader()
	return r.send(req)
}

// session is a conversation with the answers that engines gave.
type session struct {
	model, key string
	group      int // of its system prompt
	messages   []map[string]string
}

func (c *session) say(role, text string) {
	c.messages = append(c.messages, map[string]string{"role": role, "content": text})
}

// turn sends a session's next request and has it go on from the answer.
func (r *rig) turn(c *session, send func(*session, []byte) answer, s *tally) {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"model": c.model, "messages": c.messages, "max_tokens": 8})
	require.NoError(r.t, err)
	a := send(c, body)
	require.Equal(r.t, http.StatusOK, a.status, a.body)
	var doc struct {
		Choices []struct{ Message struct{ Content string } }
	}
	require.NoError(r.t, json.Unmarshal([]byte(a.body), &doc))
	c.say("assistant", doc.Choices[0].Message.Content)
	u := usageOf(r.t, a)
	s.prompt, s.cached = s.prompt+u.PromptTokens, s.cached+u.PromptTokensDetails.CachedTokens
	s.used[a.engine()]++
}

// awaitIdle waits until no engine has anything to do with a request any more.
func (r *rig) awaitIdle() {
	r.t.Helper()
	r.eventually(func() bool {
		for _, e := range r.fleet.Engines() {
			if e.Counters().InFlight > 0 {
				return false
			}
		}
		return true
	}, "engines are busy")
}

// emptyCaches has the engines forget all prompts.
func (r *rig) emptyCaches() {
	r.t.Helper()
	for _, e := range r.fleet.Engines() {
		resp, err := http.Post(e.URL()+"/reset_prefix_cache", "application/json", nil)
		require.NoError(r.t, err)
		require.NoError(r.t, resp.Body.Close())
		require.Equal(r.t, http.StatusOK, resp.StatusCode)
	}
}
