package tokenizers

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engines are a fleet by hand.
type engines []fleet.Status

func (e engines) Status() []fleet.Status { return e }

// answering is an engine that tokenizes everything to the same ids.
func answering(t *testing.T, ids ...int) (url string, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path != "/tokenize" {
			http.NotFound(w, r)
			return
		}
		calls.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"tokens": ids, "count": len(ids), "max_model_len": 4096})
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func serving(url string, healthy bool, generation uint64, models ...string) fleet.Status {
	return fleet.Status{URL: url, Worker: core.Worker{
		ID: core.WorkerID("of " + models[0]), Models: models, Adapters: []core.Adapter{{Name: "poet", Base: models[0]}}, Healthy: healthy, Generation: generation,
	}}
}

func newKeeper(t *testing.T, c config.Tokenize, list engines) *Keeper {
	t.Helper()
	c.CacheBytes, c.MaxCalls, c.TimeoutMillis = 1<<20, 4, 5000
	k, err := New(Options{Config: c, Fleet: list, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(k.Stop)
	return k
}

func tokensOf(t *testing.T, k *Keeper, model string) tokenize.Tokens {
	t.Helper()
	tokens, err := k.Tokens(t.Context(), model, chat.DialectCompletions, `{"model":"`+model+`","prompt":"hello"}`)
	require.NoError(t, err)
	return tokens
}

func TestKeeper_asks_the_engines_of_unnamed_models(t *testing.T) {
	url, calls := answering(t, 5, 6, 7)
	k := newKeeper(t, config.Tokenize{AskEngines: true}, engines{serving(url, true, 1, "m")})
	require.True(t, k.Has("m"), "who is asked about is looked for at once")
	k.look(t.Context())
	require.False(t, k.Has("poet"), "an adapter has its model's")
	require.Equal(t, []string{"of m"}, k.Serving("m"))
	require.Equal(t, []string{"of m"}, k.Serving("poet"))
	require.Empty(t, k.Serving("other"))
	require.Equal(t, []uint32{5, 6, 7}, tokensOf(t, k, "m").IDs)
	require.EqualValues(t, 1, calls.Load())

	k.opts.Fleet = engines{serving(url, false, 1, "m")}
	k.look(t.Context())
	require.Equal(t, tokenize.ReasonEngine, tokensOf(t, k, "m").Reason, "an engine that is down is not asked")

	k.opts.Fleet = engines{}
	k.look(t.Context())
	require.False(t, k.Has("m"), "nobody serves it")
	require.Equal(t, tokenize.Estimated, tokensOf(t, k, "m").Certainty)
	require.Empty(t, k.Counts())
}

func TestKeeper_asks_nobody_unless_told_to(t *testing.T) {
	url, calls := answering(t, 1)
	k := newKeeper(t, config.Tokenize{Models: map[string]config.ModelTokenizer{"n": {}}}, engines{serving(url, true, 1, "m", "n")})
	k.look(t.Context())
	require.False(t, k.Has("m"))
	require.True(t, k.Has("n"))
	require.Equal(t, []uint32{1}, tokensOf(t, k, "n").IDs)
	tokensOf(t, k, "m")
	require.EqualValues(t, 1, calls.Load())
}

func TestKeeper_engines_take_turns(t *testing.T) {
	one, first := answering(t, 1)
	two, second := answering(t, 2)
	k := newKeeper(t, config.Tokenize{AskEngines: true}, engines{serving(one, true, 1, "m"), serving(two, true, 1, "m")})
	k.look(t.Context())
	for range 10 {
		tokensOf(t, k, "m")
	}
	require.EqualValues(t, 5, first.Load())
	require.EqualValues(t, 5, second.Load())
}

// folder writes a small tokenizer that can be used.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), tokenizetest.JSON(t, tokenizetest.Small()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(`{}`), 0o600))
	return dir
}

// A folder is used once it was compared, and compared again when an engine begins
// anew.
func TestKeeper_compares_folders(t *testing.T) {
	url, calls := answering(t, 1, 2, 3)
	c := config.Tokenize{Models: map[string]config.ModelTokenizer{"m": {Dir: folder(t), Engine: config.EngineVLLM}}}
	k := newKeeper(t, c, engines{})
	k.look(t.Context())
	require.False(t, k.of("m").verified, "no engine to compare with")

	k.opts.Fleet = engines{serving(url, true, 1, "m")}
	k.look(t.Context())
	require.True(t, k.of("m").verified)
	require.NotZero(t, k.Counts()["m"].Differing)
	require.Equal(t, tokenize.FromEngine, tokensOf(t, k, "m").Origin, "this folder has other tokens")
	compared := calls.Load()
	k.look(t.Context())
	require.Equal(t, compared, calls.Load(), "once is enough")
	k.opts.Fleet = engines{serving(url, true, 2, "m")}
	k.look(t.Context())
	require.Greater(t, calls.Load(), compared)
}

func TestKeeper_trusts_when_told_to(t *testing.T) {
	no := false
	c := config.Tokenize{Models: map[string]config.ModelTokenizer{"m": {Dir: folder(t), Engine: config.EngineSGLang, AskEngine: &no, Trust: true}}}
	k := newKeeper(t, c, engines{})
	k.look(t.Context())
	require.Equal(t, tokenize.FromBPE, tokensOf(t, k, "m").Origin)
}

// What only an engine could settle is told when there is none to ask.
func TestKeeper_tells_what_is_unsettled(t *testing.T) {
	dir, asks := folder(t), true
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(`{"add_bos_token":true,"bos_token":"<|im_start|>"}`), 0o600))
	for range 2 {
		var log bytes.Buffer
		k, err := New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Config: config.Tokenize{Models: map[string]config.ModelTokenizer{
			"m": {Dir: dir, Engine: config.EngineVLLM, AskEngine: &asks, Trust: true},
		}}})
		require.NoError(t, err)
		k.Stop()
		require.Equal(t, asks, !strings.Contains(log.String(), "asks for a token before them"))
		asks = false
	}
}

// Every folder that cannot be used is named at once.
func TestNew_refuses_bad_folders(t *testing.T) {
	broken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(broken, "tokenizer.json"), []byte(`{"model":{"type":"Unigram"}}`), 0o600))
	_, err := New(Options{Logger: slog.New(slog.DiscardHandler), Config: config.Tokenize{Models: map[string]config.ModelTokenizer{
		"a": {Dir: filepath.Join(broken, "nowhere"), Engine: config.EngineVLLM},
		"b": {Dir: broken, Engine: config.EngineVLLM},
		"c": {},
	}}})
	require.ErrorContains(t, err, "tokenize.models.a.dir: ")
	require.ErrorContains(t, err, "tokenize.models.b.dir: ")
	require.NotContains(t, err.Error(), "models.c")
}
