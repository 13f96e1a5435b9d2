package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

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
	oracleBlocks   = 1200 // of 16 tokens, for each of four engines; the sessions need 1,600
)

// tally is what a run found.
type tally struct {
	prompt int            // tokens
	cached int            // of them in the cache of the engine that was chosen
	best   int            // in that of the best engine at that moment
	used   map[string]int // requests by engine
}

func (s *tally) rate() float64   { return float64(s.cached) / float64(s.prompt) }
func (s *tally) oracle() float64 { return float64(s.best) / float64(s.prompt) }

// busiest is the most requests of one engine, by the mean.
func (s *tally) busiest(engines int) float64 {
	most, all := 0, 0
	for _, n := range s.used {
		most, all = max(most, n), all+n
	}
	return float64(most) * float64(engines) / float64(all)
}

// Every request goes to an engine that has almost all of what any engine has of its
// prompt at that moment, measured by the engines' own word.
func TestCache_hits_like_an_oracles(t *testing.T) {
	const models = `{
	  "m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]},
	  "p2": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "power_of_two"}}}}]},
	  "ch": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "consistent_hash", "key": "session"}}}}]}}`
	engines := fakes.Replicate(fakes.Config{
		Models: []string{"m", "p2", "ch"}, KVBlocks: oracleBlocks, MaxModelLen: 8192, KV: &fakes.KVConfig{Publish: true},
	}, 4)
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := caches(t, h, models, engines)
			// cache_aware comes first: an engine that is emptied says so with its next event only.
			for _, model := range []string{"m", "p2", "ch"} {
				s := r.workload(model, model == "m")
				t.Logf("%-4s hit rate %.3f, an oracle's %.3f, busiest engine %.2f of the mean", model, s.rate(), s.oracle(), s.busiest(4))
				if model == "m" {
					require.GreaterOrEqual(t, s.rate(), 0.95*s.oracle())
				}
				r.emptyCaches()
			}
		})
	}
}

// workload sends all turns, one after the other.
func (r *rig) workload(model string, indexed bool) *tally {
	order := rand.New(rand.NewPCG(1, 1))
	sessions := make([]*session, oracleSessions)
	var line []*session
	for i := range sessions {
		sessions[i] = &session{model: model, key: fmt.Sprint(model, "-", i)}
		sessions[i].say("system", wordy(fmt.Sprint("g", i%oracleShared), oracleSystem))
		for range oracleTurns {
			line = append(line, sessions[i])
		}
	}
	order.Shuffle(len(line), func(i, j int) { line[i], line[j] = line[j], line[i] })
	s := &tally{used: map[string]int{}}
	for n, c := range line {
		c.say("user", wordy(fmt.Sprint("t", n), oracleTurn))
		r.turn(c, s)
		r.awaitIdle()
		if indexed {
			r.awaitStored()
		}
	}
	return s
}

// session is a conversation with the answers that engines gave.
type session struct {
	model, key string
	messages   []map[string]string
}

func (c *session) say(role, text string) {
	c.messages = append(c.messages, map[string]string{"role": role, "content": text})
}

// turn sends a session's next request and asks every engine just before.
func (r *rig) turn(c *session, s *tally) {
	r.t.Helper()
	body, err := json.Marshal(map[string]any{"model": c.model, "messages": c.messages, "max_tokens": 8})
	require.NoError(r.t, err)
	best := 0
	for _, e := range r.fleet.Engines() {
		found, err := e.Find("/v1/chat/completions", body)
		require.NoError(r.t, err)
		best = max(best, slices.Max(found))
	}
	header := jsonHeader()
	header.Set("x-session-id", c.key)
	a := r.do(http.MethodPost, "/v1/chat/completions", header, strings.NewReader(string(body)))
	require.Equal(r.t, http.StatusOK, a.status, a.body)
	var doc struct {
		Choices []struct{ Message struct{ Content string } }
	}
	require.NoError(r.t, json.Unmarshal([]byte(a.body), &doc))
	c.say("assistant", doc.Choices[0].Message.Content)
	u := usageOf(r.t, a)
	s.prompt, s.cached, s.best = s.prompt+u.PromptTokens, s.cached+u.PromptTokensDetails.CachedTokens, s.best+best
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
