package hostsim

import (
	"slices"
	"strings"
)

// Headers is an ordered map of header or trailer fields. Names are lower case; several fields may share one.
// Pseudo headers such as ":path" are fields like any other. It is not safe for concurrent use.
type Headers struct {
	fields [][2]string
}

// NewHeaders makes a map from (name, value) pairs.
func NewHeaders(pairs ...[2]string) *Headers {
	h := &Headers{fields: make([][2]string, 0, len(pairs))}
	for _, p := range pairs {
		h.Add(p[0], p[1])
	}
	return h
}

// Len returns the number of fields.
func (h *Headers) Len() int { return len(h.fields) }

// length is Len of a map that may be absent.
func (h *Headers) length() int {
	if h == nil {
		return 0
	}
	return h.Len()
}

// Bytes returns the size of all names and values.
func (h *Headers) Bytes() int {
	n := 0
	for _, f := range h.fields {
		n += len(f[0]) + len(f[1])
	}
	return n
}

// Add appends a field.
func (h *Headers) Add(name, value string) {
	h.fields = append(h.fields, [2]string{strings.ToLower(name), value})
}

// Set replaces all fields of that name by one, at the place of the first.
func (h *Headers) Set(name, value string) {
	name = strings.ToLower(name)
	i := slices.IndexFunc(h.fields, func(f [2]string) bool { return f[0] == name })
	if i < 0 {
		h.fields = append(h.fields, [2]string{name, value})
		return
	}
	h.fields[i][1] = value
	tail := slices.DeleteFunc(h.fields[i+1:], func(f [2]string) bool { return f[0] == name })
	h.fields = h.fields[:i+1+len(tail)]
}

// Del removes all fields of that name.
func (h *Headers) Del(name string) {
	name = strings.ToLower(name)
	h.fields = slices.DeleteFunc(h.fields, func(f [2]string) bool { return f[0] == name })
}

// Get returns the value of that name, several joined by a comma. ok is false when there is none.
func (h *Headers) Get(name string) (value string, ok bool) {
	name = strings.ToLower(name)
	for _, f := range h.fields {
		switch {
		case f[0] != name:
		case !ok:
			value, ok = f[1], true
		default:
			value += "," + f[1]
		}
	}
	return value, ok
}

// First returns the first value of that name, as a load balancer's header source reads it (envoy.md 2.3).
func (h *Headers) First(name string) (value string, ok bool) {
	name = strings.ToLower(name)
	for _, f := range h.fields {
		if f[0] == name {
			return f[1], true
		}
	}
	return "", false
}

// Pairs returns the fields in order. The caller must not change them.
func (h *Headers) Pairs() [][2]string { return h.fields }

// Clone returns an independent copy.
func (h *Headers) Clone() *Headers { return &Headers{fields: slices.Clone(h.fields)} }
