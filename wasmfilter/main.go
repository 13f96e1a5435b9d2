//go:build wasip1

// Command wasmfilter is filter.wasm: the routing core inside a proxy-wasm host.
// Build it with `make wasm`; the module is a reactor, so main never runs.
package main

import (
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
	"github.com/pointsman/pointsman/wasmfilter/internal/plugin"
)

func init() { abi.Serve(plugin.New) }

func main() {}
