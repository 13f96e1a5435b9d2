package recorded_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents/recorded"
	"github.com/stretchr/testify/require"
)

// What a case leaves out is an error with its line and key, never a zero.
func TestCases_sayWhichKeyIsWrong(t *testing.T) {
	good := map[string]any{
		"name": "c", "prompt_token_ids": []int{1}, "port": 0, "batches_seen_before": 0, "engine_cached_tokens": 0,
		"lora_name": nil, "cache_salt": nil, "note": "ignored",
	}
	text := func(edit func(c map[string]any)) string {
		c := maps.Clone(good)
		edit(c)
		b, err := json.Marshal(c)
		require.NoError(t, err)
		return string(b) + "\n"
	}
	first := text(func(map[string]any) {})
	fails := func(line string, says ...string) {
		t.Helper()
		got, err := all(recorded.Cases(strings.NewReader(first + line)))
		require.Len(t, got, 1)
		require.ErrorContains(t, err, "recording, line 2: ")
		for _, want := range says {
			require.ErrorContains(t, err, want)
		}
		for _, internal := range []string{"Go ", "struct", "uint32", "Case", "json:"} {
			require.NotContains(t, err.Error(), internal)
		}
	}
	for _, key := range []string{"name", "prompt_token_ids", "port", "batches_seen_before", "engine_cached_tokens"} {
		fails(text(func(c map[string]any) { delete(c, key) }), key+": missing")
		fails(text(func(c map[string]any) { c[key] = nil }), key+": missing")
		fails(text(func(c map[string]any) { c[key] = map[string]int{} }), key+": there is an object")
	}
	fails("{}", "name: missing", "prompt_token_ids: missing", "port: missing", "batches_seen_before: missing", "engine_cached_tokens: missing")
	fails(text(func(c map[string]any) { c["batches_seen_before"] = -1 }), "batches_seen_before: -1 is negative")
	fails(text(func(c map[string]any) { c["engine_cached_tokens"] = -16 }), "engine_cached_tokens: -16 is negative")
	fails(text(func(c map[string]any) { c["prompt_token_ids"] = []int{-1} }), "prompt_token_ids: there is the number -1")
	fails(text(func(c map[string]any) { c["reset_not_yet_announced"] = "yes" }), "reset_not_yet_announced: there is a string")
	fails("[]", "there is a list")
}
