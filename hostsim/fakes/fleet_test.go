package fakes

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func TestFleet(t *testing.T) {
	configs := Replicate(Config{Dialect: SGLang}, 3)
	configs[2].Models = []string{"other"}
	f, err := StartFleet(configs...)
	require.NoError(t, err)
	t.Cleanup(f.StopAll)
	require.Len(t, f.Engines(), 3)
	require.Len(t, f.Addrs(), 3)
	for i, name := range []string{"engine-0", "engine-1", "engine-2"} {
		e, ok := f.Engine(name)
		require.True(t, ok)
		require.Same(t, f.Engines()[i], e)
		s := &site{Engine: e, t: t, client: newClient(t)}
		require.Equal(t, name, s.get("/health").header.Get("x-fake-engine"))
		s.post(completionPath, `{"prompt":"x"}`)
	}
	_, ok := f.Engine("engine-3")
	require.False(t, ok)
	require.Equal(t, map[string]int64{"engine-0": 1, "engine-1": 1, "engine-2": 1}, f.Received())
	f.Reset()
	require.Equal(t, map[string]int64{"engine-0": 0, "engine-1": 0, "engine-2": 0}, f.Received())
	f.StopAll()
	for _, addr := range f.Addrs() {
		_, err := dial(t, addr)
		require.Error(t, err)
	}
}

func TestFleetReportsTheBadOne(t *testing.T) {
	_, err := StartFleet(Config{}, Config{Slots: -1})
	require.ErrorContains(t, err, "configs[1]: ")
	_, err = StartFleet(Config{}, Config{Name: "engine-0"})
	require.ErrorContains(t, err, "configs[1].name")
}
