package pairs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim/internal/pairs"
)

func TestEncode_bytes(t *testing.T) {
	blob, err := pairs.Encode([][2]string{{"a", "bc"}, {"", ""}})
	require.NoError(t, err)
	require.Equal(t, "\x02\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00a\x00bc\x00\x00\x00", string(blob))
	back, err := pairs.Decode(blob)
	require.NoError(t, err)
	require.Equal(t, [][2]string{{"a", "bc"}, {"", ""}}, back)
}

func TestLimits(t *testing.T) {
	_, err := pairs.Encode(make([][2]string, pairs.MaxPairs))
	require.NoError(t, err)
	_, err = pairs.Encode(make([][2]string, pairs.MaxPairs+1))
	require.ErrorIs(t, err, pairs.ErrTooLarge)
	_, err = pairs.Encode([][2]string{{"k", strings.Repeat("v", pairs.MaxBytes)}})
	require.ErrorIs(t, err, pairs.ErrTooLarge)
}

func TestDecode_malformed(t *testing.T) {
	for _, blob := range []string{"\x01", "\x01\x00\x00\x00", "\x01\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00ab\x00"} {
		_, err := pairs.Decode([]byte(blob))
		require.ErrorIs(t, err, pairs.ErrMalformed, "%q", blob)
	}
	list, err := pairs.Decode(nil)
	require.NoError(t, err)
	require.Empty(t, list)
}

func FuzzDecode(f *testing.F) {
	blob, err := pairs.Encode([][2]string{{":status", "200"}, {"a", "b"}})
	require.NoError(f, err)
	f.Add(blob)
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, blob []byte) {
		list, err := pairs.Decode(blob)
		if err != nil {
			return
		}
		again, err := pairs.Encode(list)
		require.NoError(t, err)
		back, err := pairs.Decode(again)
		require.NoError(t, err)
		require.Len(t, back, len(list))
	})
}
