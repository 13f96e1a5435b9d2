package spec

import (
	"reflect"
	"strconv"
	"strings"
)

// fieldOf finds the field that a key sets. Keys are matched to the letter.
func fieldOf(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if name := tagName(v.Type().Field(i)); name == key && name != "-" {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func tagName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// keysOf lists the keys of a configuration type.
func keysOf(t reflect.Type) []string {
	names := make([]string, 0, t.NumField())
	for f := range t.Fields() {
		if name := tagName(f); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// nearest gives the known key that a misspelt one most likely stands for: the
// first of the closest, at most two edits away, one for a very short key.
func nearest(key string, known []string) (best string, ok bool) {
	distance := min(3, len(key)/2+1)
	for _, name := range known {
		if n := editDistance(key, name); n < distance {
			best, distance = name, n
		}
	}
	return best, best != ""
}

// editDistance is the Levenshtein distance of two keys. Above the longest
// distance that nearest accepts only its being large counts.
func editDistance(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 {
		return max(d, -d)
	}
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

// join adds a key to a path. A key that a path cannot be read with is quoted.
func join(path, key string) string {
	if key == "" || strings.ContainsFunc(key, unreadable) {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func unreadable(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune(".[]\"\\:;", r)
}
