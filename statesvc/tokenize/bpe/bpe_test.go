package bpe_test

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/statesvc/tokenize/bpe"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
)

// tokenizers are loaded once for all tests of the package.
var tokenizers = func() map[string]func(testing.TB) *bpe.Tokenizer {
	all := map[string]func(testing.TB) *bpe.Tokenizer{}
	for _, family := range tokenizetest.Families() {
		var once sync.Once
		var loaded *bpe.Tokenizer
		all[family] = func(t testing.TB) *bpe.Tokenizer {
			once.Do(func() {
				f, err := os.Open(tokenizetest.File(t, family, "tokenizer.json"))
				require.NoError(t, err)
				defer f.Close()
				loaded, err = bpe.Load(f)
				require.NoError(t, err)
			})
			return loaded
		}
	}
	return all
}()

func TestEncodesAsTheReferenceDoes(t *testing.T) {
	families := tokenizetest.Families()
	if testing.Short() { // loading is slow under the race detector
		families = families[:1]
	}
	for _, family := range families {
		t.Run(family, func(t *testing.T) {
			tok := tokenizers[family](t)
			golden := tokenizetest.ReadGolden(t, family)
			for _, g := range golden.Texts {
				ids, err := tok.Encode(t.Context(), []uint32{}, g.Text)
				require.NoError(t, err)
				require.Equal(t, g.IDs, ids, "%q", g.Text)
			}
			for _, g := range golden.Chats {
				ids, err := tok.Encode(t.Context(), nil, g.Rendered)
				require.NoError(t, err)
				require.Equal(t, g.IDs, ids, g.Name)
			}
			prefix, suffix := tok.Affixes()
			ids, err := tok.Encode(t.Context(), append([]uint32{}, prefix...), "x y")
			require.NoError(t, err)
			require.Equal(t, golden.Affixed, append(ids, suffix...))
		})
	}
}
