// Package kvindex knows which engine holds which prefix, as the engines' events say
// (design sections 5 and 5a; engine-selection.md 10.5-10.8). Prompts are cut into
// blocks and keyed by a chained hash of their tokens and namespace, so an engine's own
// hashes need not be computable; each owner's map from its hashes to nodes serves
// parents and removals only.
//
// An Index holds the engines of all models: blocks are keyed by content, and whoever asks
// knows which engines serve its model. It is safe for concurrent use: Apply and the other
// mutations take turns, Match runs beside them and waits for at most one chunk of
// blocks in one of 32 shards. It holds no goroutine.
package kvindex
