package recorded

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/pointsman/pointsman/statesvc/jsonwords"
)

const maxLine = 32 << 20

// lines yields the JSON values of r, one a line.
func lines[T any](r io.Reader) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 0, 64<<10), maxLine)
		n := 0
		for s.Scan() {
			n++
			if len(bytes.TrimSpace(s.Bytes())) == 0 {
				continue
			}
			var v T
			if err := json.Unmarshal(s.Bytes(), &v); err != nil {
				yield(v, fmt.Errorf("recording, line %d: %w", n, jsonwords.Of(err)))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			var none T
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("it is longer than %d MB, so this is no recording", maxLine>>20)
			}
			yield(none, fmt.Errorf("recording, line %d: %w", n+1, err))
		}
	}
}

// Frame is the bytes of one frame, in hex where it is written.
type Frame []byte

// UnmarshalJSON reads a string of hex digits.
func (f *Frame) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		return errors.New("a frame is a string of hex digits, and one is not a string")
	}
	raw, err := hex.DecodeString(s)
	if err != nil {
		return fmt.Errorf("a frame is a string of hex digits: %w", err)
	}
	*f = raw
	return nil
}

// MarshalJSON writes hex digits.
func (f Frame) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(f)) }

func raw(frames []Frame) [][]byte {
	out := make([][]byte, len(frames))
	for i, f := range frames {
		out[i] = f
	}
	return out
}
