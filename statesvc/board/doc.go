// Package board is what the service shows to filter contexts: one row per
// worker with its descriptor, its load report and what the contexts have in
// flight, each with the version at which it last changed. A sync applies a
// context's gauges and answers with the rows that changed since the version the
// context knows, atomically.
//
// A Board is safe for concurrent use. One lock covers it: a sync costs the
// length of its report plus one comparison per worker, whatever the number of
// contexts. It holds no goroutine; its owner calls Sweep.
package board
