package fakes

import (
	"encoding/json"
	"strings"
)

// nameTable knows the served names of a process.
type nameTable struct {
	first  string
	quoted map[string]string // accepted name -> the name in replies, as JSON
	list   string            // accepted names for error texts
}

func newNameTable(c Config) *nameTable {
	t := &nameTable{first: c.Models[0], quoted: map[string]string{}}
	names := append([]string(nil), c.Models...)
	for _, a := range c.Adapters {
		names = append(names, a.Name)
		if c.Dialect == SGLang {
			t.quoted[a.Parent+":"+a.Name] = quote(a.Parent + ":" + a.Name) // SGLang's own spelling of base and adapter
		}
	}
	for _, n := range names {
		t.quoted[n] = quote(n)
	}
	t.list = strings.Join(names, ", ")
	return t
}

// lookup returns the JSON form of a requested name; no name means the first model, as in both engines.
func (t *nameTable) lookup(model string) (quoted string, ok bool) {
	if model == "" {
		model = t.first
	}
	quoted, ok = t.quoted[model]
	return quoted, ok
}

// quote returns s as a JSON string. Marshalling a string cannot fail.
func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
