// Package history remembers which engine was sent which prompt, so that the next
// request with the same beginning can go where that beginning is cached, without
// asking anybody (design section 5b).
//
// A Path is one prompt: its bytes as the client wrote them, cut at the ends of
// messages and every Chunk bytes inside, each boundary with a hash of all bytes up
// to it. A Table maps these hashes to the engines that were sent them. It models
// what each engine still has: entries go in the order in which the engine's own
// cache forgets them, within its capacity, and with the engine's generation.
//
// A boundary from which three or more prompts have gone on in different ways is
// shared: a system prompt, not a conversation. What lies beyond the last shared
// boundary of a prompt is its private part.
//
// A Pending is a Table for a short time: what engines were sent and have not told of
// yet, where their own events say what they hold (engine-selection.md 10.8).
//
// A Path, a Table and a Pending are single-threaded and allocate nothing once
// they have grown. Hash collisions misplace a request and do nothing else.
package history
