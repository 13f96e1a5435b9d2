package kvreplay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvreplay"
	"github.com/stretchr/testify/require"
)

// Whatever files are given, a replay ends with a summary and says why it is not good.
func FuzzRun(f *testing.F) {
	for _, run := range []string{"vllm-0.32.0/dp2-bs16", "vllm-0.22.1/array-events-bs16"} {
		frames, err := os.ReadFile(filepath.Join(recordings, run, "frames.jsonl"))
		require.NoError(f, err)
		cases, err := os.ReadFile(filepath.Join(recordings, run, "overlap_cases.jsonl"))
		require.NoError(f, err)
		head := func(b []byte, lines int) string { return strings.Join(strings.SplitAfter(string(b), "\n")[:lines], "") }
		f.Add(head(frames, 3), head(cases, 3))
	}
	f.Add(message(3, 1)+message(-1, 0), "")
	f.Fuzz(func(t *testing.T, frames, cases string) {
		o := replay(strings.NewReader(frames), strings.NewReader(cases))
		require.IsType(t, &kvreplay.Summary{}, o.last)
		require.Equal(t, o.err != nil, o.Error != "")
		require.LessOrEqual(t, o.Equal, o.Cases)
		if o.err == nil {
			require.Positive(t, o.Batches+o.DecodeFailures+o.LoadReports)
		}
	})
}
