// Package kvevents is what engines say of their KV caches, whatever engine and
// release said it: the vocabulary between the decoders of the dialects and the
// index. fixtures/README.md sections 2 and 5 and engine-selection.md 10.3 describe
// the wire.
package kvevents

// Hash is an engine's own name of a block: the 64 bits of an integer hash, signed or
// not, or the last 8 bytes of a longer digest, which is what an engine that sends
// integers would send for it. It has meaning within one engine, rank and cache group
// only.
type Hash uint64

// Kind says what happened to blocks.
type Kind uint8

// The kinds of events.
const (
	KindNone    Kind = iota
	KindStored       // blocks are in the cache
	KindRemoved      // blocks left it
	KindCleared      // nothing is left of the rank's cache, on any tier
)

// Tier is where a block is held, nearest first.
type Tier uint8

// The tiers. Both vocabularies of the wire map to these; TierNone is an absent
// medium: a store then is on the device, and a removal from every tier. TierUnknown
// is a medium nobody knows: a store is of no use then, a removal is from every tier.
const (
	TierNone Tier = iota
	TierDevice
	TierHost
	TierDisk
	TierExternal
	TierUnknown
)

// Scope says which blocks of a prompt a cache group keeps. It decides whether an event's
// hashes can be laid beside its tokens.
type Scope uint8

// The scopes. Releases before vLLM 0.22.1 and SGLang leave it unsaid. ScopeOther is a
// group that keeps something else than every block or a window of them, such as the
// state of a recurrent layer.
const (
	ScopeUnsaid Scope = iota
	ScopeFull
	ScopeWindow
	ScopeOther
)

// Event is one event of one rank, applied in the order of its batch. Slices are valid
// until the decoder's next batch.
type Event struct {
	Kind   Kind
	Tier   Tier
	Hashes []Hash

	// KindStored from here to Extra. Without a parent the first block is the first of a
	// prompt, except in a placeholder of an offload tier, which has no tokens either:
	// Tokens is empty and the blocks are known by their hashes only. An event with more
	// tokens than a decoder holds comes in that form too (Drops.Tokens); it may have a
	// parent and a block size.
	Parent    Hash
	HasParent bool
	// Tokens of the whole range. In bigram mode each unit is a pair, so there are two
	// numbers for each; Units counts units.
	Tokens    []uint32
	Bigram    bool
	BlockSize uint32 // units per block, 0 in placeholders
	// Salt and LoRA are the namespace of the prompt. vLLM sends the salt with the first
	// block of a prompt only, and it changes what follows; SGLang may repeat it.
	Salt string
	LoRA string
	// Extra digests, per block, what else is part of its hash: multimodal items and
	// prompt embeddings. 0 for nothing; nil when no block has any.
	Extra []uint64

	// Group is the KV cache group, 0 when the engine does not say. The numbers carry
	// no meaning across engines.
	Group uint32
	// Scope is what the group keeps; in a removal it is always unsaid. Which blocks of
	// the range a group holds is not on the wire: there may be fewer hashes than
	// blocks, also where the scope is unsaid.
	Scope Scope
	// Window is a sliding window's tokens, 0 for other scopes and when not told.
	Window uint32
	// Remote says that the tier is shared and not the engine's own.
	Remote bool
}

// Units counts the tokens, or pairs of tokens, of the range.
func (e *Event) Units() int {
	if e.Bigram {
		return len(e.Tokens) / 2
	}
	return len(e.Tokens)
}

// Batch is one message of one rank's stream.
type Batch struct {
	// Time is the engine's clock in seconds since 1970, for people only.
	Time float64
	// Rank is the data-parallel rank the engine names, known or not. The socket's
	// own rank is the authority.
	Rank      uint32
	RankKnown bool
	Events    []Event
	// Dropped counts events of the batch that made no sense, by why. Their siblings
	// are in Events.
	Dropped Drops
}

// Drops counts events that were left out of a batch, in whole or in part.
type Drops struct {
	Malformed   uint32 // not an event, a missing or mistyped field
	UnknownKind uint32 // a tag nobody knows
	// TooLarge: more hashes or a longer name than an event may have, or one event or
	// hash too many for a batch.
	TooLarge uint32
	// Tokens counts stores that are in Events, but without their tokens, which were
	// too many.
	Tokens uint32
}

// Any reports whether anything was dropped.
func (d Drops) Any() bool { return d != Drops{} }
