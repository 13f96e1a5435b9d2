package engine

const (
	// maxNameBytes is the longest salt or LoRA name: vLLM takes salts of up to 1,024
	// characters (fixtures/README.md 3), of at most 4 bytes.
	maxNameBytes = 4096
	// maxNames is how many names are kept for reuse.
	maxNames = 512
)

// names gives the same string for the same bytes, so that an event costs no string.
type names map[string]string

func (n *names) get(b []byte) string {
	if s, ok := (*n)[string(b)]; ok {
		return s
	}
	if *n == nil || len(*n) >= maxNames {
		*n = names{}
	}
	s := string(b)
	(*n)[s] = s
	return s
}
