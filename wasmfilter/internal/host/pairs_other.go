//go:build !wasip1

package host

// requestHeaderPairs has no host to ask outside wasm.
func requestHeaderPairs() string { return "" }
