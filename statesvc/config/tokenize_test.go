package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/statesvc/config"
)

func TestTokenize(t *testing.T) {
	cfg, err := config.Parse([]byte("version: 1\nfleet: {static: [{address: 127.0.0.1:8000}]}\ntokenize:\n  models:\n    a: {}\n    b: {dir: /b, engine: vllm}\n    c: {dir: /c, engine: sglang, ask_engine: false, trust: true}\n"), noEnv)
	require.NoError(t, err)
	require.False(t, cfg.Tokenize.AskEngines)
	asks := map[string]bool{}
	for name, m := range cfg.Tokenize.Models {
		asks[name] = m.Asks()
	}
	require.Equal(t, map[string]bool{"a": true, "b": true, "c": false}, asks)
	require.EqualValues(t, 256<<20, cfg.Tokenize.CacheBytes)
}

func TestTokenize_refusals(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"{cache_bytes: -1}", "tokenize.cache_bytes"},
		{"{cache_bytes: 1}", "tokenize.cache_bytes: 1 holds no chat; write at least 1048576, or 0"},
		{"{max_calls: 0}", "tokenize.max_calls"},
		{"{timeout_ms: 0}", "tokenize.timeout_ms"},
		{"{sample_every: -1}", "tokenize.sample_every"},
		{`{models: {"": {}}}`, "a model needs a name"},
		{"{models: {m: {engine: vllm}}}", "tokenize.models.m.engine: has no effect without dir"},
		{"{models: {m: {dir: /m}}}", "tokenize.models.m.engine: missing; write vllm or sglang"},
		{"{models: {m: {dir: /m, engine: trt}}}", `tokenize.models.m.engine: "trt" is not a choice`},
		{"{models: {m: {ask_engine: false}}}", "tokenize.models.m: has no tokenizer"},
		{"{models: {m: {trust: true}}}", "tokenize.models.m.trust: has no effect without dir"},
		{"{models: {m: {dir: /m, engine: vllm, ask_engine: false}}}", "tokenize.models.m.trust: false, and ask_engine is false too"},
		{"{model: {}}", "model"},
	} {
		_, err := config.Parse([]byte("version: 1\nfleet: {static: [{address: 127.0.0.1:8000}]}\ntokenize: "+tt.text+"\n"), noEnv)
		require.ErrorContains(t, err, tt.want, tt.text)
	}
}
