package load_test

import (
	"bufio"
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/e2e/bench/load"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dial(t *testing.T, connections int) *load.Client {
	t.Helper()
	engines, err := engine.Start(engine.Config{Engines: 1})
	require.NoError(t, err)
	t.Cleanup(engines.Stop)
	c, err := load.Dial(engines.Addrs()[0], connections)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestClient_Closed_counts_every_answer(t *testing.T) {
	for name, request := range map[string][]byte{
		"whole":    load.Chat(engine.Model, 4<<10, false),
		"large":    load.Chat(engine.Model, 1<<20, false),
		"streamed": load.Chat(engine.Model, 1<<10, true),
	} {
		t.Run(name, func(t *testing.T) {
			result, err := dial(t, 3).Closed(request, 10)
			require.NoError(t, err)
			require.Equal(t, 10, result.Requests)
			require.Len(t, result.Whole, 10)
			require.Len(t, result.First, 10)
			for i := range result.Whole {
				require.GreaterOrEqual(t, result.Whole[i], result.First[i])
				require.Positive(t, result.First[i])
			}
		})
	}
}

func TestClient_Open_waits_for_every_instant(t *testing.T) {
	at := []time.Duration{0, 10 * time.Millisecond, 30 * time.Millisecond}
	result, err := dial(t, 2).Open(load.Chat(engine.Model, 1<<10, false), at)
	require.NoError(t, err)
	require.Equal(t, len(at), result.Requests)
	require.GreaterOrEqual(t, result.Elapsed, at[2])
}

func TestClient_tells_a_refusal(t *testing.T) {
	_, err := dial(t, 1).Closed([]byte("GET /nothing HTTP/1.1\r\n\r\n"), 1)
	require.ErrorContains(t, err, "404 Not Found: not here")
}

func TestChat_has_the_size_asked_for(t *testing.T) {
	for _, size := range []int{1 << 10, 4 << 10, 1 << 20} {
		require.Contains(t, string(load.Chat(engine.Model, size, false)[:300]), "content-length: ")
		require.InDelta(t, size, len(load.Chat(engine.Model, size, false)), 220) // with the headers
	}
}

func TestInSession_adds_a_header(t *testing.T) {
	request := load.InSession(load.Chat(engine.Model, 1<<10, false), "chat-1")
	parsed, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	require.NoError(t, err)
	require.Equal(t, "chat-1", parsed.Header.Get("x-session-id"))
	require.Equal(t, "/v1/chat/completions", parsed.URL.Path)
	require.EqualValues(t, 1<<10, parsed.ContentLength)
}

func TestClient_mixes_take_turns(t *testing.T) {
	good, bad := load.Chat(engine.Model, 1<<10, false), []byte("GET /nothing HTTP/1.1\r\n\r\n")
	c := dial(t, 1)
	result, err := c.ClosedMix([][]byte{good, good, bad}, 2)
	require.NoError(t, err)
	require.Equal(t, 2, result.Requests)
	_, err = c.ClosedMix([][]byte{good, good, bad}, 3)
	require.ErrorContains(t, err, "404 Not Found")
	_, err = dial(t, 1).OpenMix([][]byte{good, bad}, make([]time.Duration, 2))
	require.ErrorContains(t, err, "404 Not Found")
}

func TestPoisson_repeats_and_grows(t *testing.T) {
	at := load.Poisson(1000, 100, 1)
	require.Equal(t, at, load.Poisson(1000, 100, 1))
	require.IsIncreasing(t, at)
	require.InDelta(t, 10, at[999].Seconds(), 2)
}
