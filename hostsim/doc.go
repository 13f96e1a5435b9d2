// Package hostsim is a proxy-wasm host on wazero that behaves like Envoy, and a streaming reverse proxy over it.
//
// The library has three layers, each usable alone:
//
//   - A [Module] is a compiled filter. It makes [VM]s: instances that an embedder drives by hand, on one goroutine, with
//     every clock, callout and random number under its control.
//   - A [Stream] carries one HTTP exchange through a VM. It reproduces Envoy's filter manager and wasm context: status
//     conversion with the header-pause flag on and off, life time of header maps, body buffering and its limit, local
//     replies through the filter's own response callbacks, resets, and the order log, done, delete.
//   - A [Worker] is a VM with an event loop; a [Proxy] has several of them behind an HTTP/1.1 listener.
//
// Facts about Envoy come from the reference file envoy.md; comments name its sections.
//
// # Errors and panics
//
// A guest that traps fails its VM, never the process: see [FailurePolicy]. Inside host functions a panic is the way to
// make wazero unwind the guest; it never leaves the package. [Proxy.ServeHTTP] panics with http.ErrAbortHandler, as
// net/http asks a handler to do when a response breaks off.
package hostsim
