package host

import "unsafe"

// mapRequestHeaders is the ABI's number of the request header map.
const mapRequestHeaders = 0

//go:wasmimport env proxy_get_header_map_pairs
func getHeaderMapPairs(mapType uint32, data unsafe.Pointer, size unsafe.Pointer) uint32

// requestHeaderPairs reads the request headers in the host's own form, empty when
// the host refuses. The host allocates the memory through the SDK's allocator, so
// it is the guest's, and collected like any other.
func requestHeaderPairs() string {
	var (
		data *byte
		size int32
	)
	if status := getHeaderMapPairs(mapRequestHeaders, unsafe.Pointer(&data), unsafe.Pointer(&size)); status != 0 || data == nil || size <= 0 {
		return ""
	}
	return unsafe.String(data, int(size))
}
