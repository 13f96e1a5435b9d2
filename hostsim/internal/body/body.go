// Package body holds the bytes of a message body the way Envoy's buffers do: as a chain of chunks, so that adding a
// chunk moves nothing and an edit at the front costs the edited bytes only (envoy.md 4.3).
package body

// Buffer is a chain of chunks. The zero value is empty. It owns the chunks given to it.
type Buffer struct {
	chunks [][]byte
	size   int
}

// Len returns the number of bytes held.
func (b *Buffer) Len() int { return b.size }

// Append adds a chunk at the end.
func (b *Buffer) Append(chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	b.chunks = append(b.chunks, chunk)
	b.size += len(chunk)
}

// Prepend adds a chunk at the front.
func (b *Buffer) Prepend(chunk []byte) {
	if len(chunk) == 0 {
		return
	}
	b.chunks = append([][]byte{chunk}, b.chunks...)
	b.size += len(chunk)
}

// Drain drops the first n bytes, or all when there are fewer.
func (b *Buffer) Drain(n int) {
	n = min(n, b.size)
	b.size -= n
	for n > 0 {
		if len(b.chunks[0]) > n {
			b.chunks[0] = b.chunks[0][n:]
			return
		}
		n -= len(b.chunks[0])
		b.chunks = b.chunks[1:]
	}
}

// MoveTo appends all bytes to dst and leaves b empty.
func (b *Buffer) MoveTo(dst *Buffer) {
	dst.chunks = append(dst.chunks, b.chunks...)
	dst.size += b.size
	*b = Buffer{}
}

// Take returns the chunks in order and leaves b empty.
func (b *Buffer) Take() [][]byte {
	chunks := b.chunks
	*b = Buffer{}
	return chunks
}

// CopyTo fills dst with the bytes from start on and returns how many there were.
func (b *Buffer) CopyTo(dst []byte, start int) int {
	n := 0
	for _, c := range b.chunks {
		if n == len(dst) {
			break
		}
		if start >= len(c) {
			start -= len(c)
			continue
		}
		n += copy(dst[n:], c[start:])
		start = 0
	}
	return n
}

// Bytes returns a copy of everything.
func (b *Buffer) Bytes() []byte {
	out := make([]byte, b.size)
	b.CopyTo(out, 0)
	return out
}

// Replace applies proxy_set_buffer_bytes with the rules of Envoy's Buffer::copyFrom (envoy.md 4.3): start 0 drains
// length bytes and prepends data; start at or beyond the end appends; any other start is refused with false.
func (b *Buffer) Replace(start, length uint32, data []byte) bool {
	switch {
	case start == 0:
		b.Drain(int(min(uint64(length), uint64(b.size))))
		b.Prepend(data)
		return true
	case uint64(start) >= uint64(b.size):
		b.Append(data)
		return true
	}
	return false
}
