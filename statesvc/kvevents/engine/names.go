package engine

const (
	// maxNameBytes is the longest salt or LoRA name: vLLM takes salts of up to 1,024
	// characters (fixtures/README.md 3), of at most 4 bytes.
	maxNameBytes = 4096
	// maxNamesBytes bounds the names that are kept for reuse.
	maxNamesBytes = 64 << 10
)

// names gives the same string for the same bytes, so that an event costs no string.
type names struct {
	known map[string]string
	bytes int
}

func (n *names) get(b []byte) string {
	if s, ok := n.known[string(b)]; ok {
		return s
	}
	if n.known == nil || n.bytes+len(b) > maxNamesBytes {
		*n = names{known: map[string]string{}}
	}
	s := string(b)
	n.known[s] = s
	n.bytes += len(b)
	return s
}
