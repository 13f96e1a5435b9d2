package convert

import "strings"

// nearest gives the known word that a misspelt one most likely stands for: one
// that is at most a third of its letters away, else the only one that it is part
// of.
func nearest(word string, known []string) (best string, ok bool) {
	distance := len(strings.TrimLeft(word, "-"))/3 + 1
	for _, name := range known {
		if n := editDistance(word, name); n < distance {
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

// editDistance is the Levenshtein distance.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = min(diagonal, row[j], row[j-1]) + 1
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}
