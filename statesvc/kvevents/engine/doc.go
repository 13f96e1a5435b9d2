// Package engine decodes what SGLang and vLLM publish: batches of KV events, the frames
// they come in, and SGLang's load reports. fixtures/README.md sections 2 and 5 and
// engine-selection.md 5.2, 10.2 and 10.3 describe the wire.
//
// # Dialects
//
// Nothing needs to be configured. An event is an array or a map, decided for each one.
// SGLang and vLLM agree on the fields they share; where an array has a metadata map in
// the place of vLLM's LoRA name (element 7), it is SGLang's. Fields nobody here knows are
// skipped, whatever they hold.
//
// # What is wrong where
//
// A batch that cannot be taken apart is an [Error] and yields no event. Everything else
// stays within one event: it is left out and counted in the batch's Drops, and its
// siblings are decoded. A rank of the wrong type is only unknown, since the socket's own
// rank is the authority.
//
// # Namespaces
//
// The salt is SGLang's field cache_salt, or is among vLLM's extra keys, which are not
// tagged. Per block they are, in this order: the LoRA name, [id, offset] of multimodal
// items, the salt, and digests of prompt embeddings. They are told apart so:
//
//   - the first element, if it is a string equal to the event's LoRA name, is the LoRA
//     name; it is one too when the event has an adapter's number but no name;
//   - else a string in the first block of a prompt is the salt, if it is the only such
//     string there. Two can be a salt and an item's bare id, which is what vLLM sent
//     before it added offsets, and nothing says which is which;
//   - everything else (lists, byte strings, strings elsewhere) is content: it goes into
//     the block's digest in Event.Extra.
//
// A wrong guess therefore only costs hits: the block lies in a namespace or under a
// digest that no other prompt has. Releases before 0.14.1 number their adapters and do
// not name them; such a block's LoRA is [LoRAByNumber] and the number. Releases before
// 0.18.1 do not tell the salt at all: their salted blocks look like plain ones.
//
// # Bounds
//
// Decoding holds at most about 200 MB whatever the payload says: [MaxBatchEvents] events,
// [MaxBatchHashes] hashes with a digest each and [MaxBatchTokens] tokens. Tokens beyond
// that, or beyond [MaxEventTokens] in one event, are read over, and the event stays with
// its hashes. Counts in the payload are believed only as far as there are bytes behind
// them. Nesting is walked without recursion, so its depth costs nothing. Buffers that a
// huge batch has grown are let go with the next one.
package engine
