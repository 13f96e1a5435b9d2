package kvreplay_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents/recorded"
	"github.com/pointsman/pointsman/statesvc/kvreplay"
	"github.com/stretchr/testify/require"
)

const recordings = "../../e2e/testdata/engines"

// outcome is everything that a replay said.
type outcome struct {
	batches  []*kvreplay.Batch
	failures []*kvreplay.Failure
	cases    []*kvreplay.CaseResult
	last     any
	kvreplay.Summary
	err error
}

func replay(frames, cases io.Reader) *outcome {
	var o outcome
	o.Summary, o.err = kvreplay.Run(frames, cases, func(line any) error {
		switch l := line.(type) {
		case *kvreplay.Batch:
			o.batches = append(o.batches, l)
		case *kvreplay.Failure:
			o.failures = append(o.failures, l)
		case *kvreplay.CaseResult:
			o.cases = append(o.cases, l)
		}
		o.last = line
		return nil
	})
	return &o
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join(recordings, path))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordings, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for i := range files {
		files[i] = strings.TrimPrefix(files[i], recordings+"/")
	}
	return files
}

// unequal names the cases that are predicted otherwise than the engine found.
func (o *outcome) unequal() map[string][2]int {
	out := map[string][2]int{}
	for _, c := range o.cases {
		if !c.Equal && !c.ResetPending {
			out[c.Name] = [2]int{c.Predicted, c.Engine}
		}
	}
	return out
}

// Every case of every run is predicted exactly, but for the one whose blocks were
// announced again as hits and evicted once (fixtures README, trap 3).
func TestRun_everyCaseIsPredicted(t *testing.T) {
	total, pending := 0, 0
	for _, file := range glob(t, "vllm-0*/*/overlap_cases.jsonl") {
		t.Run(file, func(t *testing.T) {
			o := replay(open(t, filepath.Join(filepath.Dir(file), "frames.jsonl")), open(t, file))
			require.NoError(t, o.err)
			want := map[string][2]int{}
			if strings.Contains(file, "dup-chunked-bs16") {
				want["report_mode_after_evict"] = [2]int{96, 0}
			}
			require.Equal(t, want, o.unequal())
			require.Equal(t, o.Cases-len(want), o.Equal)
			require.Equal(t, len(want) == 0, o.Good())
			require.Len(t, o.cases, o.Cases+o.ResetPending.Cases)
			require.Len(t, o.batches, o.Batches)
			total, pending = total+o.Cases, pending+o.ResetPending.Cases
		})
	}
	require.Equal(t, 125, total)
	require.Equal(t, 9, pending)
}

// A run of an engine with a sliding window has no case file: its requests are the cases.
// Six shared blocks are worth nothing there (trap 5).
func TestRun_slidingWindowRequestsArePredicted(t *testing.T) {
	run := "vllm-0.32.0/swa-hybrid-bs16/"
	var cases bytes.Buffer
	before, pending := 0, false
	for line := range strings.Lines(read(t, run+"requests.jsonl")) {
		var r request
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		if r.Path == "/reset_prefix_cache" {
			pending = true
			continue
		}
		c := r.asCase(t, before, pending)
		require.NoError(t, json.NewEncoder(&cases).Encode(c))
		before += len(r.Seqs)
		pending = false
	}
	o := replay(open(t, run+"frames.jsonl"), &cases)
	require.NoError(t, o.err)
	require.Empty(t, o.unequal())
	require.Equal(t, 20, o.Cases)
	require.Equal(t, 1, o.ResetPending.Cases)
	i := slices.IndexFunc(o.cases, func(c *kvreplay.CaseResult) bool { return c.Name == "swa_prefix_6_blocks" })
	require.Equal(t, 96, o.cases[i].AtMost, "full attention alone would have them")
}

type request struct {
	Name string   `json:"name"`
	Path string   `json:"path"`
	Seqs [][2]int `json:"event_seqs"`
	Req  string   `json:"req_body"`
	Resp string   `json:"resp_body"`
}

func (r *request) asCase(t *testing.T, before int, pending bool) recorded.Case {
	t.Helper()
	var asked struct{ Prompt []uint32 }
	require.NoError(t, json.Unmarshal([]byte(r.Req), &asked))
	var got struct {
		Usage struct {
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.Resp), &got))
	return recorded.Case{
		Name: r.Name, BlockSize: 16, Port: 15557, Before: before, ResetPending: pending,
		Prompt: asked.Prompt, Cached: got.Usage.Details.Cached,
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := io.ReadAll(open(t, path))
	require.NoError(t, err)
	return string(b)
}

// Every stream of both engines is decoded to its end, in sequence and without a drop.
func TestRun_everyStreamIsDecoded(t *testing.T) {
	for _, file := range append(glob(t, "vllm-0*/*/frames.jsonl"), glob(t, "sglang-*/radix/*.frames.jsonl")...) {
		t.Run(file, func(t *testing.T) {
			o := replay(open(t, file), nil)
			require.NoError(t, o.err)
			require.True(t, o.Good())
			require.Equal(t, strings.Count(read(t, file), "\n"), o.Batches+o.LoadReports)
			require.Zero(t, o.Missing)
			require.Zero(t, o.Restarts)
			require.IsType(t, &kvreplay.Summary{}, o.last)
		})
	}
}

// A recorded replay brings an empty index to the state that the live stream left.
func TestRun_recordedReplaysGiveTheLiveState(t *testing.T) {
	for _, file := range glob(t, "sglang-*/radix/*.replay.json") {
		t.Run(file, func(t *testing.T) {
			r, err := recorded.ReplayOf(open(t, file))
			require.NoError(t, err)
			var frames bytes.Buffer
			for _, reply := range r.Replies[:len(r.Replies)-1] { // the last is the end marker
				m := recorded.Message{}
				for _, f := range reply[1:] {
					m.Frames = append(m.Frames, f)
				}
				require.NoError(t, json.NewEncoder(&frames).Encode(m))
			}
			replayed := replay(&frames, nil)
			require.NoError(t, replayed.err)
			live := replay(open(t, strings.Replace(file, ".replay.json", ".frames.jsonl", 1)), nil)
			require.Equal(t, live.Blocks, replayed.Blocks)
			require.EqualValues(t, 1, replayed.Missing, "it was asked from the second batch on")
		})
	}
}

func TestRun_streamsAreApart(t *testing.T) {
	o := replay(open(t, "vllm-0.32.0/dp2-bs16/frames.jsonl"), nil)
	ports := map[int]int{}
	for _, b := range o.batches {
		ports[b.Port]++
	}
	require.Len(t, slices.Collect(maps.Keys(ports)), 2)
}
