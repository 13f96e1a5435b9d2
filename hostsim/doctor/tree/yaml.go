package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func readYAML(data []byte) ([]Document, error) {
	if len(data) > MaxYAML {
		return nil, fmt.Errorf("is more than %d bytes of YAML, which is what doctor reads; split it", MaxYAML)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var documents []Document
	r := &yamlReader{}
	for {
		var parsed yaml.Node
		err := dec.Decode(&parsed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.New("not valid YAML: " + oneLine(strings.TrimPrefix(err.Error(), "yaml: ")))
		}
		r.duplicates = nil
		n, err := r.value(&parsed, "", 0)
		if err != nil {
			return nil, err
		}
		if n.Kind != Null {
			documents = append(documents, Document{n, r.duplicates})
		}
	}
	if len(documents) == 0 {
		return nil, errors.New("holds no YAML document")
	}
	return documents, nil
}

// yamlReader turns the parser's nodes, in which aliases are not replaced yet, into
// ours.
type yamlReader struct{ reader }

func (r *yamlReader) value(y *yaml.Node, path string, depth int) (*Node, error) {
	if err := r.take(y.Line, depth); err != nil {
		return nil, err
	}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) == 0 {
			return &Node{Line: y.Line}, nil
		}
		return r.value(y.Content[0], path, depth)
	case yaml.AliasNode:
		r.inAlias++
		defer func() { r.inAlias-- }()
		return r.value(y.Alias, path, depth+1)
	case yaml.SequenceNode:
		return r.list(y, path, depth)
	case yaml.MappingNode:
		n := &Node{Kind: Map, Line: y.Line}
		return n, r.mapping(n, y, path, depth)
	case yaml.ScalarNode:
		return scalar(y), nil
	}
	return &Node{Line: y.Line}, nil
}

func (r *yamlReader) list(y *yaml.Node, path string, depth int) (*Node, error) {
	n := &Node{Kind: List, Line: y.Line}
	for i, item := range y.Content {
		value, err := r.value(item, path+"["+strconv.Itoa(i)+"]", depth+1)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, value)
	}
	return n, nil
}

func (r *yamlReader) mapping(n *Node, y *yaml.Node, path string, depth int) error {
	var keys keySet
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: a key must be a plain text", key.Line)
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		v, err := r.value(value, Join(path, key.Value), depth+1)
		if err != nil {
			return err
		}
		r.put(n, path, key.Value, key.Line, v, &keys)
	}
	for _, m := range merged {
		if err := r.merge(n, m, path, depth, &keys); err != nil {
			return err
		}
	}
	return nil
}

// merge adds the keys of a merge key (<<) that the mapping does not have itself.
func (r *yamlReader) merge(n *Node, y *yaml.Node, path string, depth int, keys *keySet) error {
	v, err := r.value(y, path, depth+1)
	if err != nil {
		return err
	}
	for _, source := range append([]*Node{v}, v.Items...) {
		for _, f := range source.Fields {
			if keys.add(n, f.Key) {
				n.Fields = append(n.Fields, f)
			}
		}
	}
	return nil
}

func scalar(y *yaml.Node) *Node {
	n := &Node{Kind: String, Text: y.Value, Line: y.Line, Block: y.Style&yaml.LiteralStyle != 0}
	switch y.ShortTag() {
	case "!!null":
		n.Kind, n.Text = Null, ""
	case "!!bool":
		n.Kind, n.Text = Bool, strings.ToLower(y.Value)
	case "!!int":
		n.Kind = Number
		if i, err := strconv.ParseInt(y.Value, 0, 64); err == nil {
			n.Text = strconv.FormatInt(i, 10)
		}
	case "!!float":
		n.Kind = Number
	}
	return n
}
