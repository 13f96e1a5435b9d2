package recorded_test

import (
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents/recorded"
	"github.com/stretchr/testify/require"
)

const recordings = "../../../e2e/testdata/engines"

// all collects what a reader yields, up to its error.
func all[T any](seq iter.Seq2[T, error]) (out []T, err error) {
	for v, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}

// read collects what is in the recordings with a name.
func read[T any](t *testing.T, pattern string, reader func(*os.File) iter.Seq2[T, error]) map[string][]T {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordings, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	out := map[string][]T{}
	for _, file := range files {
		f, err := os.Open(file)
		require.NoError(t, err)
		out[filepath.Base(filepath.Dir(file))], err = all(reader(f))
		require.NoError(t, err, file)
		require.NoError(t, f.Close())
	}
	return out
}

func TestMessages_recordings(t *testing.T) {
	runs := read(t, "vllm-0*/*/frames.jsonl", func(f *os.File) iter.Seq2[recorded.Message, error] { return recorded.Messages(f) })
	main := runs["main-bs16"]
	require.Len(t, main, 212)
	require.Equal(t, 15557, main[0].Port)
	require.Equal(t, "kv-events", string(main[0].Raw()[0]))
	require.Positive(t, main[0].At)
	ports := map[int]int{}
	for _, m := range runs["dp2-bs16"] {
		ports[m.Port]++
	}
	require.Len(t, ports, 2)
}

func TestCases_recordings(t *testing.T) {
	runs := read(t, "vllm-0*/*/overlap_cases.jsonl", func(f *os.File) iter.Seq2[recorded.Case, error] { return recorded.Cases(f) })
	total, salted, pending := 0, 0, 0
	for _, cases := range runs {
		for _, c := range cases {
			total++
			require.NotEmpty(t, c.Name)
			require.NotEmpty(t, c.Prompt)
			require.Positive(t, c.BlockSize)
			require.Less(t, c.Cached, len(c.Prompt))
			if c.Salt != "" {
				salted++
			}
			if c.ResetPending {
				pending++
			}
		}
	}
	require.Equal(t, 134, total)
	require.Positive(t, salted)
	require.Positive(t, pending)
}

func TestReplays_recordings(t *testing.T) {
	runs := read(t, "vllm-0*/*/replay.jsonl", func(f *os.File) iter.Seq2[recorded.Replay, error] { return recorded.Replays(f) })
	first := runs["main-bs16"][0]
	require.Equal(t, "from_0_dealer", first.Name)
	require.Len(t, first.Sent, 2)
	require.Equal(t, 205, first.Omitted)
	require.Equal(t, 4, first.OmittedAfter)
	require.Len(t, first.Replies, 8)
	require.Equal(t, 213, first.Total, "the marker is one of them")
	require.Len(t, runs["array-events-bs16"][0].Replies[0], 3, "without a topic")

	f, err := os.Open(filepath.Join(recordings, "sglang-0.5.23/radix/bigram.replay.json"))
	require.NoError(t, err)
	defer f.Close()
	single, err := recorded.ReplayOf(f)
	require.NoError(t, err)
	require.Len(t, single.Replies, 2)
	require.Len(t, single.Replies[0], 4)
}

func TestReaders_sayWhichLineIsWrong(t *testing.T) {
	good := `{"t":1.5,"port":2,"frames":["6b76","0000000000000000","93"],"note":"x"}` + "\n\n"
	for what, c := range map[string]struct{ line, says string }{
		"not JSON":     {"hello", "line 3"},
		"not hex":      {`{"frames":["xy"]}`, "hex digits"},
		"odd hex":      {`{"frames":["abc"]}`, "hex digits"},
		"not a string": {`{"frames":[1]}`, "hex digits"},
		"no frames":    {`{"port":1}`, "message 2"},
		"cut":          {good[:20], "line 3"},
		"endless":      {`{"note":"` + strings.Repeat("x", 33<<20), "line 3: it is longer than 32 MB"},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := all(recorded.Messages(strings.NewReader(good + c.line)))
			require.ErrorContains(t, err, c.says)
			require.Len(t, got, 1)
			require.Equal(t, [][]byte{[]byte("kv"), make([]byte, 8), {0x93}}, got[0].Raw())
		})
	}
	_, err := all(recorded.Replays(strings.NewReader(`{"name":"n","received":[{"omitted":1},{"omitted":2}]}`)))
	require.ErrorContains(t, err, "more than one place")
	_, err = all(recorded.Replays(strings.NewReader(`[]`)))
	require.Error(t, err)
	_, err = recorded.ReplayOf(strings.NewReader(`[]`))
	require.Error(t, err)
	_, err = all(recorded.Cases(strings.NewReader(`{"prompt_token_ids":[-1]}`)))
	require.Error(t, err)
}

func TestReaders_stopWhenAsked(t *testing.T) {
	two := strings.Repeat(`{"frames":["00"],"name":"n"}`+"\n", 2)
	for range recorded.Messages(strings.NewReader(two)) {
		break
	}
	for range recorded.Replays(strings.NewReader(two)) {
		break
	}
}

func TestFrame_isWrittenAsItIsRead(t *testing.T) {
	b, err := json.Marshal(recorded.Message{At: 1, Port: 2, Frames: []recorded.Frame{{0xab}, {}}})
	require.NoError(t, err)
	require.JSONEq(t, `{"t":1,"port":2,"frames":["ab",""]}`, string(b))
	got, err := all(recorded.Messages(strings.NewReader(string(b))))
	require.NoError(t, err)
	require.Equal(t, []recorded.Message{{At: 1, Port: 2, Frames: []recorded.Frame{{0xab}, {}}}}, got)
}
