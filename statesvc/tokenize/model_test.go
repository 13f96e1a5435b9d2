package tokenize_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/engine"
	"github.com/pointsman/pointsman/statesvc/tokenize/prompt"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// twin is an engine that tokenizes as the tokenizer here does, and can be made to
// differ, refuse or be away.
type twin struct {
	model *tokenize.Model
	calls atomic.Int32
	mu    sync.Mutex
	err   error
	spoil string // questions with this text get another answer
}

func (e *twin) Tokenize(ctx context.Context, question string) ([]uint32, error) {
	e.calls.Add(1)
	e.mu.Lock()
	err, spoil := e.err, e.spoil
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	dialect := chat.DialectChat
	if gjson.Get(question, "prompt").Exists() {
		dialect = chat.DialectCompletions
	}
	tokens, err := e.model.Tokens(ctx, dialect, question)
	if err != nil || tokens.IDs == nil {
		return nil, fmt.Errorf("%w: %w", engine.ErrRefused, err)
	}
	if spoil != "" && strings.Contains(question, spoil) {
		return append([]uint32{1}, tokens.IDs...), nil
	}
	return tokens.IDs, nil
}

func (e *twin) set(err error, spoil string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.err, e.spoil = err, spoil
}

// paired is a model with a twin of an engine.
func paired(t testing.TB, opts tokenize.Options) (*tokenize.Model, *twin) {
	e := &twin{model: trusted(t, "qwen3", render.VLLM, 0)}
	opts.Name, opts.Engine = "m", e
	if opts.Local == nil {
		opts.Local = local(t, "qwen3", render.VLLM, 1<<20)
	}
	m := tokenize.New(opts)
	t.Cleanup(m.Close)
	return m, e
}

func tokens(t testing.TB, m *tokenize.Model, body string) tokenize.Tokens {
	got, err := m.Tokens(t.Context(), chat.DialectChat, body)
	require.NoError(t, err)
	return got
}

const (
	plainChat = `{"model":"m","messages":[{"role":"user","content":"hello there"}]}`
	toolChat  = `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{}}}]}`
	imageChat = `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:x"}}]}]}`
)

func TestTheEngineIsAskedUntilTokensAreVerified(t *testing.T) {
	m, e := paired(t, tokenize.Options{SampleEvery: -1})
	got := tokens(t, m, plainChat)
	require.Equal(t, tokenize.FromEngine, got.Origin)
	require.Equal(t, tokenize.Exact, got.Certainty)
	require.Equal(t, tokenize.ReasonUnverified, got.Local)
	require.NoError(t, m.Verify(t.Context()))
	before := e.calls.Load()
	verified := tokens(t, m, plainChat)
	require.Equal(t, tokenize.FromBPE, verified.Origin)
	require.Equal(t, got.IDs, verified.IDs)
	require.Equal(t, tokenize.FromBPE, tokens(t, m, toolChat).Origin)
	require.Equal(t, before, e.calls.Load())
	require.Equal(t, prompt.All, m.Counts().Verified)
}

func TestAFeatureThatDiffersGoesToTheEngine(t *testing.T) {
	m, e := paired(t, tokenize.Options{SampleEvery: -1})
	e.set(nil, `"tools"`)
	require.NoError(t, m.Verify(t.Context()))
	require.Equal(t, tokenize.FromBPE, tokens(t, m, plainChat).Origin)
	got := tokens(t, m, toolChat)
	require.Equal(t, tokenize.FromEngine, got.Origin)
	require.Equal(t, tokenize.ReasonDiffers, got.Local)
	require.Equal(t, uint32(1), got.IDs[0], "the engine's word counts")
	c := m.Counts()
	require.Equal(t, prompt.Tools, c.Differing)
	require.Equal(t, map[prompt.Features]uint64{prompt.Tools: 1}, c.Differences)

	e.set(nil, "")
	require.NoError(t, m.Verify(t.Context()), "another probe may say otherwise")
	require.Equal(t, tokenize.FromBPE, tokens(t, m, toolChat).Origin)
}

// Ids are fit to be forwarded when an engine told them, or gave the same for all that the
// chat makes use of. That somebody says so is not enough.
func TestComparedIDs(t *testing.T) {
	m, e := paired(t, tokenize.Options{SampleEvery: -1, Trust: true})
	require.Equal(t, tokenize.FromBPE, tokens(t, m, plainChat).Origin)
	require.False(t, tokens(t, m, plainChat).Compared, "on trust")
	e.set(nil, `"tools"`)
	require.NoError(t, m.Verify(t.Context()))
	require.True(t, tokens(t, m, plainChat).Compared)
	got := tokens(t, m, toolChat)
	require.Equal(t, tokenize.FromEngine, got.Origin)
	require.True(t, got.Compared, "the engine's own")
	e.set(nil, "")
	m.Reset()
	require.False(t, tokens(t, m, plainChat).Compared, "until it is compared again")

	m, e = paired(t, tokenize.Options{SampleEvery: -1})
	e.set(errors.New("away"), "")
	require.Error(t, m.Verify(t.Context()))
	require.False(t, tokens(t, m, plainChat).Compared)
	require.False(t, tokens(t, m, `{"model":"m"}`).Compared)
}

