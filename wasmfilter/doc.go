//go:build !wasip1

// Package main is filter.wasm. It builds for GOOS=wasip1 GOARCH=wasm only.
package main

import "os"

func main() {
	os.Stderr.WriteString("wasmfilter builds for wasip1/wasm only; run make wasm\n")
	os.Exit(2)
}
