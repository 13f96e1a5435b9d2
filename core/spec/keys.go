package spec

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core/spelling"
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
		if n := spelling.Distance(key, name); n < distance {
			best, distance = name, n
		}
	}
	return best, best != ""
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