func TestADifferenceInTrafficSwitchesToTheEngineForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, e := paired(t, tokenize.Options{SampleEvery: 2})
		require.NoError(t, m.Verify(t.Context()))
		e.set(nil, "hello there")
		require.Equal(t, tokenize.FromBPE, tokens(t, m, plainChat).Origin)
		require.Equal(t, tokenize.FromBPE, tokens(t, m, plainChat).Origin, "compared beside the request")
		synctest.Wait()
		require.Equal(t, tokenize.FromEngine, tokens(t, m, plainChat).Origin)
		require.Equal(t, uint64(1), m.Counts().Differences[prompt.Chat])
		require.NoError(t, m.Verify(t.Context()))
		require.Equal(t, tokenize.FromEngine, tokens(t, m, plainChat).Origin, "a probe does not undo it")
		e.set(nil, "")
		m.Reset()
		require.NoError(t, m.Verify(t.Context()))
		require.Equal(t, tokenize.FromBPE, tokens(t, m, plainChat).Origin)
	})
}

func TestWithoutAnEngineTokensAreCountedNotTrusted(t *testing.T) {
	m, e := paired(t, tokenize.Options{})
	e.set(errors.New("away"), "")
	require.Error(t, m.Verify(t.Context()))
	got := tokens(t, m, plainChat)
	require.Nil(t, got.IDs)
	require.Equal(t, tokenize.Counted, got.Certainty)
	require.Equal(t, tokenize.ReasonEngine, got.Reason)
	require.Equal(t, tokens(t, trusted(t, "qwen3", render.VLLM, 0), plainChat).Longest, got.Longest)
}

func TestAnEngineWithoutTokenizeIsLeftAlone(t *testing.T) {
	m, e := paired(t, tokenize.Options{})
	e.set(fmt.Errorf("404: %w", engine.ErrRefused), "")
	require.NoError(t, m.Verify(t.Context()))
	before := e.calls.Load()
	got := tokens(t, m, plainChat)
	require.Equal(t, tokenize.ReasonRefused, got.Reason)
	require.Equal(t, tokenize.Counted, got.Certainty)
	require.Equal(t, before, e.calls.Load())
	e.set(nil, "")
	require.NoError(t, m.Verify(t.Context()))
	require.Equal(t, tokenize.FromBPE, tokens(t, m, plainChat).Origin)
}

func TestReasons(t *testing.T) {
	m, e := paired(t, tokenize.Options{MaxBody: 1 << 20})
	require.NoError(t, m.Verify(t.Context()))
	e.set(engine.ErrBusy, "")
	tests := map[string]struct {
		dialect   chat.Dialect
		body      string
		reason    tokenize.Reason
		local     tokenize.Reason
		certainty tokenize.Certainty
	}{
		"image":        {chat.DialectChat, imageChat, tokenize.ReasonBusy, tokenize.ReasonUnrenderable, tokenize.Counted},
		"documents":    {chat.DialectChat, `{"model":"m","messages":[{"role":"user","content":"x"}],"documents":[1]}`, tokenize.ReasonNotAskable, tokenize.ReasonUnrenderable, tokenize.Counted},
		"surrogate":    {chat.DialectChat, `{"model":"m","messages":[{"role":"user","content":"\ud800"}]}`, tokenize.ReasonNotText, "", tokenize.Counted},
		"large":        {chat.DialectChat, plainChat + strings.Repeat(" ", 1<<20), tokenize.ReasonTooLarge, "", tokenize.Estimated},
		"messages API": {chat.DialectMessages, `{"model":"m","system":"s","messages":[{"role":"user","content":"x"}]}`, tokenize.ReasonNoForm, "", tokenize.Counted},
		"responses":    {chat.DialectResponses, `{"model":"m","input":"hello"}`, tokenize.ReasonNoForm, "", tokenize.Counted},
		"sequences":    {chat.DialectCompletions, `{"model":"m","prompt":["a b c","d"]}`, "", "", tokenize.Exact},
		"ids":          {chat.DialectCompletions, `{"model":"m","prompt":[[1],[2,3]]}`, "", "", tokenize.Exact},
		"word":         {chat.DialectCompletions, `{"model":"m","prompt":"` + strings.Repeat("a", 1<<20-100) + `"}`, "", "", tokenize.Exact},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := m.Tokens(t.Context(), tt.dialect, tt.body)
			require.NoError(t, err)
			require.Equal(t, tt.certainty, got.Certainty)
			require.Equal(t, tt.reason, got.Reason)
			require.Equal(t, tt.local, got.Local)
			require.Equal(t, tt.certainty == tokenize.Exact, got.IDs != nil)
			require.Positive(t, got.Longest)
			require.GreaterOrEqual(t, got.Total, got.Longest)
		})
	}
	_, err := m.Tokens(t.Context(), chat.DialectChat, `{"model":1}`)
	var refused *chat.Error
	require.ErrorAs(t, err, &refused)
	var answers uint64
	for _, n := range m.Counts().Answers {
		answers += n
	}
	require.Equal(t, uint64(len(tests)+1), answers, "every answer is counted")
}

