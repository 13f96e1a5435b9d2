package engine

import (
	"github.com/cespare/xxhash/v2"
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/tinylib/msgp/msgp"
)

// readExtraKeys reads vLLM's extra_keys: for each hash nil or a list of what else is part
// of it. The package comment says how the elements are told apart.
func (d *Decoder) readExtraKeys(e *kvevents.Event) verdict {
	if len(d.f.extraKeys) == 0 {
		return verdictGood
	}
	n, rest, ok := arrayHeader(d.f.extraKeys)
	if !ok {
		return verdictMalformed
	}
	for i := range n {
		if after, null := isNil(rest); null {
			rest = after
			continue
		}
		var k blockKeys
		if rest, ok = k.read(rest, d.f.loraName, len(d.f.loraName) == 0 && d.f.loraID > 0); !ok {
			return verdictMalformed
		}
		if !k.any() {
			continue
		}
		if i >= len(e.Hashes) {
			return verdictMalformed
		}
		if v := d.applyKeys(e, i, &k); v != verdictGood {
			return v
		}
	}
	return verdictGood
}

// blockKeys is what the extra keys of one block came to.
type blockKeys struct {
	digest uint64 // of all content
	lora   []byte // the name of an adapter that the event only numbers
	text   []byte // the first string that is not the LoRA name
	texts  int    // how many such strings
	seen   bool
}

func (k *blockKeys) any() bool { return k.seen }

// read reads one block's list. named is the event's LoRA name; numbered says that the
// event has an adapter without a name.
func (k *blockKeys) read(b, named []byte, numbered bool) ([]byte, bool) {
	n, rest, ok := arrayHeader(b)
	if !ok {
		return rest, false
	}
	for j := range n {
		element := rest
		if rest, ok = skip(element); !ok {
			return rest, false
		}
		k.add(element[:len(element)-len(rest)], j == 0, named, numbered)
	}
	return rest, true
}

func (k *blockKeys) add(element []byte, first bool, named []byte, numbered bool) {
	if is(element, msgp.NilType) {
		return
	}
	k.seen = true
	s, _, isText := text(element)
	switch {
	case !isText:
		k.mix(element)
	case first && len(named) > 0 && string(s) == string(named):
	case first && numbered && len(s) > 0:
		k.lora = s
	default:
		if k.texts++; k.texts == 1 {
			k.text = s
			return
		}
		k.mix(s)
	}
}

// mix adds an element to the digest. The order of elements is part of it.
func (k *blockKeys) mix(element []byte) {
	k.digest = k.digest*0x9e3779b97f4a7c15 + xxhash.Sum64(element)
	if k.digest == 0 {
		k.digest = 1
	}
}

// applyKeys gives the event what block i's keys say.
func (d *Decoder) applyKeys(e *kvevents.Event, i int, k *blockKeys) verdict {
	if len(k.lora) > maxNameBytes {
		return verdictTooLarge
	}
	if len(k.lora) > 0 {
		e.LoRA = d.names.get(k.lora)
	}
	switch {
	case k.texts == 0:
	case k.texts == 1 && i == 0 && !e.HasParent && len(d.f.salt) == 0:
		if len(k.text) > maxNameBytes {
			return verdictTooLarge
		}
		e.Salt = d.names.get(k.text)
	case k.texts == 1 && string(k.text) == string(d.f.salt):
	default:
		k.mix(k.text)
	}
	if k.digest == 0 {
		return verdictGood
	}
	if e.Extra == nil {
		e.Extra = d.digests(len(e.Hashes))
	}
	e.Extra[i] = k.digest
	return verdictGood
}

// digests gives n zeros.
func (d *Decoder) digests(n int) []uint64 {
	start := len(d.extra)
	for range n {
		d.extra = append(d.extra, 0)
	}
	return d.extra[start:len(d.extra):len(d.extra)]
}
