// Package abi is the filter's side of the proxy-wasm ABI 0.2 (envoy.md 1.1): the
// callbacks that the host calls, a table of the contexts it names, and the host
// calls that the filter makes.
//
// It exists for what a request costs. Nothing on a request's way allocates: what
// the host gives lands in memory that is kept, arguments are strings and bytes
// the caller has, and contexts are found without a map. Only what the filter uses
// is here; the host does not call what is not exported.
//
// A VM is single-threaded, so everything here is too, and the memory behind a
// host's answer is that of the callback at hand: it is good until the callback
// returns. Outside wasm every host call answers StatusUnimplemented.
package abi
