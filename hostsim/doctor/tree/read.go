package tree

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of one input. They leave room for the configuration dump of a gateway with
// thousands of clusters, and keep what is read below some hundred megabytes.
const (
	MaxJSON  = 32 << 20 // bytes
	MaxYAML  = 4 << 20  // bytes; YAML takes some twenty times its size in memory
	maxNodes = 1_000_000
	maxDepth = 200
	// maxAliased bounds the values that aliases stand for: few documents have any.
	maxAliased = 100_000
)

// Document is one document of an input.
type Document struct {
	Root *Node
	// Duplicates are keys that stand twice in one mapping; the first one is in the tree.
	Duplicates []At
}

// Read reads every document of an input. What looks like JSON is read as JSON, and
// only if it is none as YAML. An error says in one line what is wrong and where.
func Read(data []byte) ([]Document, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := bytes.TrimSpace(data)
	if len(text) == 0 {
		return nil, errors.New("is empty")
	}
	if text[0] != '{' && text[0] != '[' {
		return readYAML(data)
	}
	documents, err := readJSON(data)
	if err == nil || len(data) > MaxYAML {
		return documents, err
	}
	if documents, again := readYAML(data); again == nil {
		return documents, nil
	}
	return nil, err
}

// ReadJSON is Read for a file that its readers take for JSON, whatever YAML may make
// of it.
func ReadJSON(data []byte) ([]Document, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("is empty")
	}
	return readJSON(data)
}

// reader counts what a document takes.
type reader struct {
	nodes      int
	aliased    int // of them those that aliases stand for
	inAlias    int // aliases that are being replaced
	duplicates []At
}

func (r *reader) take(line, depth int) error {
	if r.nodes++; r.nodes > maxNodes {
		return fmt.Errorf("line %d: more than %d values; give doctor the part that matters", line, maxNodes)
	}
	if r.inAlias > 0 {
		r.aliased++
	}
	if r.aliased > maxAliased {
		return fmt.Errorf("line %d: aliases stand for more than %d values; write them out, or leave them out", line, maxAliased)
	}
	if depth > maxDepth {
		return fmt.Errorf("line %d: nested more than %d deep", line, maxDepth)
	}
	return nil
}

// put adds a key to a mapping, or notes that it stands twice.
func (r *reader) put(n *Node, path, key string, line int, value *Node, keys *keySet) {
	if !keys.add(n, key) {
		r.duplicates = append(r.duplicates, At{Path: Join(path, key), Line: line, Node: value})
		return
	}
	n.Fields = append(n.Fields, Field{Key: key, Line: line, Value: value})
}

// keySet tells which keys a mapping has. Most have few, and looking at each is cheaper
// than a table.
type keySet struct{ table map[string]bool }

// add reports whether a key is new to a mapping whose keys went through the set.
func (k *keySet) add(n *Node, key string) bool {
	const few = 16
	if k.table == nil && len(n.Fields) < few {
		return !slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Key == key })
	}
	if k.table == nil {
		k.table = map[string]bool{}
		for _, f := range n.Fields {
			k.table[f.Key] = true
		}
	}
	known := k.table[key]
	k.table[key] = true
	return !known
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
