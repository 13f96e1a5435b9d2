package policy

import (
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// MaxKey is the longest session or routing key that is kept as it is, in bytes.
const MaxKey = 256

// BoundKey makes a session or routing key of a header's value: empty, which is
// no key, for a value with bytes outside visible ASCII (engine-selection.md 17),
// and 128 bits of hash for one longer than MaxKey, so that no key is kept that a
// client made long (field report H12).
func BoundKey(value string) string {
	switch {
	case !visible(value):
		return ""
	case len(value) <= MaxKey:
		return value
	}
	return hashedKey(value)
}

// BodyKey makes a key of a text in a request's body, as BoundKey does of a
// header's value; the same text gives the same key. JSON has more characters than
// headers: a text with others is hashed. The key shares no memory with the body.
func BodyKey(value string) string {
	if visible(value) && len(value) <= MaxKey {
		return strings.Clone(value)
	}
	return hashedKey(value)
}

// visible reports whether a text has visible ASCII characters, spaces and tabs
// only.
func visible(value string) bool {
	for i := range len(value) {
		if c := value[i]; (c < ' ' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

func hashedKey(value string) string {
	second := xxhash.NewWithSeed(1)
	_, _ = second.WriteString(value) // never fails
	key := strconv.AppendUint([]byte("hashed:"), xxhash.Sum64String(value), 16)
	key = strconv.AppendUint(append(key, ':'), second.Sum64(), 16)
	return string(key)
}

// KeySource says which fact of a request is its key.
type KeySource uint8

// The sources of keys.
const (
	KeySession KeySource = iota // BucketRequest.SessionKey
	KeyRouting                  // BucketRequest.RoutingKey
	KeyPrefix                   // the start of BucketRequest.Prompt
)

// ParseKeySource reads a source's name in configuration.
func ParseKeySource(name string) (KeySource, bool) {
	switch name {
	case "session":
		return KeySession, true
	case "routing":
		return KeyRouting, true
	case "prefix":
		return KeyPrefix, true
	}
	return KeySession, false
}
