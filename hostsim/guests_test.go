//go:build guests

package hostsim_test

// The guests of testdata are built with the SDK, and go mod tidy does not look into
// testdata.
import _ "github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
