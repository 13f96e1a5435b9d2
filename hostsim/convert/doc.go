// Package convert turns a command line of sgl-router into a configuration of the
// filter.
//
// Every flag that concerns routing (engine-selection.md 18, 9.1 and 2.7) stands
// in one table, Flags, with its fate: it is converted, refused with what to use
// instead, or outside routing and owned by someone else. Nothing is dropped in
// silence: a flag that would have no effect is refused, as upstream refuses it,
// and so is everything that spec.Decode refuses in the result.
//
// The package has no state and no I/O but Options.ReadFile.
package convert