func TestFactsComeWithTheTokens(t *testing.T) {
	got := tokens(t, trusted(t, "qwen3", render.VLLM, 0), `{"model":"m","messages":[],"cache_salt":"s"}`)
	require.Equal(t, "s", got.Facts.Salt)
	require.Equal(t, "m", got.Facts.Model)
}

func TestConcurrentUse(t *testing.T) {
	m, e := paired(t, tokenize.Options{SampleEvery: 3})
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for i := range 50 {
				body := chatBody(t, strings.Repeat("word ", 30), fmt.Sprint("turn ", n*i))
				got, err := m.Tokens(t.Context(), chat.DialectChat, body)
				if err != nil || got.Longest == 0 {
					t.Error(got.Reason, err)
				}
			}
		})
	}
	for i := range 10 {
		e.set(nil, []string{"", "word"}[i%2])
		require.NoError(t, m.Verify(t.Context()))
		m.Counts()
		m.Reset()
	}
	wg.Wait()
}

func TestSequencesAreCountedApart(t *testing.T) {
	m := trusted(t, "qwen3", render.VLLM, 0)
	got, err := m.Tokens(t.Context(), chat.DialectCompletions, `{"model":"m","prompt":["a b c","d e f g","h"]}`)
	require.NoError(t, err)
	require.Equal(t, uint64(4), got.Longest)
	require.Equal(t, uint64(8), got.Total)
	require.Len(t, got.IDs, 4)
}

