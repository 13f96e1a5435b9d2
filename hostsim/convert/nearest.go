package convert

import (
	"strings"

	"github.com/pointsman/pointsman/core/spelling"
)

// nearest gives the known word that a misspelt one most likely stands for: one
// that is at most a third of its letters away, else the only one that it is part
// of.
func nearest(word string, known []string) (best string, ok bool) {
	distance := len(strings.TrimLeft(word, "-"))/3 + 1
	for _, name := range known {
		if n := spelling.Distance(word, name); n < distance {
			best, distance = name, n
		}
	}
	if best != "" {
		return best, true
	}
	stem := strings.Trim(word, "-")
	for _, name := range known {
		if len(stem) < 4 || !strings.Contains(name, stem) {
			continue
		}
		if best != "" {
			return "", false
		}
		best = name
	}
	return best, best != ""
}
