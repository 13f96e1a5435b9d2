package bpe_test

import (
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/peaktest"
	"github.com/pointsman/pointsman/statesvc/tokenize/bpe"
	"github.com/stretchr/testify/require"
)

// mostMemory is what reading a file may take, be it refused or not (README.md, Bounds).
const mostMemory = 1 << 30

// hostileFile is a tokenizer.json of n bytes: what stands before, a part again and again
// with its number where it says #, and what closes it. It is made while it is read, so that
// only its reader has it whole.
type hostileFile struct {
	n                   int
	before, part, after string

	made int // parts
	read int // bytes
	rest string
}

// Read gives the next bytes.
func (f *hostileFile) Read(p []byte) (n int, err error) {
	for n < len(p) {
		switch {
		case f.rest != "":
		case f.read == 0 && f.before != "":
			f.rest = f.before
		case f.made > 0 && f.read >= f.n-len(f.part)-len(f.after)-8:
			if f.after == "" {
				return n, io.EOF
			}
			f.rest, f.after = f.after, ""
		default:
			f.made++
			f.rest = strings.ReplaceAll(f.part, "#", strconv.Itoa(f.made))
		}
		k := copy(p[n:], f.rest)
		f.rest, n, f.read = f.rest[k:], n+k, f.read+k
	}
	return n, nil
}

// Whatever a file of the largest size holds, refusing or loading it takes no more memory
// than is documented.
func TestHostileFilesAreBoundedInMemory(t *testing.T) {
	size := bpe.MaxFile
	if testing.Short() { // the race detector takes twenty times as long
		size = 2 << 20
	}
	tests := map[string]struct{ before, part, after string }{
		"one number":           {`{"model":{"dropout":`, "9", `}}`},
		"one token":            {`{"model":{"vocab":{"`, "a", `":1}}}`},
		"merges in lists":      {`{"model":{"merges":["a b"`, `,["word# ","and#"]`, `]}}`},
		"added tokens":         {`{"added_tokens":[{}`, `,{}`, `]}`},
		"one added token":      {`{"added_tokens":[{"id":1,"content":"`, "ab", `"}]}`},
		"normalizers":          {`{"normalizer":{"type":"Sequence","normalizers":[{}`, `,{}`, `]}}`},
		"one expression":       {`{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"`, "(a+)+", `"}}}`},
		"pieces of a template": {`{"post_processor":{"type":"TemplateProcessing","single":[{}`, `,{"Sequence":{}}`, `]}}`},
		"tokens of a template": {`{"post_processor":{"type":"TemplateProcessing","special_tokens":{"a":{"ids":[0`, `,0`, `]}}}}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			peaktest.Within(t, mostMemory, func() func() {
				file := &hostileFile{n: size, before: tt.before, part: tt.part, after: tt.after}
				return func() {
					_, err := bpe.Load(file)
					var refused *bpe.LoadError
					require.ErrorAs(t, err, &refused)
					require.Less(t, len(err.Error()), 16<<10, "what is said of it is short")
				}
			})
		})
	}
}

// A file with as many tokens and merges as are taken is read within the same bound.
func TestTheLargestFileIsBoundedInMemory(t *testing.T) {
	tokens := 1 << 20
	if testing.Short() {
		tokens = 1 << 14
	}
	peaktest.Within(t, mostMemory, func() func() {
		before := `{"model":{"vocab":{` + manyTokens(tokens) + `},"merges":["a b"`
		file := &hostileFile{n: len(before) + 14*2*tokens, before: before, part: `,"# #"`, after: `]}}`}
		return func() {
			_, err := bpe.Load(file)
			require.ErrorContains(t, err, "not byte-level")
		}
	})
}
