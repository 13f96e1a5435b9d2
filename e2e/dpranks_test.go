package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// toldRanks counts the ranks that the engines were told, by engine.
func (r *rig) toldRanks() map[string]map[string]int {
	told := map[string]map[string]int{}
	for _, e := range r.fleet.Engines() {
		told[e.Name()] = map[string]int{}
		for _, seen := range e.Requests() {
			told[e.Name()][seen.Header.Get("X-Data-Parallel-Rank")]++
		}
	}
	return told
}

// With a rank for every request, those of an engine that meet are spread over its ranks
// evenly, and a session keeps to the one of its key: 1 of 8 for session-42
// (engine-selection.md 8.7). How many ranks an engine has is found out: SGLang says it,
// vLLM's metrics tell of each. One that has none to choose from is told nothing.
func TestDPRanks_always(t *testing.T) {
	const models = `{"m": {"dp_ranks": "always", "buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}`
	for _, h := range oneEnvoy() {
		for _, dialect := range []fakes.Dialect{fakes.VLLM, fakes.SGLang} {
			if h.version != "" && dialect == fakes.SGLang {
				continue // the filter sees no difference
			}
			t.Run(h.name+"/"+dialect.String(), func(t *testing.T) {
				engines := fakes.Replicate(fakes.Config{Models: []string{"m"}, Dialect: dialect, Slots: 64}, 2)
				engines[0].Ranks, engines[1].Ranks = 4, 1
				r := newRig(t, h, setup{engines: engines, filter: models, state: patient, extra: `"worker_header":true,`})
				r.awaitWorkers()
				r.eventually(func() bool {
					a, rank := r.named(chatBody("m", 20), "3")
					return a.engine() == r.engine(0).Name() && rank != ""
				}, "no rank is ever told")
				r.awaitInflight(0)
				r.fleet.Reset()

				r.meet(32)
				told := r.toldRanks()
				require.Equal(t, map[string]int{"0": 4, "1": 4, "2": 4, "3": 4}, told[r.engine(0).Name()])
				require.Equal(t, map[string]int{"": 16}, told[r.engine(1).Name()])

				r.awaitInflight(0)
				r.fleet.Reset()
				for range 6 {
					a := r.chatWith("x-session-id", "session-42", "x-data-parallel-rank", "3")
					require.Equal(t, http.StatusOK, a.status, a.body)
				}
				told = r.toldRanks()
				require.Equal(t, map[string]int{"1": 3}, told[r.engine(0).Name()])
				require.Equal(t, map[string]int{"": 3}, told[r.engine(1).Name()])
			})
		}
	}
}

// A burst with one new prefix is computed by one rank. Of ranks that hold as much the one
// with fewer requests in flight is told.
func TestDPRanks_share_what_they_hold(t *testing.T) {
	models := strings.Replace(cachePolicy(""), `{"buckets"`, `{"dp_ranks": "always", "buckets"`, 1)
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			engines := caching(fakes.VLLM, 1)
			engines[0].Ranks = 2
			r := newRig(t, h, setup{engines: engines, filter: models, service: asking, state: patient})
			r.awaitWorkers()
			r.awaitLookups()
			r.fleet.Reset()
			r.burst(8, "m", prefixOf("cold", 1))
			require.Len(t, r.toldRanks()[r.engine(0).Name()], 1)
			r.awaitInflight(0)

			system := prefixOf("shared", 1)
			for rank := range 2 { // both ranks compute it
				header := jsonHeader()
				header.Set("X-Data-Parallel-Rank", fmt.Sprint(rank))
				req, err := http.NewRequest(http.MethodPost, "http://"+r.engine(0).Addr()+"/v1/chat/completions", strings.NewReader(turnBody(t, system, "first")))
				require.NoError(t, err)
				req.Header = header
				require.Equal(t, http.StatusOK, r.send(req).status)
			}
			r.awaitStored()
			r.fleet.Reset()
			r.burst(8, "m", system)
			require.Equal(t, map[string]int{"0": 4, "1": 4}, r.toldRanks()[r.engine(0).Name()])
		})
	}
}

// meet sends small chats that are all at their engines before any is answered.
func (r *rig) meet(n int) {
	r.t.Helper()
	for _, e := range r.fleet.Engines() {
		e.Hang(fakes.HangInference)
	}
	defer r.heal()
	statuses := make(chan int, n)
	for range n {
		go func() { statuses <- r.fresh([]byte(chatBody("m", 20))).status }()
	}
	r.eventually(func() bool {
		waiting := 0
		for _, e := range r.fleet.Engines() {
			waiting += e.Counters().InFlight
		}
		return waiting == n
	}, "the requests do not all come to engines")
	r.heal()
	for range n {
		require.Equal(r.t, http.StatusOK, <-statuses)
	}
}
