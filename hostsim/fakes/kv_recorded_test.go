package fakes

import (
	"bufio"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// recordedLines are the lines of a file of a recorded run.
func recordedLines(t *testing.T, run, file string) (list []gjson.Result) {
	t.Helper()
	f, err := os.Open("../../e2e/testdata/engines/" + run + "/" + file)
	require.NoError(t, err)
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		list = append(list, gjson.Parse(s.Text()))
	}
	require.NoError(t, s.Err())
	return list
}

// renamed binds the engine's names of blocks to the fake's.
type renamed map[string]string

func (r renamed) same(t *testing.T, theirs, ours gjson.Result) {
	t.Helper()
	require.Equal(t, theirs.Type == gjson.Null, ours.Type == gjson.Null)
	known, ok := r[theirs.Raw]
	if ok {
		require.Equal(t, known, ours.Raw)
	}
	r[theirs.Raw] = ours.Raw
}

// event requires one event to say what the engine's did.
func (r renamed) event(t *testing.T, theirs, ours gjson.Result) {
	t.Helper()
	theirs.ForEach(func(key, value gjson.Result) bool {
		switch got := ours.Get(key.Str); key.Str {
		case "block_hashes":
			hashes := got.Array()
			require.Len(t, hashes, len(value.Array()))
			for i, h := range value.Array() {
				r.same(t, h, hashes[i])
			}
		case "parent_block_hash":
			r.same(t, value, got)
		case "token_ids":
			require.JSONEq(t, value.Raw, got.Raw)
		default:
			require.JSONEq(t, value.Raw, got.Raw, key.Str)
		}
		return true
	})
	require.Len(t, ours.Map(), len(theirs.Map()))
}

// A recorded run's requests, sent over HTTP to a fake of the same size, make it publish
// batch by batch what the engine published, and find what the engine found.
func TestKV_recordedRequestsGiveTheRecordedStream(t *testing.T) {
	const run = "vllm-0.32.0/dup-chunked-bs16"
	recorded := recordedLines(t, run, "decoded.jsonl")
	s := start(t, Config{
		Models: []string{"tiny-qwen3"}, KVBlocks: 95, MaxModelLen: 1024, KV: &KVConfig{Publish: true, Chunk: 256},
	})
	sub := listenTo(t, s, s.KVPorts().Events, 0)
	names, seq := renamed{}, 0
	for _, q := range recordedLines(t, run, "requests.jsonl") {
		if q.Get("name").Str == "concurrent_same_prompt" {
			break // what follows is not of one request at a time
		}
		answer := s.post(q.Get("path").Str, q.Get("req_body").Str)
		require.Equal(t, 200, answer.status, answer.body)
		cached := gjson.Get(q.Get("resp_body").Str, "usage.prompt_tokens_details.cached_tokens")
		require.EqualValues(t, cached.Int(), cachedBy(t, answer.body), q.Get("name").Str)
		for range q.Get("event_seqs").Array() {
			_, got, payload := batch(t, sub)
			require.EqualValues(t, seq, got)
			theirs, ours := recorded[seq].Get("payload.1").Array(), payload.Get("1").Array()
			require.Len(t, ours, len(theirs), "batch %d", seq)
			for i := range theirs {
				names.event(t, theirs[i], ours[i])
			}
			seq++
		}
	}
	require.Equal(t, 20, seq)
	feed, _ := s.Feed(0)
	require.EqualValues(t, seq, feed.Next(), "and nothing else")
}
