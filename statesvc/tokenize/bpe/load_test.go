package bpe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/statesvc/tokenize/bpe"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
)

type tree = map[string]any

func load(t testing.TB, file tree) (*bpe.Tokenizer, error) {
	return bpe.Load(bytes.NewReader(tokenizetest.JSON(t, file)))
}

func TestSmallTokenizer(t *testing.T) {
	tok, err := load(t, tokenizetest.Small())
	require.NoError(t, err)
	require.Equal(t, "qwen", tok.Family())
	ids, err := tok.Encode(t.Context(), nil, "hello hello<|im_end|>aaaaa")
	require.NoError(t, err)
	require.Equal(t, []uint32{259, 260, 301, 262, 'a'}, ids)
}

func TestWhatIsNotDoneIsRefusedAtLoad(t *testing.T) {
	model := func(f tree) tree { return f["model"].(tree) }
	added := func(f tree, i int) tree { return f["added_tokens"].([]any)[i].(tree) }
	tests := []struct {
		name  string
		spoil func(tree)
		want  string
	}{
		{"kind", func(f tree) { model(f)["type"] = "Unigram" }, "only BPE"},
		{"dropout", func(f tree) { model(f)["dropout"] = 0.1 }, "random"},
		{"byte fallback", func(f tree) { model(f)["byte_fallback"] = true }, "byte_fallback"},
		{"fuse unknown", func(f tree) { model(f)["fuse_unk"] = true }, "fuse_unk"},
		{"unknown token", func(f tree) { model(f)["unk_token"] = "<unk>" }, "unk_token"},
		{"prefix", func(f tree) { model(f)["continuing_subword_prefix"] = "##" }, "continuing_subword_prefix"},
		{"suffix", func(f tree) { model(f)["end_of_word_suffix"] = "</w>" }, "end_of_word_suffix"},
		{"bytes", func(f tree) { delete(model(f)["vocab"].(tree), "z") }, "lacks 1 of the 256"},
		{"same id", func(f tree) { model(f)["vocab"].(tree)["z"] = int('a') }, "out of range or taken"},
		{"big id", func(f tree) { model(f)["vocab"].(tree)["zz"] = 1 << 30 }, "out of range or taken"},
		{"order", func(f tree) {
			m := model(f)["merges"].([]any)
			m[0], m[1] = m[1], m[0]
		}, "merge order is not id order"},
		{"merge of nothing", func(f tree) { model(f)["merges"] = []any{"q q"} }, "do not make a token"},
		{"same merge", func(f tree) { model(f)["merges"] = []any{"h e", "h e"} }, "merge already"},
		{"strip", func(f tree) { added(f, 0)["lstrip"] = true }, "lstrip"},
		{"normalized", func(f tree) { added(f, 0)["normalized"] = true }, "not done with NFC"},
		{"twice", func(f tree) { added(f, 1)["content"] = "<|im_start|>" }, "stands twice"},
		{"empty token", func(f tree) { added(f, 1)["content"] = "" }, "empty"},
		{"id of another", func(f tree) { added(f, 1)["id"] = 300 }, "has the id of"},
		{"normalizer", func(f tree) { f["normalizer"] = tree{"type": "Lowercase"} }, `"Lowercase" is not done`},
		{"no cuts", func(f tree) { delete(f, "pre_tokenizer") }, "pre_tokenizer is missing"},
		{"cuts", func(f tree) { f["pre_tokenizer"] = tree{"type": "Metaspace"} }, `"Metaspace" is not done`},
		{"regex bomb", func(f tree) {
			f["pre_tokenizer"].(tree)["pretokenizers"].([]any)[0].(tree)["pattern"] = tree{"Regex": "(a+)+$"}
		}, "known family"},
		{"post-processor", func(f tree) { f["post_processor"] = tree{"type": "BertProcessing"} }, `"BertProcessing" is not done`},
		{"template", func(f tree) { f["post_processor"] = tree{"type": "TemplateProcessing"} }, "has 0 texts"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := tokenizetest.Small()
			tt.spoil(file)
			_, err := load(t, file)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestAllProblemsAreToldAtOnce(t *testing.T) {
	file := tokenizetest.Small()
	file["normalizer"] = tree{"type": "Lowercase"}
	file["model"].(tree)["byte_fallback"] = true
	for i := range 100 {
		file["model"].(tree)["merges"] = append(file["model"].(tree)["merges"].([]any), fmt.Sprintf("q%d x", i))
	}
	_, err := load(t, file)
	var problems *bpe.LoadError
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems.Problems, 6, "%v", problems.Problems)
}

func TestBrokenFilesAreRefused(t *testing.T) {
	for _, text := range []string{"", "[]", "{", `{"model":{"merges":["a"]}}`, `{"model":{"merges":[["a"]]}}`, strings.Repeat("[", 1<<20)} {
		_, err := bpe.Load(strings.NewReader(text))
		require.Error(t, err)
	}
	_, err := bpe.Load(&endless{})
	require.ErrorContains(t, err, "64 MiB")
}

func TestBoundsOfFiles(t *testing.T) {
	tests := map[string]string{
		"more than 16384 entries": `{"added_tokens":[{"id":1}` + strings.Repeat(`,{"id":1}`, 1<<14) + `]}`,
		"is no number":            `{"model":{"vocab":{"a":"b"}}}`,
		"is no pair":              `{"model":{"merges":[["a","b","c"]]}}`,
		"is no object":            `{"model":{"vocab":[]}}`,
		"are no list":             `{"model":{"merges":{}}}`,
		"added_tokens: content":   `{"added_tokens":[{"content":7}]}`,
		"bytes of text, at most":  `{"added_tokens":[{"id":1,"content":"` + strings.Repeat("x", 1<<20+1) + `"}]}`,
		"bytes, at most 262144":   `{"post_processor":{"type":"` + strings.Repeat("x", 256<<10) + `"}}`,
		"cannot be read":          `{"pre_tokenizer":7}`,
		"stages, at most 32":      `{"normalizer":{"type":"Sequence","normalizers":[{}` + strings.Repeat(",{}", 40) + `]}}`,
	}
	if !testing.Short() { // loading is slow under the race detector
		tests["more than 1048576 tokens"] = `{"model":{"vocab":{` + manyTokens(1<<20+1) + `}}}`
		tests["more than 2097152 merges"] = `{"model":{"merges":["a b"` + strings.Repeat(`,"a b"`, 1<<21) + `]}}`
	}
	for want, text := range tests {
		_, err := bpe.Load(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

func manyTokens(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%x":%d`, i, i)
	}
	return b.String()[1:]
}

type endless struct{}

func (*endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestMergesAreTheNaiveOnes holds both ways to merge against one that is too simple
// to be wrong: join the pair of the lowest rank, the leftmost first, until there is none.
func TestMergesAreTheNaiveOnes(t *testing.T) {
	file := tokenizetest.Small()
	merges := file["model"].(tree)["merges"].([]any)
	vocab := file["model"].(tree)["vocab"].(tree)
	for i, m := range [][2]string{{"b", "a"}, {"a", "b"}, {"ab", "ab"}, {"ba", "ba"}, {"aab", "a"}, {"aa", "b"}, {"b", "b"}} {
		if _, ok := vocab[m[0]]; !ok {
			continue
		}
		vocab[m[0]+m[1]] = 400 + i
		merges = append(merges, m[0]+" "+m[1])
	}
	file["model"].(tree)["merges"] = merges
	tok, err := load(t, file)
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.SampledFrom([]byte("aaabbhelo")), 1, 200).Draw(t, "text"))
		ids, err := tok.EncodeSegment(context.Background(), nil, text)
		require.NoError(t, err)
		require.Equal(t, naive(text, merges, vocab), ids)
	})
}

func naive(text string, merges []any, vocab tree) (ids []uint32) {
	parts := strings.Split(text, "")
	for _, m := range merges {
		left, right, _ := strings.Cut(m.(string), " ")
		for i := 0; i+1 < len(parts); i++ {
			if parts[i] == left && parts[i+1] == right {
				parts[i] += right
				parts = append(parts[:i+1], parts[i+2:]...)
			}
		}
	}
	for _, p := range parts {
		ids = append(ids, uint32(vocab[p].(int)))
	}
	return ids
}

func TestLongWordsAreBounded(t *testing.T) {
	tok := tokenizers["qwen3"](t)
	_, err := tok.Encode(t.Context(), nil, strings.Repeat("a", 4<<20))
	require.ErrorIs(t, err, bpe.ErrPieceTooLong)
	ids, err := tok.Encode(t.Context(), nil, strings.Repeat("ab", bpe.MaxPiece/2))
	require.NoError(t, err)
	require.NotEmpty(t, ids)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = tok.Encode(ctx, nil, strings.Repeat("ab", bpe.MaxPiece/2))
	require.ErrorIs(t, err, context.Canceled)
	_, err = tok.Encode(ctx, nil, strings.Repeat("ab ", bpe.MaxPiece/2))
	require.ErrorIs(t, err, context.Canceled)
}

func TestCharactersOfLaterUnicodeAreRefused(t *testing.T) {
	tok := tokenizers["deepseek_v3"](t)
	for _, text := range []string{"x\U00010d40", "\u2427", "\U0002ebf0", "\uffff"} {
		_, err := tok.Encode(t.Context(), nil, text)
		require.ErrorIs(t, err, bpe.ErrUnknownCharacter)
	}
	_, err := tok.Encode(t.Context(), nil, "\ue000\U000f0000\u0000\u200d\ufffd")
	require.NoError(t, err)
}

func FuzzEncode(f *testing.F) {
	for _, s := range []string{"", "hello", "<|im_start|>x", "\x00\xff\ud7ff", "e\u0301", "'s 123  \n", "<|im_start", strings.Repeat("ab", 300)} {
		f.Add(s)
	}
	tok, err := load(f, tokenizetest.Small())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		ids, err := tok.Encode(t.Context(), nil, text)
		if errors.Is(err, bpe.ErrUnknownCharacter) {
			return
		}
		require.NoError(t, err)
		require.LessOrEqual(t, len(ids), 3*len(text), "NFC can at most triple")
		var joined []uint32
		total := 0
		tok.Segments(text, func(s bpe.Segment) bool {
			total += len(s.Text)
			if s.Added {
				joined = append(joined, s.ID)
				return true
			}
			joined, err = tok.EncodeSegment(t.Context(), joined, s.Text)
			require.NoError(t, err)
			return true
		})
		require.Equal(t, len(text), total)
		require.Equal(t, ids, joined)
	})
}

func BenchmarkEncode(b *testing.B) {
	text := tokenizetest.Prose(b, 128<<10)
	for _, family := range tokenizetest.Families() {
		tok := tokenizers[family](b)
		b.Run(family, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var ids []uint32
			for b.Loop() {
				ids, _ = tok.Encode(context.Background(), ids[:0], text)
			}
			b.ReportMetric(float64(len(text))/float64(len(ids)), "bytes/token")
		})
	}
}
