package chat

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Field is a member of a body that can name a session or a tenant, in any dialect.
type Field uint8

// The fields: those that clients of the usual APIs send.
const (
	FieldUser           Field = iota // user (OpenAI)
	FieldSessionID                   // session_id (SGLang)
	FieldPromptCacheKey              // prompt_cache_key (OpenAI)
	FieldMetadataUserID              // metadata.user_id (Anthropic)
	FieldCount
)

// FieldNames lists the fields as configuration spells them, in their order.
func FieldNames() []string {
	return []string{"user", "session_id", "prompt_cache_key", "metadata.user_id"}
}

// ParseField reads a field's name in configuration.
func ParseField(name string) (Field, bool) {
	i := slices.Index(FieldNames(), name)
	return Field(max(i, 0)), i >= 0
}

// maxMetadata is the longest metadata object that is looked into, in bytes: it is
// read a second time, which a client could otherwise make cost as much as the
// body.
const maxMetadata = 64 << 10

// Fields are the values of a body's fields. They are parts of the body and valid
// as long as it is.
type Fields struct{ raw [FieldCount]string }

// note keeps a top-level member if it is, or holds, a field. Of one that stands
// twice the last counts, as with parsers.
func (f *Fields) note(key, raw string) {
	switch key {
	case "user":
		f.raw[FieldUser] = raw
	case "session_id":
		f.raw[FieldSessionID] = raw
	case "prompt_cache_key":
		f.raw[FieldPromptCacheKey] = raw
	case "metadata":
		f.raw[FieldMetadataUserID] = userOf(raw)
	}
}

// userOf finds user_id in a metadata object.
func userOf(metadata string) (user string) {
	if metadata[0] != '{' || len(metadata) > maxMetadata {
		return ""
	}
	s := scanner{text: metadata}
	s.object(func(key, raw string) bool {
		if key == "user_id" {
			user = raw
		}
		return true
	})
	return user
}

// Value gives the text of a field, empty when the body has none or another value
// than a string.
func (f *Fields) Value(field Field) string {
	raw := f.raw[field]
	switch {
	case raw == "" || raw[0] != '"':
		return ""
	case strings.IndexByte(raw, '\\') >= 0:
		return gjson.Parse(raw).Str
	}
	return raw[1 : len(raw)-1]
}
