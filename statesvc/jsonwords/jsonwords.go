// Package jsonwords says what is wrong with a JSON text without the names of Go's types.
package jsonwords

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Of words an error of encoding/json for the person who wrote the text: the key, what
// stands there and what belongs there. Other errors are returned as they are.
func Of(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return unknownKey(err)
	}
	at := "the value"
	if wrong.Field != "" {
		at = wrong.Field
	}
	return fmt.Errorf("%s: there is %s, and %s is wanted", at, found(wrong.Value), wanted(wrong.Type))
}

// unknownKey words the refusal of Decoder.DisallowUnknownFields, which has no type.
func unknownKey(err error) error {
	if err == nil {
		return nil
	}
	if key, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown key %s", key)
	}
	return err
}

// found puts an article before encoding/json's word for a value, such as "number -1".
func found(value string) string {
	kind, literal, _ := strings.Cut(value, " ")
	switch {
	case literal != "":
		return "the " + value
	case kind == "bool":
		return "true or false"
	case kind == "array":
		return "a list"
	case kind == "object":
		return "an object"
	}
	return "a " + kind
}

// wanted names the JSON that a type is read from.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		return fmt.Sprintf("a whole number from 0 to %d", uint64(1)<<t.Bits()-1)
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Pointer:
		return wanted(t.Elem())
	default:
		return "an object"
	}
}
