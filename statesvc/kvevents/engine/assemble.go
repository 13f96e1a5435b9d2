package engine

import (
	"strconv"

	"github.com/pointsman/pointsman/statesvc/kvevents"
)

// The tags of events.
const (
	tagStored  = "BlockStored"
	tagRemoved = "BlockRemoved"
	tagCleared = "AllBlocksCleared"
)

// LoRAByNumber begins the LoRA of blocks whose adapter the engine only numbers. The
// number has meaning within one engine process.
const LoRAByNumber = "lora_id:"

// verdict is what becomes of an event.
type verdict uint8

const (
	verdictGood verdict = iota
	verdictMalformed
	verdictUnknownKind
	verdictTooLarge
)

// assemble makes an event of the gathered fields.
func (d *Decoder) assemble(e *kvevents.Event) verdict {
	f := &d.f
	switch string(f.tag) {
	case tagStored, tagRemoved, tagCleared:
	case "":
		return verdictMalformed
	default:
		return verdictUnknownKind
	}
	if f.tooLarge || len(f.salt) > maxNameBytes || len(f.loraName) > maxNameBytes {
		return verdictTooLarge
	}
	if string(f.tag) == tagCleared {
		e.Kind = kvevents.KindCleared
		return verdictGood
	}
	if f.malformed || !f.hashesSeen {
		return verdictMalformed
	}
	e.Tier, e.Hashes, e.Group, e.Remote = f.tier, f.hashes, f.group, f.remote
	if string(f.tag) == tagRemoved {
		e.Kind = kvevents.KindRemoved
		return verdictGood
	}
	return d.assembleStored(e)
}

func (d *Decoder) assembleStored(e *kvevents.Event) verdict {
	f := &d.f
	e.Kind = kvevents.KindStored
	e.Parent, e.HasParent = f.parent, f.hasParent
	e.Tokens, e.Bigram = f.tokens, f.bigram
	e.Scope, e.Window = f.groupScope()
	if !f.tokensSeen || !f.sizeBlocks(e) {
		return verdictMalformed
	}
	e.LoRA = d.lora()
	if len(f.salt) > 0 {
		e.Salt = d.names.get(f.salt)
	}
	return d.readExtraKeys(e)
}

// groupScope lets the kind decide: a full group may tell the window of its layers, and
// keeps every block all the same.
func (f *fields) groupScope() (kvevents.Scope, uint32) {
	switch {
	case f.scope == kvevents.ScopeUnsaid && f.window > 0:
		return kvevents.ScopeWindow, f.window
	case f.scope == kvevents.ScopeWindow:
		return f.scope, f.window
	default:
		return f.scope, 0
	}
}

// sizeBlocks sets the block size. One that is missing follows from the tokens when every
// block has a hash (field report C12). It is false when the hashes cannot be blocks of
// the tokens.
func (f *fields) sizeBlocks(e *kvevents.Event) bool {
	blocks, units := len(e.Hashes), e.Units()
	e.BlockSize = f.blockSize
	if blocks == 0 || units == 0 {
		return true
	}
	if !f.sizeKnown && units%blocks == 0 && (e.Scope == kvevents.ScopeFull || e.Scope == kvevents.ScopeUnsaid) {
		e.BlockSize = uint32(units / blocks)
	}
	return e.BlockSize > 0 && uint64(blocks)*uint64(e.BlockSize) <= uint64(units)
}

// lora names the adapter. vLLM numbers adapters from 1; anything below is none.
func (d *Decoder) lora() string {
	f := &d.f
	switch {
	case len(f.loraName) > 0:
		return d.names.get(f.loraName)
	case f.loraID > 0:
		var buf [len(LoRAByNumber) + 20]byte
		return d.names.get(strconv.AppendInt(append(buf[:0], LoRAByNumber...), f.loraID, 10))
	default:
		return ""
	}
}
