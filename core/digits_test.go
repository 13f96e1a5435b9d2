package core

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReadDigits_agrees_with_the_library(t *testing.T) {
	check := func(t require.TestingT, text string) {
		want, err := strconv.ParseUint(text, 10, 64)
		got := ReadDigits(text)
		if err != nil || len(text) > 19 {
			require.Equal(t, Count{}, got, "%q", text)
			return
		}
		require.Equal(t, Known(want), got, "%q", text)
	}
	for _, text := range []string{"", "0", "007", "9999999999999999999", "10000000000000000000", "18446744073709551616", "-1", "+1", " 1", "1_0", "0x1", "1.0", "٣"} {
		check(t, text)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.StringMatching(`[0-9+ -]{0,21}`).Draw(t, "text")) })
	rapid.Check(t, func(t *rapid.T) { check(t, strconv.FormatUint(rapid.Uint64().Draw(t, "n"), 10)) })
}
