package statesvc_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
	"github.com/stretchr/testify/require"
)

// withTemplate is a folder with the tokenizer of qwen3 and another chat template.
func withTemplate(t *testing.T, template string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(tokenizetest.File(t, "qwen3", "tokenizer.json"), filepath.Join(dir, "tokenizer.json")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte("{}"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte(template), 0o600))
	return dir
}

// A template that would never end is given up: its model's prompts are counted as raw text
// or, where the caller's time ends first, not at all, and those of other models as ever.
func TestService_hostile_templates(t *testing.T) {
	loops := strings.Repeat("{% for a in range(100000) %}", 8) + strings.Repeat("{% endfor %}", 8)
	bombs := "{% set ns = namespace(s='x') %}{% for a in range(64) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"
	e := enginetest.Start(t)
	e.Set(func(s *enginetest.State) { s.Models = enginetest.Models("m", "loops", "bombs") })
	s := start(t, fmt.Sprintf(`version: 1
listen: 127.0.0.1:0
shutdown: {drain_ms: 0}
fleet: {static: [{id: e1, address: %q, models: [m, loops, bombs]}]}
tokenize:
  models:
    m: {dir: %q, engine: vllm, trust: true, ask_engine: false}
    loops: {dir: %q, engine: vllm, trust: true, ask_engine: false}
    bombs: {dir: %q, engine: vllm, trust: true, ask_engine: false}
`, e.Address(), filepath.Dir(tokenizetest.File(t, "qwen3", "tokenizer.json")), withTemplate(t, loops), withTemplate(t, bombs)))
	o := &observing{addr: s.Addr()}
	ask := func(model, content string, timeout uint32) *wire.ObserveReply {
		return o.ask(t, base64.RawURLEncoding.EncodeToString(wire.AppendObserveRequest(nil, &wire.ObserveRequest{
			Context: 1, Model: model, Asked: model, Path: "/v1/chat/completions", TimeoutMillis: timeout, Tokens: true, Sources: []string{"local"},
		})), chatOf([]chatMessage{{"user", content}}))
	}
	for _, model := range []string{"loops", "bombs"} {
		got, why := outcome(ask(model, "hi", 10_000))
		require.Equal(t, counted, got, "%s: %s", model, why)
		got, _ = outcome(ask(model, strings.Repeat("word ", 100_000), 50)) // whose steps take seconds
		require.Contains(t, []string{counted, refused}, got, model)
		require.True(t, ask("m", "hi", 10_000).Tokens.Known)
	}
}

// A service whose tokenizer.json is hostile does not start, and says which one.
func TestService_hostile_tokenizer(t *testing.T) {
	dir := t.TempDir()
	file := `{"normalizer":{"type":"Sequence","normalizers":[{}` + strings.Repeat(",{}", 1<<20) + `]},"pre_tokenizer":{"type":"Split","pattern":{"Regex":"(a+)+$"}}}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(file), 0o600))
	_, err := statesvc.New(parse(t, fmt.Sprintf("version: 1\nfleet: {static: [{address: '127.0.0.1:1'}]}\ntokenize: {models: {m: {dir: %q, engine: vllm}}}\n", dir)), statesvc.Options{})
	var problems config.Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 1)
	require.Equal(t, "tokenize.models.m.dir", problems[0].Path)
	require.Contains(t, problems[0].Reason, "normalizer has")
	require.Contains(t, problems[0].Reason, "pre_tokenizer")
}
