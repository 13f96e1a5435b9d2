package flow

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/receipt"
)

// A request that is used again has nothing of the former one but its memory.
func TestRequest_begins_empty(t *testing.T) {
	kept := map[string]bool{"ctx": true, "rand": true, "pcg": true, "effects": true, "memory": true, "steps": true, "receipt": true}
	m := newMachine(t, oneBucket, engines(1)...)
	var r Request
	fill(reflect.ValueOf(&r).Elem())
	r.begin(m.Context)
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; !kept[name] {
			assert.True(t, v.Field(i).IsZero(), name)
		}
	}
	lists := map[string]bool{"order": true, "tries": true, "candidates": true} // of which the lengths matter
	v = reflect.ValueOf(r.receipt)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; !lists[name] {
			assert.True(t, v.Field(i).IsZero(), name)
		}
	}
	require.Equal(t, string((&receipt.Summary{}).Append(nil)), string(r.receipt.Append(nil)))
}

// fill sets every number, text and switch of a value to something else than zero.
func fill(v reflect.Value) {
	switch v = reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem(); v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		switch {
		case v.CanUint():
			v.SetUint(1)
		case v.CanInt():
			v.SetInt(1)
		case v.CanFloat():
			v.SetFloat(1)
		}
	}
}
