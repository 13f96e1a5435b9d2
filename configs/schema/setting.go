package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// setting is one key of a configuration, with what is below it.
type setting struct {
	key      string
	kind     string // of value: text, whole number, number, true or false, list, map or object
	doc      string
	standard string // what holds when the key is left out, empty when nothing is filled in
	below    []setting
	every    *setting // of a list or a map
	lax      bool     // takes other forms too, which its doc comment describes
}

// truth is the kind of values that are true or false.
const truth = "true or false"

// reader makes settings of the types that read a configuration.
type reader struct {
	tag      string // json or yaml
	comments comments
}

// object reads the keys of a struct; standard is a value with the defaults filled in.
func (r reader) object(t reflect.Type, standard reflect.Value) []setting {
	list := make([]setting, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get(r.tag), ",")
		if key == "" || key == "-" {
			continue
		}
		var value reflect.Value
		if standard.IsValid() {
			value = standard.Field(i)
		}
		s := r.value(f.Type, value)
		s.key, s.doc = key, r.explain(t, f, key)
		list = append(list, s)
	}
	return list
}

// explain gives the comment of a field, or of its type where it has none, with the key
// in place of the name in Go.
func (r reader) explain(t reflect.Type, f reflect.StructField, key string) string {
	if doc := r.comments[packageOf(t)+"."+t.Name()+"."+f.Name]; doc != "" {
		return renamed(doc, f.Name, key)
	}
	of := f.Type
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		if of.Kind() == reflect.Slice {
			key = "each"
		}
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return ""
	}
	return renamed(r.comments[packageOf(of)+"."+of.Name()], of.Name(), key)
}

// renamed has a comment that begins with a name begin with another one.
func renamed(doc, name, other string) string {
	rest, named := strings.CutPrefix(doc, name)
	if named && (strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, ":")) {
		return other + rest
	}
	return doc
}

func packageOf(t reflect.Type) string { return t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:] }

// value reads what may stand for a type.
func (r reader) value(t reflect.Type, standard reflect.Value) setting {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
		if standard.IsValid() {
			standard = standard.Elem() // invalid for nil
		}
	}
	s := setting{kind: kindOf(t)}
	switch t.Kind() {
	case reflect.Struct:
		s.below = r.object(t, standard)
		s.lax = len(s.below) == 0 || other(t)
	case reflect.Slice, reflect.Map:
		every := r.value(t.Elem(), reflect.Value{})
		s.every = &every
	}
	if standard.IsValid() && t.Kind() != reflect.Struct && !standard.IsZero() {
		s.standard = render(standard)
	}
	return s
}

// other reports whether a type has a reader of its own for further forms.
func other(t reflect.Type) bool {
	_, switchable := reflect.PointerTo(t).MethodByName("turnOff")
	return switchable || t.Name() == "Guard"
}

func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return truth
	case reflect.String:
		return "text"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	case reflect.Map:
		return "map"
	case reflect.Struct:
		return "object"
	default:
		return "whole number"
	}
}

func render(v reflect.Value) string {
	if v.Kind() == reflect.Int64 || v.Kind() == reflect.Int {
		return strconv.FormatInt(v.Int(), 10) // not a type's own text, which has units
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Sprint(v.Interface())
	}
	return string(text)
}
