//nolint:unused // the host calls what is here
package abi

import "unsafe"

// What the host calls. Sizes and counts that the filter does not need are not
// passed on.

//go:wasmexport proxy_abi_version_0_2_0
func proxyABIVersion() {}

//go:wasmexport proxy_on_memory_allocate
func proxyOnMemoryAllocate(size uint32) unsafe.Pointer { return current.memory.take(int(size)) }

//go:wasmexport proxy_on_vm_start
func proxyOnVMStart(_, _ uint32) uint32 { return 1 }

//go:wasmexport proxy_on_configure
func proxyOnConfigure(plugin, _ uint32) uint32 {
	current.enter()
	var accepted uint32
	if current.configure(plugin) {
		accepted = 1
	}
	current.leave()
	return accepted
}

//go:wasmexport proxy_on_context_create
func proxyOnContextCreate(context, parent uint32) {
	current.enter()
	current.contextCreate(context, parent)
	current.leave()
}

//go:wasmexport proxy_on_tick
func proxyOnTick(plugin uint32) {
	current.enter()
	current.tick(plugin)
	current.leave()
}

//go:wasmexport proxy_on_http_call_response
func proxyOnHTTPCallResponse(plugin, call, headers, bodySize, _ uint32) {
	current.enter()
	current.callDone(plugin, call, int(headers), int(bodySize))
	current.leave()
}

//go:wasmexport proxy_on_grpc_receive
func proxyOnGRPCReceive(plugin, stream, size uint32) {
	current.enter()
	current.streamMessage(plugin, stream, int(size))
	current.leave()
}

//go:wasmexport proxy_on_grpc_close
func proxyOnGRPCClose(plugin, stream, status uint32) {
	current.enter()
	current.streamClosed(plugin, stream, status)
	current.leave()
}

//go:wasmexport proxy_on_request_headers
func proxyOnRequestHeaders(context, _, endOfStream uint32) Action {
	current.enter()
	action := ActionContinue
	if s := current.streams.get(context); s != nil {
		action = s.RequestHeaders(endOfStream != 0)
	}
	current.leave()
	return action
}

//go:wasmexport proxy_on_request_body
func proxyOnRequestBody(context, size, endOfStream uint32) Action {
	current.enter()
	action := ActionContinue
	if s := current.streams.get(context); s != nil {
		action = s.RequestBody(int(size), endOfStream != 0)
	}
	current.leave()
	return action
}

//go:wasmexport proxy_on_request_trailers
func proxyOnRequestTrailers(context, _ uint32) Action {
	current.enter()
	action := ActionContinue
	if s := current.streams.get(context); s != nil {
		action = s.RequestTrailers()
	}
	current.leave()
	return action
}

//go:wasmexport proxy_on_response_headers
func proxyOnResponseHeaders(context, _, _ uint32) Action {
	current.enter()
	action := ActionContinue
	if s := current.streams.get(context); s != nil {
		action = s.ResponseHeaders()
	}
	current.leave()
	return action
}

//go:wasmexport proxy_on_log
func proxyOnLog(context uint32) {
	current.enter()
	current.log(context)
	current.leave()
}

//go:wasmexport proxy_on_delete
func proxyOnDelete(context uint32) {
	current.enter()
	current.delete(context)
	current.leave()
}
