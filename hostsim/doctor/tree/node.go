package tree

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Kind is what a value is.
type Kind uint8

// The kinds. Numbers keep the text they were written with.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

func (k Kind) String() string {
	return [...]string{"null", "true or false", "a number", "a text", "a list", "a mapping"}[k]
}

// Node is one value.
type Node struct {
	Kind   Kind
	Text   string  // of a scalar
	Line   int     // from 1
	Items  []*Node // of a list
	Fields []Field // of a mapping, in the order written
	Block  bool    // a text written as a literal block, whose lines are those of the file
}

// Field is one key of a mapping.
type Field struct {
	Key   string
	Line  int
	Value *Node
}

// At is a place in a document: a value, or where a value that is not there would
// stand. The zero At is nowhere.
type At struct {
	File string
	Path string
	Line int
	Node *Node // nil where nothing is
}

// Root is the place of a whole document of a file.
func Root(file string, n *Node) At { return At{File: file, Line: n.Line, Node: n} }

// Exists reports whether a value other than null is there.
func (a At) Exists() bool { return a.Node != nil && a.Node.Kind != Null }

// Get follows keys, or list positions written as numbers. A key in snake_case also
// finds its lowerCamelCase form, as protobuf's JSON has it. What is not there keeps
// the line of what is nearest above.
func (a At) Get(keys ...string) At {
	for _, k := range keys {
		a = a.step(k)
	}
	return a
}

func (a At) step(key string) At {
	next := At{File: a.File, Path: Join(a.Path, key), Line: a.Line}
	if a.Node == nil {
		return next
	}
	if a.Node.Kind == List {
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(a.Node.Items) {
			return a.item(i)
		}
		return next
	}
	for _, name := range []string{key, Camel(key)} {
		for _, f := range a.Node.Fields {
			if f.Key == name {
				return At{File: a.File, Path: Join(a.Path, name), Line: f.Line, Node: f.Value}
			}
		}
	}
	return next
}

func (a At) item(i int) At {
	n := a.Node.Items[i]
	return At{File: a.File, Path: a.Path + "[" + strconv.Itoa(i) + "]", Line: n.Line, Node: n}
}

// Items are the places of a list's values, none for anything else.
func (a At) Items() []At {
	if a.Node == nil || a.Node.Kind != List {
		return nil
	}
	list := make([]At, len(a.Node.Items))
	for i := range list {
		list[i] = a.item(i)
	}
	return list
}

// Keys are the keys of a mapping in the order written.
func (a At) Keys() []string {
	if a.Node == nil {
		return nil
	}
	keys := make([]string, len(a.Node.Fields))
	for i, f := range a.Node.Fields {
		keys[i] = f.Key
	}
	return keys
}

// Members calls visit for every key of a mapping, in the order written.
func (a At) Members(visit func(key string, value At)) {
	if a.Node == nil {
		return
	}
	for _, f := range a.Node.Fields {
		visit(f.Key, At{File: a.File, Path: Join(a.Path, f.Key), Line: f.Line, Node: f.Value})
	}
}

// Field is the place of one key, to the letter.
func (a At) Field(key string) At {
	if a.Node == nil {
		return At{File: a.File, Path: Join(a.Path, key), Line: a.Line}
	}
	for _, f := range a.Node.Fields {
		if f.Key == key {
			return At{File: a.File, Path: Join(a.Path, key), Line: f.Line, Node: f.Value}
		}
	}
	return At{File: a.File, Path: Join(a.Path, key), Line: a.Line}
}

// Text is a scalar's text, empty for anything else.
func (a At) Text() string {
	if a.Node == nil || a.Node.Kind == List || a.Node.Kind == Map {
		return ""
	}
	return a.Node.Text
}

// True reports whether the value is true.
func (a At) True() bool { return a.Node != nil && a.Node.Kind == Bool && a.Node.Text == "true" }

// Uint is the value as a whole number.
func (a At) Uint() (uint64, bool) {
	if !a.Exists() {
		return 0, false
	}
	if n, err := strconv.ParseUint(a.Text(), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(a.Text(), 64)
	if err != nil || f < 0 || f != math.Trunc(f) || f > 1<<53 {
		return 0, false
	}
	return uint64(f), true
}

// Duration is the value as a span of time, as protobuf ("1.5s") and Kubernetes
// ("1m30s") write it.
func (a At) Duration() (time.Duration, bool) {
	if a.Text() == "" {
		return 0, false
	}
	d, err := time.ParseDuration(a.Text())
	return d, err == nil
}

// Find follows a path as Join writes it, as far as it goes.
func (a At) Find(path string) At {
	for path != "" {
		key, rest := cutKey(path)
		a, path = a.step(key), rest
	}
	return a
}

// cutKey takes the first key off a path.
func cutKey(path string) (key, rest string) {
	if quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(path, "[")); err == nil && path[0] == '[' {
		key, _ = strconv.Unquote(quoted)
		return key, strings.TrimPrefix(strings.TrimPrefix(path[1+len(quoted):], "]"), ".")
	}
	if path[0] == '[' {
		key, rest, _ = strings.Cut(path[1:], "]")
		return key, strings.TrimPrefix(rest, ".")
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, ""
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}

// Join adds a key to a path. A key that a path cannot be read with is quoted.
func Join(path, key string) string {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`.[]"\:;`, r) }) {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Camel turns snake_case into lowerCamelCase.
func Camel(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}
