// Package tree reads YAML and JSON into one plain tree in which every value
// knows its line, so that a finding can point at it.
//
// Input is hostile until it was read: its size, the number of values after
// aliases are replaced, and the depth are bounded, and nothing recurses deeper than
// that. A tree is not changed after Read returns it.
package tree
