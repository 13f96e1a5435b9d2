// Package fleet watches the engines of the static list: it resolves their
// names, probes their health, asks them for models and role, reads their load,
// and tells one life of an engine from the next. What it finds goes to a Sink;
// nobody ever waits for an engine through it (field report E14).
//
// A Fleet runs three goroutines per engine from Start to Stop. Its methods are
// safe for concurrent use.
package fleet
