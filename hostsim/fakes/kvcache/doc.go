// Package kvcache is the prefix cache of one rank of an engine: which blocks it finds
// for a prompt, which it stores, which it gives up, and what it says of that. There are
// two, which do as their engines were recorded to do (fixtures/README.md sections 3 to
// 5): [Pool] is vLLM's pool of physical blocks, [Radix] is SGLang's tree of pages.
//
// A cache is pure and deterministic: it has no clock, no goroutine and no lock, so it
// works on a virtual clock too, and a caller with several goroutines locks around it.
// Nothing is computed or stored, only accounted for.
//
// Both keep to the last-token rule: a hit is at most floor((n-1)/block size) blocks.
package kvcache
