package story

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
)

// settings is what a story remembers of its configuration.
type settings struct {
	state bool // a state service is named
	spec  *spec.Config
}

// complete adds what nearly every story would write alike to a configuration: the
// version, a seed, a state service unless there are static workers, and receipts
// in the log, which the story reads. A document that is no object stays as it is.
func complete(document []byte) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(document, &members) != nil {
		return document
	}
	var added []string
	add := func(name, value string) {
		if _, ok := members[name]; !ok {
			added = append(added, quoted(name)+":"+value)
		}
	}
	add("version", "1")
	add("seed", "1")
	add("receipts", `"log"`)
	if _, static := members["workers"]; !static {
		add("state", `{"cluster":"state"}`)
	}
	open := bytes.IndexByte(document, '{') + 1
	insert := strings.Join(added, ",")
	if len(members) > 0 && insert != "" {
		insert += ","
	}
	return slices.Concat(document[:open], []byte(insert), document[open:])
}

// capacity gives the capacity of a model's bucket, false for one without a bound.
func (s *settings) capacity(model, id string) (uint64, bool) {
	for name, m := range s.spec.Models {
		if name != model && !slices.Contains(m.Aliases, model) {
			continue
		}
		for _, b := range m.Buckets {
			switch {
			case b.ID != id:
			case b.MaxContextTokens != nil:
				return *b.MaxContextTokens, true
			case b.Limits != nil && b.Limits.Max != nil:
				return *b.Limits.Max, true
			}
		}
	}
	return 0, false
}
