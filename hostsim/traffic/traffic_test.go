package traffic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim/traffic"
	"github.com/stretchr/testify/require"
)

// drain runs a workload with one connection.
func drain(t *testing.T, w traffic.Workload) (all []traffic.Request) {
	t.Helper()
	for !w.Done() {
		p, r, ok := w.Next()
		require.True(t, ok)
		all = append(all, r)
		if _, more := w.Answered(p); more {
			w.Ready(p)
		}
	}
	_, _, ok := w.Next()
	require.False(t, ok)
	return all
}

func TestChats_grow(t *testing.T) {
	c := traffic.SessionChats("m", 1)
	c.Sessions, c.Turns = 20, 3
	all := drain(t, c.Start())
	require.Len(t, all, 60)
	prompts := map[string]string{}
	for _, r := range all {
		require.True(t, json.Valid(r.Body))
		before := prompts[r.Session]
		require.True(t, strings.HasPrefix(r.Prompt, before))
		require.Greater(t, len(r.Prompt), len(before)+c.Turn)
		prompts[r.Session] = r.Prompt
	}
	require.Len(t, prompts, 20)
	require.Equal(t, all, drain(t, c.Start()), "the same seed makes the same requests")
	c.Seed = 2
	require.NotEqual(t, all, drain(t, c.Start()))
}

func TestChats_answers_follow(t *testing.T) {
	c := traffic.LongAnswers("m", 1)
	c.Sessions, c.Turns = 1, 2
	all := drain(t, c.Start())
	require.True(t, strings.HasPrefix(all[1].Prompt, all[0].Prompt+all[0].Answer+"<|user|>"))
}

func TestHot_shares_half(t *testing.T) {
	all := drain(t, traffic.Hot{Model: "m", Bytes: 16 << 10, Requests: 5, Seed: 1}.Start())
	require.Len(t, all, 5)
	require.Equal(t, all[0].Prompt[:8<<10], all[4].Prompt[:8<<10])
	require.NotEqual(t, all[0].Prompt, all[4].Prompt)
	require.InDelta(t, 16<<10, len(all[0].Body), 300)
}
