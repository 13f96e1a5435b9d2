package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/pointsman/pointsman/hostsim/traffic"
	"github.com/stretchr/testify/require"
)

const historyModels = `{"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware", "source": "history"}}}}]}}`

// remembering is a proxy of two workers before eight engines that goes by history.
func remembering(t *testing.T, h host) (*rig, setup) {
	t.Helper()
	s := setup{
		engines: fakes.Replicate(fakes.Config{Models: []string{"m"}, Slots: 8, MaxModelLen: 1 << 20}, 8), filter: historyModels,
		concurrency: 2, extra: `"worker_header":true,`,
	}
	r := newRig(t, h, s)
	r.awaitWorkers()
	return r, s
}

// talks is a workload of conversations whose requests go one at a time. They have more
// system prompts than there are engines, so that no engine is left out because those that
// hold a prompt are never busy.
func talks(seed uint64, sessions, turns int) traffic.Workload {
	c := traffic.SessionChats("m", seed)
	c.Sessions, c.Turns, c.Groups, c.Turn, c.MaxTokens = sessions, turns, 10, 5000, 2
	c.Answer = strings.Repeat(" token", 100)
	return c.Start()
}

// fresh sends a request on a connection of its own, which any worker may get.
func (r *rig) fresh(body []byte) answer {
	r.t.Helper()
	h := jsonHeader()
	h.Set("Connection", "close")
	return r.do(http.MethodPost, "/v1/chat/completions", h, strings.NewReader(string(body)))
}

// A conversation stays where it began, whichever worker of the proxy gets its
// turns, and no request asks the state service anything.
func TestHistory_conversations_stay(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r, _ := remembering(t, h)
			const sessions, turns = 30, 6
			homes := map[string]string{}
			for w := talks(1, sessions, turns); !w.Done(); {
				party, request, ok := w.Next()
				require.True(t, ok)
				a := r.fresh(request.Body)
				require.Equal(t, http.StatusOK, a.status, a.body)
				if home, known := homes[request.Session]; known {
					require.Equal(t, home, a.worker(), request.Session)
				}
				homes[request.Session] = a.worker()
				if _, more := w.Answered(party); more {
					w.Ready(party)
				}
			}
			require.Len(t, homes, sessions)
			engines := map[string]bool{}
			for _, home := range homes {
				engines[home] = true
			}
			require.Greater(t, len(engines), 4, "of eight")
		})
	}
}

// Another proxy learns of conversations by sync. There are so many that the second
// turns come some ticks after the first; where they do not, there is another lap.
func TestHistory_reaches_other_proxies(t *testing.T) {
	for _, h := range oneEnvoy() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			one, s := remembering(t, h)
			other := one.second(s)
			other.awaitWorkers()
			const sessions = 400
			lap := uint64(0)
			one.eventually(func() bool {
				lap++
				return moved(t, one, other, talks(lap, sessions, 2)) <= sessions/50
			}, "the other proxy does not follow")
		})
	}
}

// moved sends first turns by one proxy and second turns by the other, and counts
// the conversations that changed their engine.
func moved(t *testing.T, one, other *rig, w traffic.Workload) (n int) {
	homes, answered := map[string]string{}, []*traffic.Party{}
	for {
		party, request, ok := w.Next()
		if !ok {
			break
		}
		homes[request.Session] = one.fresh(request.Body).worker()
		answered = append(answered, party)
	}
	for _, party := range answered {
		w.Answered(party)
		w.Ready(party)
	}
	for !w.Done() {
		party, request, ok := w.Next()
		require.True(t, ok)
		if other.fresh(request.Body).worker() != homes[request.Session] {
			n++
		}
		w.Answered(party)
	}
	return n
}
