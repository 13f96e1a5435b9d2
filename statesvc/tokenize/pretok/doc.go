// Package pretok cuts text into the pieces that byte-pair merges never cross. A
// tokenizer.json names its cuts by regular expressions; this package knows those of
// four families by their text and cuts by hand-written scanners.
//
// Scanners take time linear in the text and no memory, whatever the text. They are
// held against a regular-expression engine by the tests. A Splitter is immutable and
// safe for concurrent use.
package pretok
