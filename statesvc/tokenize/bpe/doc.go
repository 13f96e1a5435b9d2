// Package bpe encodes text as a Hugging Face tokenizer.json of the byte-level BPE kind
// does: added tokens are found in the text, what lies between them is normalised, cut
// into pieces (package pretok) and merged by rank.
//
// Load takes a file only if every part of it is one that this package does exactly,
// and else names everything that is not. A Tokenizer is immutable and safe for
// concurrent use. Encoding takes time of order n log n and bounded memory whatever the
// text; a single piece above MaxPiece is refused.
package bpe
