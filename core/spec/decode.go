package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// decoder reads JSON into configuration types strictly: a key without a field,
// a key that stands twice and a value of the wrong type are problems, and all
// of them are found in one pass. encoding/json alone stops at the first.
type decoder struct {
	problems Problems
	meant    []string // paths that misspelt keys probably stand for
}

// selfDecoder is a configuration type that has more than one form.
type selfDecoder interface {
	decodeFrom(d *decoder, path string, raw json.RawMessage)
}

// decode reads one whole document into dst.
func (d *decoder) decode(document []byte, dst any) {
	dec := json.NewDecoder(bytes.NewReader(document))
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		d.problems.add("", syntaxReason(document, err), "")
		return
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		d.problems.add("", "more follows the first JSON value", "write one object")
		return
	}
	d.value("", raw, reflect.ValueOf(dst).Elem())
}

// syntaxReason says where and why a document is not JSON.
func syntaxReason(document []byte, err error) string {
	var syntax *json.SyntaxError
	switch {
	case len(bytes.TrimSpace(document)) == 0:
		return "the document is empty"
	case errors.As(err, &syntax):
		before := document[:min(max(syntax.Offset-1, 0), int64(len(document)))]
		line := bytes.Count(before, []byte("\n")) + 1
		column := len(before) - bytes.LastIndexByte(before, '\n')
		return fmt.Sprintf("not valid JSON at line %d, column %d: %v", line, column, err)
	}
	return "not valid JSON: the document ends too early"
}

// value reads one JSON value into v, descending by the kind of v.
func (d *decoder) value(path string, raw json.RawMessage, v reflect.Value) {
	if string(raw) == "null" {
		d.problems.add(path, "null is not a value here", "leave the key out")
		return
	}
	if special, ok := reflect.TypeAssert[selfDecoder](v.Addr()); ok {
		special.decodeFrom(d, path, raw)
		return
	}
	if s, ok := reflect.TypeAssert[switchable](v.Addr()); ok && d.turned(path, raw, s) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(path, raw, v.Elem())
	case reflect.Struct:
		d.object(path, raw, v)
	case reflect.Map:
		d.table(path, raw, v)
	case reflect.Slice:
		d.list(path, raw, v)
	default:
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			d.problems.add(path, "must be "+kindName(v.Kind())+", is "+excerpt(raw), "")
		}
	}
}

// turned reads an object for which true or false stands, and reports whether one
// does.
func (d *decoder) turned(path string, raw json.RawMessage, s switchable) bool {
	switch string(raw) {
	case "false":
		s.turnOff()
		return true
	case "true":
		d.problems.add(path, "must be an object or false, is true", "leave it out for its defaults")
		return true
	}
	return false
}

func (d *decoder) object(path string, raw json.RawMessage, v reflect.Value) {
	d.members(path, raw, func(key string, value json.RawMessage) {
		at := join(path, key)
		field, ok := fieldOf(v, key)
		if !ok {
			d.unknown(path, key, v.Type())
			return
		}
		d.value(at, value, field)
	})
}

// unknown notes a key that no field reads: one that is dropped or spelled
// otherwise by name, any other with the key it may stand for.
func (d *decoder) unknown(path, key string, t reflect.Type) {
	at := join(path, key)
	if why, ok := refusedKey(key); ok {
		d.problems.add(at, why.reason, why.fix)
		return
	}
	known := keysOf(t)
	near, ok := nearest(key, known)
	if !ok {
		d.problems.add(at, "unknown key", "known keys: "+strings.Join(known, ", "))
		return
	}
	d.meant = append(d.meant, join(path, near))
	d.problems.add(at, "unknown key", fmt.Sprintf("did you mean %q?", near))
}

func (d *decoder) table(path string, raw json.RawMessage, v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	d.members(path, raw, func(key string, value json.RawMessage) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(join(path, key), value, element)
		v.SetMapIndex(reflect.ValueOf(key), element)
	})
}

func (d *decoder) list(path string, raw json.RawMessage, v reflect.Value) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		d.problems.add(path, "must be a list, is "+excerpt(raw), "")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		d.value(path+"["+strconv.Itoa(i)+"]", item, v.Index(i))
	}
}

// members calls visit for each key of an object, in the order written.
func (d *decoder) members(path string, raw json.RawMessage, visit func(string, json.RawMessage)) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, _ := dec.Token(); open != json.Delim('{') {
		d.problems.add(path, "must be an object, is "+excerpt(raw), "")
		return
	}
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return
		}
		key := token.(string)
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return
		}
		if seen[key] {
			d.problems.add(join(path, key), "stands twice", "keep one")
			continue
		}
		seen[key] = true
		visit(key, value)
	}
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Uint32:
		return "a whole number from 0 to 4294967295"
	case reflect.Uint64:
		return "a whole number, zero or more"
	}
	return "another type"
}

// excerpt shows a value in a message, on one line and cut to a readable length.
func excerpt(raw json.RawMessage) string {
	const most = 40
	s := strings.Join(strings.Fields(string(raw)), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
