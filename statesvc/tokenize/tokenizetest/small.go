package tokenizetest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Small is a byte-level tokenizer.json of 256 bytes and a few merges, with two added
// tokens, as a tree that a test can spoil before it is written.
func Small() map[string]any {
	vocab := map[string]any{}
	next := rune(0x100)
	for b := range 256 {
		r := rune(b)
		if b < '!' || b > '~' && b < 0xA1 || b == 0xAD {
			r = next
			next++
		}
		vocab[string(r)] = b
	}
	var merges []any
	for i, m := range [][2]string{{"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {"Ġ", "hello"}, {"a", "a"}, {"aa", "aa"}} {
		merges = append(merges, m[0]+" "+m[1])
		vocab[m[0]+m[1]] = 256 + i
	}
	token := func(id int, content string) map[string]any {
		return map[string]any{
			"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true,
		}
	}
	return map[string]any{
		"normalizer": map[string]any{"type": "NFC"},
		"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
			map[string]any{"type": "Split", "pattern": map[string]any{"Regex": `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`}, "behavior": "Isolated", "invert": false},
			map[string]any{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
		}},
		"post_processor": map[string]any{"type": "ByteLevel"},
		"added_tokens":   []any{token(300, "<|im_start|>"), token(301, "<|im_end|>")},
		"model":          map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	}
}

// JSON writes a tree.
func JSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}
