package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// jsonReader reads JSON token by token, which keeps the depth in its hands.
type jsonReader struct {
	reader
	data   []byte
	dec    *json.Decoder
	line   int
	offset int64
}

func readJSON(data []byte) ([]Document, error) {
	if len(data) > MaxJSON {
		return nil, fmt.Errorf("is more than %d bytes of JSON, which is what doctor reads; dump less, as /config_dump?resource=dynamic_active_clusters does", MaxJSON)
	}
	r := &jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.dec.UseNumber()
	var documents []Document
	for {
		r.duplicates = nil
		n, err := r.value("", 0)
		if errors.Is(err, io.EOF) && len(documents) > 0 {
			return documents, nil
		}
		if err != nil {
			return nil, r.explain(err)
		}
		documents = append(documents, Document{n, r.duplicates})
	}
}

// at gives the line of what was read last.
func (r *jsonReader) at() int {
	end := r.dec.InputOffset()
	r.line += bytes.Count(r.data[r.offset:end], []byte("\n"))
	r.offset = end
	return r.line
}

func (r *jsonReader) explain(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		// The position is that of a token; a look at the whole has the character's.
		if exact, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(r.data, new(json.RawMessage))); ok {
			syntax, err = exact, exact
		}
		end := min(max(syntax.Offset-1, 0), int64(len(r.data)))
		return fmt.Errorf("not valid JSON at line %d: %w", bytes.Count(r.data[:end], []byte("\n"))+1, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not valid JSON: it ends too early")
	}
	return err
}

func (r *jsonReader) value(path string, depth int) (*Node, error) {
	token, err := r.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &Node{Line: r.at()}
	if err := r.take(n.Line, depth); err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			return n, r.list(n, path, depth)
		}
		return n, r.object(n, path, depth)
	case string:
		n.Kind, n.Text = String, v
	case json.Number:
		n.Kind, n.Text = Number, v.String()
	case bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(v)
	}
	return n, nil
}

func (r *jsonReader) list(n *Node, path string, depth int) error {
	n.Kind = List
	for i := 0; r.dec.More(); i++ {
		item, err := r.value(path+"["+strconv.Itoa(i)+"]", depth+1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := r.dec.Token()
	return err
}

func (r *jsonReader) object(n *Node, path string, depth int) error {
	n.Kind = Map
	var keys keySet
	for r.dec.More() {
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		line := r.at()
		value, err := r.value(Join(path, key), depth+1)
		if err != nil {
			return err
		}
		r.put(n, path, key, line, value, &keys)
	}
	_, err := r.dec.Token()
	return err
}
