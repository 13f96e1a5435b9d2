// Package indexer asks a KV indexer outside of this state service who holds how much of
// a prompt: the prefix source "remote" (engine-selection.md 11).
//
// A lookup ends within its time whatever the other side does, takes one of a bounded
// number of places, and reads a bounded answer. It is tried at another endpoint when one
// does not answer or has too much to do, never when one refuses it.
package indexer