func TestTheCallersDeadlineIsKept(t *testing.T) {
	m := trusted(t, "qwen3", render.VLLM, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	body := `{"model":"m","prompt":"` + strings.Repeat("ab", 400_000) + strings.Repeat(" x1", 1<<20) + `"}`
	got, err := m.Tokens(ctx, chat.DialectCompletions, body)
	require.NoError(t, err)
	if ctx.Err() != nil {
		require.NotEqual(t, tokenize.Exact, got.Certainty)
		require.Equal(t, uint64(len(body)/4), got.Longest)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	got, err = m.Tokens(ctx, chat.DialectCompletions, body)
	require.NoError(t, err)
	require.Equal(t, tokenize.ReasonDeadline, got.Local)
	require.Equal(t, tokenize.Estimated, got.Certainty)
}

func TestUnknownModelsAreEstimated(t *testing.T) {
	set := tokenize.Set{"m": trusted(t, "qwen3", render.VLLM, 0)}
	got, err := set.Tokens(t.Context(), "m", chat.DialectChat, plainChat)
	require.NoError(t, err)
	require.Equal(t, tokenize.Exact, got.Certainty)
	got, err = set.Tokens(t.Context(), "other", chat.DialectChat, plainChat)
	require.NoError(t, err)
	require.Equal(t, tokenize.ReasonNoTokenizer, got.Reason)
	require.Equal(t, uint64(len(plainChat)/4), got.Longest)
}

// beginner is an engine whose texts begin with a token or not, and which has no chats.
type beginner struct {
	local *tokenize.Local
	begin atomic.Pointer[[]uint32]
}

func (e *beginner) Tokenize(ctx context.Context, question string) ([]uint32, error) {
	if !gjson.Get(question, "prompt").Exists() {
		return nil, engine.ErrRefused
	}
	return e.local.Encode(ctx, append([]uint32(nil), *e.begin.Load()...), gjson.Get(question, "prompt").Str)
}

// TestTextsBeginAsTheEngines: where the files leave open whether texts begin with a token,
// the engine shows it. On trust alone they are no tokens.
func TestTextsBeginAsTheEngines(t *testing.T) {
	const body = `{"model":"m","prompt":"hello  world"}`
	files := local(t, "deepseek_v3", render.VLLM, 0)
	require.ErrorContains(t, files.Unsettled, "asks for a token before them")
	e := &beginner{local: files}
	m := tokenize.New(tokenize.Options{Name: "m", Local: files, Engine: e, SampleEvery: -1})
	defer m.Close()
	ask := func(m *tokenize.Model) tokenize.Tokens {
		got, err := m.Tokens(t.Context(), chat.DialectCompletions, body)
		require.NoError(t, err)
		return got
	}
	for _, begin := range [][]uint32{nil, {0}, nil} {
		e.begin.Store(&begin)
		m.Reset()
		require.Equal(t, tokenize.ReasonUnverified, ask(m).Local)
		require.NoError(t, m.Verify(t.Context()))
		got := ask(m)
		require.Equal(t, tokenize.FromBPE, got.Origin)
		require.Equal(t, append(append([]uint32{}, begin...), 33310, 223, 2058), got.IDs)
	}
	other := []uint32{1}
	e.begin.Store(&other)
	m.Reset()
	require.NoError(t, m.Verify(t.Context()))
	require.Equal(t, tokenize.ReasonDiffers, ask(m).Local)

	trusting := tokenize.New(tokenize.Options{Name: "m", Local: files, Trust: true})
	defer trusting.Close()
	require.Equal(t, tokenize.Counted, ask(trusting).Certainty)
	require.Nil(t, ask(trusting).IDs)
}

// TestFamilies states what of each family's files is not done here.
func TestFamilies(t *testing.T) {
	want := map[string][]string{
		"gptoss": {"cannot render the chat: the model has no chat template"},
	}
	for _, family := range tokenizetest.Families() {
		var refusals []string
		for _, err := range local(t, family, render.VLLM, 0).Refusals {
			refusals = append(refusals, err.Error())
		}
		require.Equal(t, want[family], refusals, family)
	}
}

func TestBrokenModelFolders(t *testing.T) {
	_, err := tokenize.OpenLocal(t.TempDir(), render.VLLM, 0)
	require.ErrorIs(t, err, os.ErrNotExist)

	dir := t.TempDir()
	file := tokenizetest.Small()
	file["normalizer"] = map[string]any{"type": "Lowercase"}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), tokenizetest.JSON(t, file), 0o600))
	_, err = tokenize.OpenLocal(dir, render.VLLM, 0)
	require.ErrorContains(t, err, "Lowercase")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), tokenizetest.JSON(t, tokenizetest.Small()), 0o600))
	l, err := tokenize.OpenLocal(dir, render.VLLM, 0)
	require.NoError(t, err)
	require.Len(t, l.Refusals, 1, "no configuration")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(`{"chat_template":"{{ x|foo }}"}`), 0o600))
	l, err = tokenize.OpenLocal(dir, render.VLLM, 0)
	require.NoError(t, err)
	require.ErrorContains(t, l.Refusals[0], "foo")

	for config, refused := range map[string]bool{
		`{"add_eos_token":true,"eos_token":"<|im_end|>"}`:                         true,
		`{"add_bos_token":true,"bos_token":"no token of the file"}`:               true,
		`{"add_bos_token":true}`:                                                  true,
		`{"add_bos_token":true,"bos_token":"<|im_start|>"}`:                       false,
		`{"add_bos_token":true,"bos_token":{"content":"<|im_start|>"}}`:           false,
		`{"add_bos_token":true,"bos_token":"<|im_start|>","add_eos_token":true}`:  true,
		`{"add_bos_token":false,"add_eos_token":false,"bos_token":"no such one"}`: false,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(config), 0o600))
		l, err = tokenize.OpenLocal(dir, render.VLLM, 0)
		require.NoError(t, err)
		require.Equal(t, refused, strings.Contains(fmt.Sprint(l.Refusals), "text prompts"), config)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(`{"chat_template":"{{ x|foo }}"}`), 0o600))

	template := "{% for m in messages %}{{ '<|im_start|>' + m.content }}{% endfor %}"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "chat_template.jinja"), []byte(template), 0o600))
	l, err = tokenize.OpenLocal(dir, render.VLLM, 0)
	require.NoError(t, err)
	require.Empty(t, l.Refusals, "the file goes before the configuration")
	m := tokenize.New(tokenize.Options{Local: l, Trust: true})
	defer m.Close()
	require.Equal(t, []uint32{300, 259}, tokens(t, m, `{"model":"m","messages":[{"role":"user","content":"hello"}]}`).IDs)
}
