package bpe

// alphabet maps the characters that a byte-level vocabulary writes its bytes with back
// to the bytes: printable Latin-1 stands for itself, the other 68 bytes are written as
// U+0100 and up, in order.
type alphabet map[rune]byte

func newAlphabet() alphabet {
	a := make(alphabet, 256)
	next := rune(0x100)
	for b := range 256 {
		r := rune(b)
		if b < '!' || b > '~' && b < 0xA1 || b == 0xAD {
			r = next
			next++
		}
		a[r] = byte(b)
	}
	return a
}

// bytes decodes a vocabulary entry. An entry with another character can be the result
// of no text.
func (a alphabet) bytes(token string) (string, bool) {
	out := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := a[r]
		if !ok {
			return "", false
		}
		out = append(out, b)
	}
	return string(out), true
}
