// Package pump follows what the fleet's engines publish: KV events into the index, load
// reports onto the board (engine-selection.md 5 and 10.5). For each engine it finds the
// sockets, by configuration or by asking, keeps one stream per data-parallel rank, and
// tells the index of restarts and removals. It answers what each rank holds of a prompt,
// with how far that can be trusted.
//
// A Pump has a goroutine that watches the fleet, two per engine, and those of the streams,
// from Start to Stop. Its methods are safe for concurrent use. No event of an engine that
// left the fleet reaches the index after its entries were removed.
package pump
