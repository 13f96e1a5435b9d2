package body_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/hostsim/internal/body"
)

// TestBuffer_againstBytes compares every operation with the same one on a plain byte slice.
func TestBuffer_againstBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b body.Buffer
		var model []byte
		chunk := rapid.SliceOfN(rapid.Byte(), 0, 9)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				c := chunk.Draw(t, "chunk")
				b.Append(c)
				model = append(model, c...)
			},
			"replace": func(t *rapid.T) {
				start, length := rapid.Uint32Range(0, 20).Draw(t, "start"), rapid.Uint32Range(0, 20).Draw(t, "length")
				data := chunk.Draw(t, "data")
				ok := b.Replace(start, length, data)
				switch {
				case start == 0:
					model = append(append([]byte{}, data...), model[min(int(length), len(model)):]...)
				case int(start) >= len(model):
					model = append(model, data...)
				}
				require.Equal(t, start == 0 || ok, ok)
			},
			"read": func(t *rapid.T) {
				start, n := rapid.IntRange(0, len(model)).Draw(t, "start"), rapid.IntRange(0, 30).Draw(t, "n")
				dst := make([]byte, n)
				got := b.CopyTo(dst, start)
				require.Equal(t, string(model[start:min(start+n, len(model))]), string(dst[:got]))
			},
			"move": func(*rapid.T) {
				var other body.Buffer
				b.MoveTo(&other)
				require.Zero(t, b.Len())
				b = other
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(model), b.Len())
				require.Equal(t, string(model), string(b.Bytes()))
			},
		})
	})
}
