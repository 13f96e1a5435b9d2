// Package chattemplate renders the chat templates of models: the part of Jinja that
// they use, as Hugging Face's libraries set it up (trim_blocks, lstrip_blocks, tojson
// without escapes), and nothing else.
//
// It is exact or it says no. Compile refuses constructs, filters, tests and methods
// that it does not do as Jinja does, all of them at once; Render refuses values that
// would be printed as only Python prints them, and calls that depend on a clock.
// Rendering is bounded by its context, by steps of work, by bytes made and by the depth
// of calls, so that a hostile template costs what an honest one may cost. A Template is
// immutable and safe for concurrent use.
package chattemplate
