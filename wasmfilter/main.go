//go:build wasip1

// Command wasmfilter is filter.wasm: the routing core inside a proxy-wasm host.
// Build it with `make wasm`; the module is a reactor, so main never runs.
package main

import (
	"github.com/pointsman/pointsman/wasmfilter/internal/plugin"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
)

func init() { proxywasm.SetPluginContext(plugin.New) }

func main() {}
