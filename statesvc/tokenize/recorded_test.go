package tokenize_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/kvreplay"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
)

// recordedRuns are the recordings with a model that has a tokenizer.
func recordedRuns(t *testing.T) []string {
	runs, err := filepath.Glob(filepath.Join(tokenizetest.Root(), "e2e", "testdata", "engines", "vllm-*", "*", "requests.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, runs)
	for i, r := range runs {
		runs[i] = filepath.Dir(r)
	}
	return runs
}

// recordedRequest is a line of requests.jsonl.
type recordedRequest struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	Body     string `json:"req_body"`
	Status   int    `json:"status"`
	Answer   string `json:"resp_body"`
	Tokenize *struct {
		Body   string `json:"req_body"`
		Answer string `json:"resp_body"`
	} `json:"tokenize"`
}

// asked gives the dialect whose requests have the members of a recorded question to
// /tokenize.
func (r *recordedRequest) asked() chat.Dialect {
	if gjson.Get(r.Body, "prompt").Exists() {
		return chat.DialectCompletions
	}
	return chat.DialectChat
}

// TestRecordedQuestionsAreAnsweredAlike takes the recorded questions to /tokenize
// themselves: one has a tool, one no generation prompt, one is a text.
func TestRecordedQuestionsAreAnsweredAlike(t *testing.T) {
	m := trusted(t, "qwen3", render.VLLM, 1<<20)
	seen := 0
	for _, r := range readLines[recordedRequest](t, filepath.Join(tokenizetest.Root(), "e2e", "testdata", "engines", "vllm-0.32.0", "main-bs16", "requests.jsonl")) {
		if r.Path != "/tokenize" || r.Status != 200 || r.Name == "tokenize_no_model" {
			continue
		}
		var answer struct{ Tokens []uint32 }
		require.NoError(t, json.Unmarshal([]byte(r.Answer), &answer))
		got, err := m.Tokens(t.Context(), r.asked(), r.Body)
		require.NoError(t, err)
		require.Equal(t, answer.Tokens, got.IDs, r.Name)
		seen++
	}
	require.Equal(t, 5, seen)
}

func readLines[T any](t *testing.T, path string) (out []T) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		var v T
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &v))
		out = append(out, v)
	}
	require.NoError(t, scanner.Err())
	return out
}

// trusted is a model that is tokenized here alone.
func trusted(t testing.TB, family string, engine render.Engine, cache int64) *tokenize.Model {
	m := tokenize.New(tokenize.Options{Name: family, Local: local(t, family, engine, cache), Trust: true})
	t.Cleanup(m.Close)
	return m
}

// locals are loaded once for all tests of the package.
var locals sync.Map

func local(t testing.TB, family string, engine render.Engine, cache int64) *tokenize.Local {
	load := func() *tokenize.Local {
		l, err := tokenize.OpenLocal(filepath.Dir(tokenizetest.File(t, family, "tokenizer.json")), engine, 0)
		require.NoError(t, err)
		return l
	}
	once, _ := locals.LoadOrStore(fmt.Sprint(family, engine), sync.OnceValue(load))
	return once.(func() *tokenize.Local)().WithCache(cache)
}

// TestRecordedRequestsAreTokenizedAsTheEngineDid compares with the recorded answers of
// /tokenize, and where there was none with the tokens that the engine counted.
func TestRecordedRequestsAreTokenizedAsTheEngineDid(t *testing.T) {
	m := trusted(t, "qwen3", render.VLLM, 1<<20)
	chats, texts := 0, 0
	for _, run := range recordedRuns(t) {
		for _, r := range readLines[recordedRequest](t, filepath.Join(run, "requests.jsonl")) {
			dialect := chat.DialectOf(r.Path)
			if r.Status != 200 || dialect != chat.DialectChat && dialect != chat.DialectCompletions {
				continue
			}
			tokens, err := m.Tokens(t.Context(), dialect, r.Body)
			if r.Name == "err_no_model" { // vLLM takes it, the router refuses it
				require.Error(t, err)
				continue
			}
			require.NoError(t, err, r.Name)
			var usage struct {
				Usage struct {
					Prompt uint64 `json:"prompt_tokens"`
				}
			}
			if json.Unmarshal([]byte(r.Answer), &usage) == nil && usage.Usage.Prompt > 0 && tokens.Certainty == tokenize.Exact {
				require.Equal(t, usage.Usage.Prompt, tokens.Total, r.Name)
				texts++
			}
			if r.Tokenize == nil {
				continue
			}
			var answer struct{ Tokens []uint32 }
			require.NoError(t, json.Unmarshal([]byte(r.Tokenize.Answer), &answer))
			require.Equal(t, tokenize.Exact, tokens.Certainty, r.Name)
			require.Equal(t, answer.Tokens, tokens.IDs, "%s of %s", r.Name, run)
			chats++
		}
	}
	require.Greater(t, chats, 100)
	require.Greater(t, texts, 150)
}

// TestTokensPredictWhatEnginesFound takes the tokens that are made here of the recorded
// requests to the index built from the recorded events: it predicts the tokens that the
// engine found in its cache, as it does with the engine's own.
func TestTokensPredictWhatEnginesFound(t *testing.T) {
	m := trusted(t, "qwen3", render.VLLM, 1<<20)
	replaced := 0
	for _, run := range recordedRuns(t) {
		casesFile := filepath.Join(run, "overlap_cases.jsonl")
		if _, err := os.Stat(casesFile); err != nil {
			continue
		}
		bodies := map[string]recordedRequest{}
		for _, r := range readLines[recordedRequest](t, filepath.Join(run, "requests.jsonl")) {
			bodies[r.Name] = r
		}
		var ours bytes.Buffer
		for _, c := range readLines[map[string]any](t, casesFile) {
			r, ok := bodies[c["name"].(string)]
			if dialect := chat.DialectOf(r.Path); ok && dialect != chat.DialectNone {
				tokens, err := m.Tokens(t.Context(), dialect, r.Body)
				require.NoError(t, err)
				if tokens.Total == tokens.Longest { // one sequence
					require.Equal(t, tokenize.Exact, tokens.Certainty, "%v", tokens.Reason)
					c["prompt_token_ids"] = tokens.IDs
					replaced++
				}
			}
			require.NoError(t, json.NewEncoder(&ours).Encode(c))
		}
		summary := replay(t, run, &ours)
		theirs, err := os.ReadFile(casesFile)
		require.NoError(t, err)
		require.Equal(t, replay(t, run, bytes.NewBuffer(theirs)), summary, run)
		require.Positive(t, summary.Equal)
	}
	require.Greater(t, replaced, 100)
}

func replay(t *testing.T, run string, cases *bytes.Buffer) kvreplay.Summary {
	frames, err := os.Open(filepath.Join(run, "frames.jsonl"))
	require.NoError(t, err)
	defer frames.Close()
	summary, err := kvreplay.Run(frames, cases, func(any) error { return nil })
	require.NoError(t, err)
	return summary
}
