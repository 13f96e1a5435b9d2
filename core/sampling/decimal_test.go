package sampling

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShortDecimal_is_what_the_library_reads(t *testing.T) {
	check := func(text string) {
		x, ok := shortDecimal(text)
		if !ok {
			return
		}
		want, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err, text)
		require.Equal(t, math.Float64bits(want), math.Float64bits(x), text)
	}
	for _, text := range []string{"", ".", "0", "1", "0.7", "1.0", "0.05", "00.5", ".5", "5.", "1.2.3", "-1", "1e5", "123456789012345", "1234567890123456", "0.00000000000001"} {
		check(text)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 200_000 {
		text := make([]byte, r.IntN(17))
		for i := range text {
			text[i] = "0123456789."[r.IntN(11)]
		}
		check(string(text))
	}
	for _, text := range []string{"", ".", "-1", "1e5", "1.2.3", "1234567890123456"} {
		_, ok := shortDecimal(text)
		require.False(t, ok, text)
	}
}
