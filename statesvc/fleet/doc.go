// Package fleet watches the engines that its sources name: it resolves their names,
// probes their health, asks them for models and role, reads their load, and tells one
// life of an engine from the next. What it finds goes to a Sink; nobody ever waits for an
// engine through it (field report E14).
//
// Sources say which engines there are by Say, each for itself; package claims has the
// rules by which that becomes one list. What changes of a worker without its address,
// probe or metrics page changes in place: models, role, labels, draining. A worker that
// leaves is told to the sink before Say returns, and goes on with its generation when it
// comes back.
//
// A Fleet runs three goroutines per engine from Start, or its joining, to Stop, or its
// leaving. Its methods are safe for concurrent use.
package fleet
