package sglhash_test

import (
	"slices"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvindex/sglhash"
	"github.com/stretchr/testify/require"
)

func span(from, to, step uint32) []uint32 {
	var list []uint32
	for t := from; t <= to; t += step {
		list = append(list, t)
	}
	return list
}

// The vectors of engine-selection.md 10.7.
func TestHashes_vectors(t *testing.T) {
	for _, c := range []struct {
		name   string
		tokens []uint32
		opts   sglhash.Options
		want   []int64
	}{
		{"one full", span(1, 4, 1), sglhash.Options{BlockSize: 4}, []int64{-3488128144981237669}},
		{"short last", span(1, 5, 1), sglhash.Options{BlockSize: 4}, []int64{-3488128144981237669, -3787494577174227566}},
		{"full only", span(1, 5, 1), sglhash.Options{BlockSize: 4, FullOnly: true}, []int64{-3488128144981237669}},
		{"pairs of tokens", span(10, 80, 10), sglhash.Options{BlockSize: 2}, []int64{978178666101069530, -895308556211281782, -8033692805846017938, 835415944263129316}},
		{"page of one", span(7, 9, 1), sglhash.Options{BlockSize: 1}, []int64{-1702009526849766914, 903318264012984157, -8265893088400908305}},
		{"page of three", span(100, 700, 100), sglhash.Options{BlockSize: 3}, []int64{-7293070039731858224, -5869816562584529365, 7513319606423624955}},
		{"eight blocks", span(1, 128, 1), sglhash.Options{BlockSize: 16}, []int64{
			8635429971592222890, 1256577331724852459, 5689809685380680247, 3927976462491479733,
			5639345789331840936, -4601255381563393033, 3368460852864325515, 1233425155141659070,
		}},
		{"bigram short", span(10, 40, 10), sglhash.Options{BlockSize: 4, Bigram: true}, []int64{-2735951481331064195}},
		{"bigram two", span(10, 50, 10), sglhash.Options{BlockSize: 2, Bigram: true}, []int64{-8847804484166691499, 4989791362144317498}},
		{"bigram short last", span(1, 6, 1), sglhash.Options{BlockSize: 4, Bigram: true}, []int64{-638950109823820341, 3604587133525381017}},
		{"salt", span(1, 5, 1), sglhash.Options{BlockSize: 4, Salt: "tenant-a"}, []int64{3718046898735569995, -3746251122054429113}},
		{"nothing", nil, sglhash.Options{BlockSize: 4}, nil},
		{"bigram of one token", span(1, 1, 1), sglhash.Options{BlockSize: 4, Bigram: true}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := sglhash.Hashes(nil, c.tokens, c.opts)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// Three pages that a recorded SGLang 0.5.23 cache announced without and with a salt
// (fixtures: sglang-0.5.23/radix/salt-default-format).
func TestHashes_recorded(t *testing.T) {
	tokens := []uint32{
		151644, 8948, 198, 2610, 525, 279, 44257, 315, 264, 2613, 74642, 13, 576, 74642, 7341, 13598,
		264, 46933, 315, 1449, 8284, 429, 4041, 304, 448, 279, 41938, 13, 8886, 1555, 5036, 279,
		26182, 11, 1181, 5181, 11, 1181, 25652, 11, 323, 279, 6460, 432, 27031, 279, 3619, 13,
	}
	for salt, want := range map[string][]int64{
		"":         {6776140262378376573, 5735131952666807286, -7034472630284508269},
		"tenant-a": {7037452438585209540, 349042465776503381, -7148341159257852566},
		"tenant-b": {-7142838603561271803, -4410730853885064325, 2417265034122035641},
	} {
		got, err := sglhash.Hashes(nil, tokens, sglhash.Options{BlockSize: 16, Salt: salt})
		require.NoError(t, err)
		require.Equal(t, want, got, salt)
	}
}

func TestHashes_appends(t *testing.T) {
	got, err := sglhash.Hashes([]int64{1}, span(1, 4, 1), sglhash.Options{BlockSize: 4})
	require.NoError(t, err)
	require.Equal(t, []int64{1, -3488128144981237669}, slices.Clone(got))
}

func TestHashes_blockSize(t *testing.T) {
	_, err := sglhash.Hashes(nil, span(1, 4, 1), sglhash.Options{})
	require.ErrorIs(t, err, sglhash.ErrBlockSize)
}
