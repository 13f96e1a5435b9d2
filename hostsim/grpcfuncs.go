package hostsim

import "github.com/pointsman/pointsman/hostsim/internal/pairs"

// grpcFuncs are the calls of gRPC. The single call, proxy_grpc_call, answers "unimplemented".
func grpcFuncs() []hostFunc {
	return []hostFunc{
		{"proxy_grpc_call", "iiiiiiiiiiii", func(*hostCall) uint32 { return uint32(StatusUnimplemented) }},
		{"proxy_grpc_stream", "iiiiiiiii", hostGRPCStream},
		{"proxy_grpc_send", "iiii", status(hostGRPCSend)},
		{"proxy_grpc_cancel", "i", status(hostGRPCCancel)},
		{"proxy_grpc_close", "i", status(hostGRPCClose)},
	}
}

// hostGRPCStream opens a stream. Metadata that cannot be read counts as none, as in Envoy.
func hostGRPCStream(c *hostCall) uint32 {
	target, name, ok := c.in2(0, 2)
	method, metadata, ok2 := c.in2(4, 6)
	if !ok || !ok2 {
		return uint32(StatusInvalidMemoryAccess)
	}
	list, err := pairs.Decode(metadata)
	if err != nil {
		list = nil
	}
	service, ok := parseGRPCService(target)
	if !ok {
		if !c.vm.opts.GRPC.HasCluster(string(target)) {
			return uint32(StatusParseFailure)
		}
		service = grpcService{cluster: string(target)}
	}
	call := GRPCCall{Service: string(name), Method: string(method)}
	call.Metadata = service.requestHeaders(call, list)
	token, st := c.vm.startGRPC(service, call)
	if st != StatusOK {
		return uint32(st)
	}
	return c.out32(8, token)
}

// hostGRPCSend sends a message. What follows the end of either half is dropped without notice.
func hostGRPCSend(c *hostCall) Status {
	message, ok := c.in(1)
	if !ok {
		return StatusInvalidMemoryAccess
	}
	if c.u32(0)&tokenKindMask != tokenStream {
		return StatusBadArgument
	}
	open, st := c.vm.findGRPC(c.u32(0))
	if st != StatusOK {
		return st
	}
	if !open.localEnded && !open.remoteEnded {
		open.stream.Send(message, c.u32(3) != 0)
	}
	return StatusOK
}

// hostGRPCClose ends the guest's half. The token is gone once both halves have ended.
func hostGRPCClose(c *hostCall) Status {
	open, st := c.vm.findGRPC(c.u32(0))
	if st != StatusOK {
		return st
	}
	open.stream.CloseSend()
	open.localEnded = true
	if open.remoteEnded {
		delete(c.vm.grpc, c.u32(0))
	}
	return StatusOK
}

// hostGRPCCancel ends a stream at once; the guest hears nothing more of it.
func hostGRPCCancel(c *hostCall) Status {
	open, st := c.vm.findGRPC(c.u32(0))
	if st != StatusOK {
		return st
	}
	open.stream.Cancel()
	delete(c.vm.grpc, c.u32(0))
	return StatusOK
}
