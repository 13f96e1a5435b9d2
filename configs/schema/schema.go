package schema

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// JSON gives the format's schema. It knows keys, kinds and texts, so that an editor
// can complete and explain; what belongs together is checked by the readers alone.
func (f *Format) JSON() ([]byte, error) {
	s := object(f.settings)
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Pointsman: " + f.Title
	s.Required = []string{"version"}
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

func object(list []setting) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for i := range list {
		s.Properties[list[i].key] = list[i].schema()
		s.PropertyOrder = append(s.PropertyOrder, list[i].key)
	}
	return s
}

// schema describes one value.
func (s *setting) schema() *jsonschema.Schema {
	value := s.plain()
	if s.lax {
		value = &jsonschema.Schema{}
	}
	value.Description = s.doc
	if s.standard != "" {
		value.Default = json.RawMessage(s.standard)
	}
	return value
}

func (s *setting) plain() *jsonschema.Schema {
	switch s.kind {
	case truth:
		return &jsonschema.Schema{Type: "boolean"}
	case "text":
		return &jsonschema.Schema{Type: "string"}
	case "number":
		return &jsonschema.Schema{Type: "number"}
	case "list":
		return &jsonschema.Schema{Type: "array", Items: s.every.plain()}
	case "map":
		return &jsonschema.Schema{Type: "object", AdditionalProperties: s.every.plain()}
	case "object":
		return object(s.below)
	}
	return &jsonschema.Schema{Type: "integer"}
}
