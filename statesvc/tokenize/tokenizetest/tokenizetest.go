// Package tokenizetest opens the real tokenizers that make tokenizers fetches, and the
// golden answers to them, for tests of these packages.
package tokenizetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Families lists the tokenizers. gptoss comes without a chat template.
func Families() []string { return []string{"qwen3", "llama3_1", "deepseek_v3", "gptoss"} }

// File gives the path of a family's tokenizer.json or tokenizer_config.json.
func File(t testing.TB, family, name string) string {
	t.Helper()
	path := filepath.Join(Root(), ".tokenizers", family, name)
	_, err := os.Stat(path)
	require.NoError(t, err, "run make tokenizers")
	return path
}

// Root is the folder of the module.
func Root() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "..", "..")
}

// Golden is what Hugging Face's libraries make of texts and chats with one tokenizer;
// testdata/golden.py writes it.
type Golden struct {
	Texts []struct {
		Text string   `json:"text"`
		IDs  []uint32 `json:"ids"`
	} `json:"texts"`
	// Affixed are the tokens of "x y" as a text that is no chat.
	Affixed []uint32 `json:"affixed"`
	Chats   []struct {
		Name string `json:"name"`
		// Args are the template's arguments.
		Args     json.RawMessage `json:"args"`
		Rendered string          `json:"rendered"`
		IDs      []uint32        `json:"ids"`
		Error    string          `json:"error"`
	} `json:"chats"`
}

// ReadGolden reads a family's golden answers.
func ReadGolden(t testing.TB, family string) Golden {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Root(), "statesvc", "tokenize", "testdata", "golden."+family+".json"))
	require.NoError(t, err)
	var g Golden
	require.NoError(t, json.Unmarshal(data, &g))
	return g
}
