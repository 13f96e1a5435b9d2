package tokenize_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/tokenize/render"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
)

// sizes are those of the prompts.
var sizes = []int{4 << 10, 128 << 10}

// turns cuts prose into turns of about 1 KB.
func turns(t testing.TB, size int) (out []string) {
	prose := tokenizetest.Prose(t, size)
	for len(prose) > 0 {
		n := min(1000, len(prose))
		out = append(out, strings.ToValidUTF8(prose[:n], ""))
		prose = prose[n:]
	}
	return out
}

// rendered is a chat as Qwen's template renders it.
func rendered(turns []string) string {
	var b strings.Builder
	for i, turn := range turns {
		fmt.Fprintf(&b, "<|im_start|>%s\n%s<|im_end|>\n", []string{"user", "assistant"}[i%2], turn)
	}
	b.WriteString("<|im_start|>assistant\n")
	return b.String()
}

// BenchmarkCold tokenizes rendered text that was never seen.
func BenchmarkCold(b *testing.B) {
	for _, size := range sizes {
		l, text := local(b, "qwen3", render.VLLM, 0), rendered(turns(b, size))
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			var ids []uint32
			for b.Loop() {
				ids, _ = l.Encode(context.Background(), ids[:0], text)
			}
		})
	}
}

// BenchmarkGrowingChat tokenizes rendered text of which all but the last turn was seen.
func BenchmarkGrowingChat(b *testing.B) {
	for _, size := range sizes {
		l, all := local(b, "qwen3", render.VLLM, 64<<20), turns(b, size)
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			before := strings.TrimSuffix(rendered(all), "<|im_start|>assistant\n")
			ids, _ := l.Encode(context.Background(), nil, before)
			b.SetBytes(int64(len(before)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				turn := fmt.Sprintf("<|im_start|>user\nturn %d of this long conversation, and what of the next one, then?<|im_end|>\n", n)
				ids, _ = l.Encode(context.Background(), ids[:0], before+turn)
			}
		})
	}
}

// BenchmarkRequest does all that a request costs here: reading the body, rendering,
// tokenizing a growing chat.
func BenchmarkRequest(b *testing.B) {
	for _, size := range sizes {
		m, body := trusted(b, "qwen3", render.VLLM, 64<<20), chatBody(b, turns(b, size)...)
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				got, err := m.Tokens(context.Background(), chat.DialectChat, body)
				require.NoError(b, err)
				require.Equal(b, tokenize.Exact, got.Certainty)
			}
		})
	}
}

// BenchmarkLoad reads a model's files.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		dir := strings.TrimSuffix(tokenizetest.File(b, "qwen3", "tokenizer.json"), "/tokenizer.json")
		_, err := tokenize.OpenLocal(dir, render.VLLM, 0)
		require.NoError(b, err)
	}
}
