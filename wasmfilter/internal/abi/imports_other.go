//go:build !wasip1

package abi

import "unsafe"

// Outside wasm there is no host.

func proxyLog(Level, string) Status                      { return StatusUnimplemented }
func proxySetTickPeriod(uint32) Status                   { return StatusUnimplemented }
func proxySetEffectiveContext(uint32) Status             { return StatusUnimplemented }
func proxyContinueStream(uint32) Status                  { return StatusUnimplemented }
func proxyIncrementMetric(uint32, int64) Status          { return StatusUnimplemented }
func proxyRemoveHeaderMapValue(headerMap, string) Status { return StatusUnimplemented }

func proxySendLocalResponse(uint32, string, string, string, int32) Status {
	return StatusUnimplemented
}

func proxyGetBufferBytes(buffer, uint32, uint32, unsafe.Pointer, unsafe.Pointer) Status {
	return StatusUnimplemented
}

func proxyGetSharedData(string, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer) Status {
	return StatusUnimplemented
}

func proxySetSharedData(string, string, uint32) Status { return StatusUnimplemented }

func proxySetBufferBytes(buffer, uint32, uint32, string) Status { return StatusUnimplemented }

func proxyGetHeaderMapPairs(headerMap, unsafe.Pointer, unsafe.Pointer) Status {
	return StatusUnimplemented
}

func proxyGetHeaderMapValue(headerMap, string, unsafe.Pointer, unsafe.Pointer) Status {
	return StatusUnimplemented
}

func proxyReplaceHeaderMapValue(headerMap, string, string) Status { return StatusUnimplemented }

func proxyGetProperty(string, unsafe.Pointer, unsafe.Pointer) Status { return StatusUnimplemented }

func proxyHTTPCall(string, string, string, string, uint32, unsafe.Pointer) Status {
	return StatusUnimplemented
}

func proxyGRPCStream(string, string, string, string, unsafe.Pointer) Status {
	return StatusUnimplemented
}

func proxyGRPCSend(uint32, string, uint32) Status { return StatusUnimplemented }
func proxyGRPCCancel(uint32) Status               { return StatusUnimplemented }

func proxyDefineMetric(metricKind, string, unsafe.Pointer) Status { return StatusUnimplemented }

func clockTimeGet(uint32, uint64, unsafe.Pointer) uint32 { return uint32(StatusUnimplemented) }
