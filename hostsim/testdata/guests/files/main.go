//go:build wasip1

// Command files is a test filter that looks at the file system, which pulls in WASI functions that Envoy up to 1.38
// does not have.
package main

import (
	"os"

	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm/types"
)

func main() {}

func init() {
	proxywasm.SetPluginContext(func(uint32) types.PluginContext { return &plugin{} })
}

type plugin struct{ types.DefaultPluginContext }

func (*plugin) OnPluginStart(int) types.OnPluginStartStatus {
	if _, err := os.Stat("/"); err == nil {
		return types.OnPluginStartStatusFailed
	}
	return types.OnPluginStartStatusOK
}
