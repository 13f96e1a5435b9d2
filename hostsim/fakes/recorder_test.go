package fakes

import (
	"context"
	"crypto/sha256"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequestsTellWhatArrived(t *testing.T) {
	s := start(t, Config{})
	require.Empty(t, s.Requests())
	s.post(chatPath, hello, "X-Probe", "yes")
	s.post(completionPath, `{`)
	recs := s.Requests()
	require.Len(t, recs, 2)
	r := recs[0]
	require.Equal(t, "POST", r.Method)
	require.Equal(t, chatPath, r.Path)
	require.Equal(t, s.Addr(), r.Host)
	require.Equal(t, "yes", r.Header.Get("X-Probe"))
	require.JSONEq(t, hello, string(r.Body))
	require.EqualValues(t, len(hello), r.BodyLength)
	require.Equal(t, sha256.Sum256([]byte(hello)), r.BodySHA256)
	require.Equal(t, Completed, r.Outcome)
	require.Equal(t, 200, r.Status)
	require.Equal(t, helloTokens, r.PromptTokens)
	require.Equal(t, 3, r.OutputTokens)
	require.False(t, r.End.Before(r.Start))
	require.Equal(t, Failed, recs[1].Outcome)
	require.Equal(t, 400, recs[1].Status)
	require.Zero(t, recs[1].PromptTokens)
	require.Equal(t, Counters{Received: 2, Completed: 1, Failed: 1, MaxConcurrent: 1}, s.Counters())
}

func TestRingKeepsTheNewest(t *testing.T) {
	s := start(t, Config{RecordedEntries: 3})
	for i := range 8 {
		s.post(chatPath, hello, "X-Number", strconv.Itoa(i))
	}
	numbers := ""
	for _, r := range s.Requests() {
		numbers += r.Header.Get("X-Number")
	}
	require.Equal(t, "567", numbers)
	require.EqualValues(t, 8, s.Counters().Received)
}

func TestNothingIsRecordedWhenSwitchedOff(t *testing.T) {
	s := start(t, Config{RecordedEntries: -1})
	s.post(chatPath, hello)
	require.Empty(t, s.Requests())
	require.EqualValues(t, 1, s.Counters().Completed)
}

func TestLongBodiesAreCut(t *testing.T) {
	s := start(t, Config{})
	body := `{"prompt":"` + strings.Repeat("word ", 20000) + `"}`
	s.post(completionPath, body)
	r := s.Requests()[0]
	require.Equal(t, body[:RecordedBody], string(r.Body))
	require.Equal(t, RecordedBody, cap(r.Body), "the whole body is not kept alive")
	require.EqualValues(t, len(body), r.BodyLength)
	require.Equal(t, sha256.Sum256([]byte(body)), r.BodySHA256)
}

func TestResetForgetsRequestsThatAreStillOpen(t *testing.T) {
	s, _ := slow(t, Config{})
	ctx, leave := context.WithCancel(t.Context())
	old := s.background(ctx, chatPath, hello)
	await(t, "arrival", func() bool { l, _ := s.Load(); return l.Running == 1 })
	require.Equal(t, Pending, s.Requests()[0].Outcome)
	s.Reset()
	require.Empty(t, s.Requests())
	require.Equal(t, Counters{InFlight: 1, MaxConcurrent: 1}, s.Counters())
	leave()
	require.Error(t, take(t, old).err)
	await(t, "end", func() bool { return s.Counters().InFlight == 0 })
	require.Equal(t, Counters{MaxConcurrent: 1}, s.Counters())
}
