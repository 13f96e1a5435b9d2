package engine

import (
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/tinylib/msgp/msgp"
)

// field is a field that both encodings know.
type field uint8

const (
	fieldUnknown field = iota
	fieldTag
	fieldHashes
	fieldParent
	fieldTokens
	fieldBlockSize
	fieldLoRAID
	fieldMedium
	fieldLoRAName
	fieldLoRANameOrMetadata
	fieldSalt
	fieldExtraKeys
	fieldGroup
	fieldKind
	fieldWindow
	fieldLocality
)

// The fields of an event that is an array, in their order (engine-selection.md 10.3,
// fixtures/README.md 2 "Releases").
var (
	storedOrder = [...]field{
		fieldTag, fieldHashes, fieldParent, fieldTokens, fieldBlockSize, fieldLoRAID, fieldMedium,
		fieldLoRANameOrMetadata, fieldExtraKeys, fieldGroup, fieldKind, fieldWindow,
	}
	removedOrder = [...]field{fieldTag, fieldHashes, fieldMedium, fieldGroup}
)

func fieldNamed(key []byte) field {
	switch string(key) {
	case "type":
		return fieldTag
	case "block_hashes":
		return fieldHashes
	case "parent_block_hash":
		return fieldParent
	case "token_ids":
		return fieldTokens
	case "block_size":
		return fieldBlockSize
	case "lora_id":
		return fieldLoRAID
	case "medium":
		return fieldMedium
	case "lora_name":
		return fieldLoRAName
	case "cache_salt":
		return fieldSalt
	case "extra_keys":
		return fieldExtraKeys
	case "group_idx":
		return fieldGroup
	case "kv_cache_spec_kind":
		return fieldKind
	case "kv_cache_spec_sliding_window":
		return fieldWindow
	case "locality":
		return fieldLocality
	}
	return fieldUnknown
}

// fields is what an event said, before it is known which event it is. Byte slices alias
// the payload.
type fields struct {
	tag []byte

	hashes     []kvevents.Hash
	hashesSeen bool
	parent     kvevents.Hash
	hasParent  bool

	tokens        []uint32
	tokensSeen    bool
	tokensDropped bool
	bigram        bool

	blockSize uint32
	sizeKnown bool
	loraID    int64
	loraName  []byte
	salt      []byte
	extraKeys []byte // undecoded
	tier      kvevents.Tier
	group     uint32
	scope     kvevents.Scope
	window    uint32
	remote    bool

	malformed bool
	tooLarge  bool
}

// gather reads all fields of the next event. It fails on bytes that are no msgpack.
func (d *Decoder) gather(b []byte) ([]byte, bool) {
	d.f = fields{}
	switch {
	case is(b, msgp.MapType):
		return d.gatherMap(b)
	case is(b, msgp.ArrayType):
		return d.gatherArray(b)
	default:
		return skip(b)
	}
}

func (d *Decoder) gatherMap(b []byte) ([]byte, bool) {
	n, rest, ok := mapHeader(b)
	for i := 0; ok && i < n; i++ {
		key, after, named := text(rest)
		if !named {
			if rest, ok = skip(rest); ok {
				rest, ok = skip(rest)
			}
			continue
		}
		rest, ok = d.field(fieldNamed(key), after)
	}
	return rest, ok
}

func (d *Decoder) gatherArray(b []byte) ([]byte, bool) {
	n, rest, ok := arrayHeader(b)
	if !ok || n == 0 {
		return rest, ok
	}
	if rest, ok = d.field(fieldTag, rest); !ok {
		return rest, false
	}
	var order []field
	switch string(d.f.tag) {
	case tagStored:
		order = storedOrder[:]
	case tagRemoved:
		order = removedOrder[:]
	}
	for i := 1; ok && i < n; i++ {
		id := fieldUnknown
		if i < len(order) {
			id = order[i]
		}
		rest, ok = d.field(id, rest)
	}
	return rest, ok
}

// field reads one field's value. Nil is as good as absent. A value of the wrong type
// makes the event malformed and is passed over.
func (d *Decoder) field(id field, b []byte) ([]byte, bool) {
	if rest, null := isNil(b); null {
		return rest, true
	}
	if rest, ok := d.value(id, b); ok {
		return rest, true
	}
	d.f.malformed = true
	return skip(b)
}

func (d *Decoder) value(id field, b []byte) ([]byte, bool) {
	f := &d.f
	var rest []byte
	var ok bool
	switch id {
	case fieldHashes:
		return d.readHashes(b)
	case fieldTokens:
		return d.readTokens(b)
	case fieldParent:
		f.parent, rest, ok = hash(b)
		f.hasParent = ok
	case fieldBlockSize:
		f.blockSize, rest, ok = small(b)
		f.sizeKnown = ok
	case fieldGroup:
		f.group, rest, ok = small(b)
	case fieldWindow:
		f.window, rest, ok = small(b)
	case fieldLoRAID:
		f.loraID, rest, ok = signed(b)
	case fieldExtraKeys:
		rest, ok = skip(b)
		f.extraKeys = b[:len(b)-len(rest)]
	case fieldLoRANameOrMetadata:
		if is(b, msgp.MapType) {
			return d.gatherMetadata(b)
		}
		return d.textValue(fieldLoRAName, b)
	case fieldTag, fieldMedium, fieldLoRAName, fieldSalt, fieldKind, fieldLocality:
		return d.textValue(id, b)
	case fieldUnknown:
		return skip(b)
	}
	return rest, ok
}

// textValue reads a field that is a string.
func (d *Decoder) textValue(id field, b []byte) ([]byte, bool) {
	f := &d.f
	s, rest, ok := text(b)
	if !ok {
		return rest, false
	}
	switch id {
	case fieldTag:
		f.tag = s
	case fieldMedium:
		f.tier = tier(s)
	case fieldLoRAName:
		f.loraName = s
	case fieldSalt:
		f.salt = s
	case fieldKind:
		f.scope = scope(s)
	case fieldLocality:
		f.remote = remote(s)
	case fieldUnknown, fieldHashes, fieldParent, fieldTokens, fieldBlockSize, fieldLoRAID,
		fieldLoRANameOrMetadata, fieldExtraKeys, fieldGroup, fieldWindow:
		return rest, false
	}
	return rest, true
}

// gatherMetadata reads the map that follows the medium in SGLang's arrays. Only the
// namespace is taken from it.
func (d *Decoder) gatherMetadata(b []byte) ([]byte, bool) {
	n, rest, ok := mapHeader(b)
	for i := 0; ok && i < n; i++ {
		key, after, named := text(rest)
		if !named {
			return rest, false
		}
		id := fieldNamed(key)
		if id != fieldSalt && id != fieldLoRAName {
			id = fieldUnknown
		}
		rest, ok = d.field(id, after)
	}
	return rest, ok
}
