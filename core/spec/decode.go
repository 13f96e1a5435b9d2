package spec

import (
	"bytes"
	"encoding/json"
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
}

// decode reads one whole document into dst.
func (d *decoder) decode(document []byte, dst any) {
	dec := json.NewDecoder(bytes.NewReader(document))
	dec.UseNumber()
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		d.problems.add("", "not valid JSON: "+err.Error(), "")
		return
	}
	if _, err := dec.Token(); err != io.EOF {
		d.problems.add("", "more than one JSON value", "write one object")
		return
	}
	d.value("", raw, reflect.ValueOf(dst).Elem())
}

// value reads one JSON value into v, descending by the kind of v.
func (d *decoder) value(path string, raw json.RawMessage, v reflect.Value) {
	if string(raw) == "null" {
		d.problems.add(path, "null is not a value here", "leave the key out")
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

func (d *decoder) object(path string, raw json.RawMessage, v reflect.Value) {
	d.members(path, raw, func(key string, value json.RawMessage) {
		at := join(path, key)
		field, ok := fieldOf(v, key)
		if !ok {
			d.problems.add(at, "unknown key", suggest(key, v.Type()))
			return
		}
		d.value(at, value, field)
	})
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

func fieldOf(v reflect.Value, key string) (reflect.Value, bool) {
	for i := range v.NumField() {
		if tagName(v.Type().Field(i)) == key {
			return v.Field(i), true
		}
	}
	return reflect.Value{}, false
}

func tagName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// suggest names the known keys of a type, the closest one first if it is near.
func suggest(key string, t reflect.Type) string {
	best, distance := "", 3
	names := make([]string, 0, t.NumField())
	for i := range t.NumField() {
		name := tagName(t.Field(i))
		names = append(names, name)
		if n := editDistance(key, name); n < distance {
			best, distance = name, n
		}
	}
	if best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return "known keys: " + strings.Join(names, ", ")
}

// editDistance is the Levenshtein distance of two short keys.
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

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func kindName(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	case reflect.Uint64, reflect.Uint32:
		return "a whole number, zero or more"
	}
	return "another type"
}

// excerpt quotes a value in a message, cut to a readable length.
func excerpt(raw json.RawMessage) string {
	const most = 40
	s := string(raw)
	if len(s) > most {
		s = s[:most] + "..."
	}
	return s
}
