package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const recordings = "../../../e2e/testdata/engines/"

func lastLine(t *testing.T, stdout string) map[string]any {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	for _, line := range lines {
		require.True(t, json.Valid([]byte(line)), line)
	}
	var sum map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &sum))
	return sum
}

func TestKVReplay_good(t *testing.T) {
	run1 := recordings + "vllm-0.32.0/main-bs16/"
	code, stdout, stderr := run(t.Context(), nil, "kv", "replay", "--frames", run1+"frames.jsonl", "--cases", run1+"overlap_cases.jsonl")
	require.Equal(t, exitGood, code, stderr)
	require.Empty(t, stderr)
	sum := lastLine(t, stdout)
	require.EqualValues(t, 212, sum["batches"])
	require.EqualValues(t, 0, sum["decode_failures"])
	require.EqualValues(t, 6, sum["blocks"])
	require.EqualValues(t, 43, sum["cases"])
	require.EqualValues(t, 43, sum["equal"])
	require.Equal(t, map[string]any{"cases": 2.0, "equal": 1.0}, sum["reset_not_yet_announced"])
}

func TestKVReplay_bad(t *testing.T) {
	run1 := recordings + "vllm-0.32.0/dup-chunked-bs16/"
	code, stdout, stderr := run(t.Context(), nil, "kv", "replay", "--frames", run1+"frames.jsonl", "--cases", run1+"overlap_cases.jsonl")
	require.Equal(t, exitBad, code, "one case is not predicted")
	require.Empty(t, stderr)
	require.Contains(t, stdout, `"name":"report_mode_after_evict"`)
	require.EqualValues(t, 0, lastLine(t, stdout)["unknown_stream"])

	cut := filepath.Join(t.TempDir(), "cut.jsonl")
	whole, err := os.ReadFile(run1 + "frames.jsonl")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cut, whole[:len(whole)-100], 0o600))
	code, stdout, stderr = run(t.Context(), nil, "kv", "replay", "--frames", cut)
	require.Equal(t, exitBad, code)
	require.Equal(t, "statesvc: frames: recording, line 44: unexpected end of JSON input\n", stderr)
	require.EqualValues(t, 43, lastLine(t, stdout)["batches"], "what was read is summed up")
}

func TestKVReplay_wrongFilesAndUsage(t *testing.T) {
	frames := recordings + "vllm-0.32.0/main-bs16/frames.jsonl"
	for want, argv := range map[string][]string{
		"no such file":     {"--frames", "none.jsonl"},
		"cases: open none": {"--frames", frames, "--cases", "none.jsonl"},
		"is a directory; name a file in it, such as ../":                         {"--frames", recordings + "vllm-0.32.0/main-bs16"},
		"cases: " + recordings + "vllm-0.32.0 is a directory; name a file in it": {"--frames", frames, "--cases", recordings + "vllm-0.32.0"},
		"it has no frames":    {"--frames", recordings + "vllm-0.32.0/main-bs16/decoded.jsonl"},
		"recording, line 1: ": {"--frames", "kv.go"},
	} {
		code, _, stderr := run(t.Context(), nil, append([]string{"kv", "replay"}, argv...)...)
		require.Equal(t, exitBad, code, want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		require.Contains(t, stderr, want)
	}
	for _, argv := range [][]string{{"kv"}, {"kv", "replay"}, {"kv", "play"}, {"kv", "replay", "--frames", frames, "more"}} {
		code, _, stderr := run(t.Context(), nil, argv...)
		require.Equal(t, exitUsage, code, "%v", argv)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	code, stdout, stderr := run(t.Context(), nil, "kv", "replay", "--help")
	require.Equal(t, exitGood, code)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "Examples:")
	require.Contains(t, stdout, "statesvc kv replay --frames frames.jsonl")
	for _, key := range []string{
		"name", "prompt_token_ids", "port", "batches_seen_before", "engine_cached_tokens",
		"reset_not_yet_announced", "cache_salt", "lora_name", "block_size",
	} {
		require.Contains(t, stdout, key)
	}
}
