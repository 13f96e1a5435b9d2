package abi

import "unsafe"

// The host calls as the ABI has them. A string is passed as its address and
// length.

//go:wasmimport env proxy_log
func proxyLog(level Level, message string) Status

//go:wasmimport env proxy_set_tick_period_milliseconds
func proxySetTickPeriod(milliseconds uint32) Status

//go:wasmimport env proxy_set_effective_context
func proxySetEffectiveContext(context uint32) Status

//go:wasmimport env proxy_continue_stream
func proxyContinueStream(direction uint32) Status

//go:wasmimport env proxy_send_local_response
func proxySendLocalResponse(status uint32, details, body, headers string, grpcStatus int32) Status

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(kind buffer, start, length uint32, data, size unsafe.Pointer) Status

//go:wasmimport env proxy_set_buffer_bytes
func proxySetBufferBytes(kind buffer, start, length uint32, data string) Status

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(kind headerMap, data, size unsafe.Pointer) Status

//go:wasmimport env proxy_get_header_map_value
func proxyGetHeaderMapValue(kind headerMap, name string, data, size unsafe.Pointer) Status

//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeaderMapValue(kind headerMap, name, value string) Status

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeaderMapValue(kind headerMap, name string) Status

//go:wasmimport env proxy_get_property
func proxyGetProperty(path string, data, size unsafe.Pointer) Status

//go:wasmimport env proxy_http_call
func proxyHTTPCall(cluster, headers, body, trailers string, timeout uint32, call unsafe.Pointer) Status

//go:wasmimport env proxy_grpc_stream
func proxyGRPCStream(service, name, method, metadata string, stream unsafe.Pointer) Status

//go:wasmimport env proxy_grpc_send
func proxyGRPCSend(stream uint32, message string, end uint32) Status

//go:wasmimport env proxy_grpc_cancel
func proxyGRPCCancel(stream uint32) Status

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind metricKind, name string, id unsafe.Pointer) Status

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, offset int64) Status

//go:wasmimport env proxy_get_shared_data
func proxyGetSharedData(key string, data, size, cas unsafe.Pointer) Status

//go:wasmimport env proxy_set_shared_data
func proxySetSharedData(key, value string, cas uint32) Status

//go:wasmimport wasi_snapshot_preview1 clock_time_get
func clockTimeGet(clock uint32, precision uint64, nanoseconds unsafe.Pointer) uint32
