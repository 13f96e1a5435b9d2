// Package server is the HTTP face of the state service: routes, strict
// decoding, limits, and the mapping of errors to answers. It decides nothing
// about workers; the board and the fleet do. Every error is the envelope
// {"error":{"type","code","message"}} of engine-selection.md 3.2.
//
// A client can make the server hold one body per slot, one per look at a prompt (as many as
// there are slots), one message per stream of calls and for each of its calls a reply, the
// windows of its HTTP/2 connections, and what the board's limits allow, nothing else: no
// client-supplied string becomes a metric label or a key that outlives its request.
package server
