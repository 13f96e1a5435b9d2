package load_test

import (
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/hostsim/traffic"
	"github.com/stretchr/testify/require"
)

func TestClient_Workload_runs_to_its_end(t *testing.T) {
	chats := traffic.SessionChats(engine.Model, 1)
	chats.Sessions, chats.Turns, chats.Think = 5, 3, time.Millisecond
	result, err := dial(t, 8).Workload(chats.Start(), true)
	require.NoError(t, err)
	require.Equal(t, 15, result.Requests)

	hot := traffic.Hot{Model: engine.Model, Bytes: 4 << 10, Requests: 20, Seed: 1}
	result, err = dial(t, 2).Workload(hot.Start(), false)
	require.NoError(t, err)
	require.Equal(t, 20, result.Requests)
}

// A connection that fails ends the run of the others, which wait for their turn.
func TestClient_Workload_ends_with_a_failure(t *testing.T) {
	chats := traffic.SessionChats(engine.Model, 1)
	chats.Sessions, chats.Think = 1, time.Millisecond
	c := dial(t, 3)
	c.Close()
	_, err := c.Workload(chats.Start(), false)
	require.ErrorContains(t, err, "closed network connection")
}
