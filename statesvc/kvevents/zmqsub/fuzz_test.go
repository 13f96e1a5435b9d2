package zmqsub

import (
	"bufio"
	"bytes"
	"testing"
)

// FuzzRead: whatever bytes come, what is kept of a message is bounded and nothing panics.
func FuzzRead(f *testing.F) {
	f.Add([]byte{0, 1, 'x'})
	f.Add([]byte{1, 0, 3, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 'a', 'b'})
	f.Add([]byte{2, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte("\x04\x1d\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := peer{in: bufio.NewReader(bytes.NewReader(b)), max: 100}
		for {
			m, err := p.read()
			if err != nil {
				return
			}
			n := 0
			for _, frame := range m.frames {
				n += len(frame)
			}
			if n > p.max || len(m.frames) > maxFrames {
				t.Fatal("a message is over the bound")
			}
			if _, body, ok := command(m); ok {
				property(body, "socket-type")
			}
		}
	})
}
