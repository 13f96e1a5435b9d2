package hostsim

// Status codes of gRPC that the host gives itself (Envoy's translation of what happened to a stream).
const (
	grpcOK                = 0
	grpcUnknown           = 2
	grpcPermissionDenied  = 7
	grpcResourceExhausted = 8
	grpcUnimplemented     = 12
	grpcInternal          = 13
	grpcUnavailable       = 14
	grpcUnauthenticated   = 16
)

// GRPCCall is a gRPC stream that a guest opens (proxy_grpc_stream).
type GRPCCall struct {
	// Cluster is the name of the upstream cluster.
	Cluster string
	// Service and Method make the path, /Service/Method.
	Service, Method string
	// Metadata are the request's headers, with :method, :path and :authority.
	Metadata *Headers
}

// GRPCEventKind says what came from the other end of a gRPC stream.
type GRPCEventKind uint8

const (
	// GRPCInitialMetadata is the beginning of the answer.
	GRPCInitialMetadata GRPCEventKind = iota
	// GRPCMessage is a message.
	GRPCMessage
	// GRPCTrailingMetadata comes before GRPCClosed.
	GRPCTrailingMetadata
	// GRPCClosed is the end. Nothing follows.
	GRPCClosed
)

// GRPCEvent is something that came from the other end of a gRPC stream.
type GRPCEvent struct {
	Kind GRPCEventKind
	// Metadata of GRPCInitialMetadata and GRPCTrailingMetadata; nil is empty.
	Metadata *Headers
	// Message of GRPCMessage, without its frame. It belongs to the receiver.
	Message []byte
	// Status and Reason of GRPCClosed.
	Status uint32
	Reason string
	// Taken is called when the event was given to the guest, on the VM's goroutine; nil when nobody asks. It is not
	// called for a stream that is cancelled meanwhile.
	Taken func()
}

// GRPCStream is the sending end of a gRPC stream. It is used from the goroutine of one VM; no method waits.
type GRPCStream interface {
	// Send sends a message, which it does not keep. last ends the guest's half. After that it does nothing.
	Send(message []byte, last bool)
	// CloseSend ends the guest's half.
	CloseSend()
	// Cancel gives up the stream: nothing is sent or received any more. It may be called again, and after the end.
	Cancel()
}

// GRPCTransport carries gRPC streams. It is used from the goroutine of each VM that it was given to.
type GRPCTransport interface {
	// HasCluster reports whether the cluster exists; a stream to another one is refused.
	HasCluster(name string) bool
	// Open begins a stream. deliver takes what comes from the other end, in order, from one goroutine at a time, also
	// before Open returns.
	Open(call GRPCCall, deliver func(GRPCEvent)) GRPCStream
}

// openGRPC is a stream that the guest has the token of. As in Envoy the token lives until the guest has closed or
// cancelled the stream, whatever the other end did.
type openGRPC struct {
	stream      GRPCStream
	localEnded  bool // by proxy_grpc_close
	remoteEnded bool
}

// grpcView is what the guest can see of the event that it is told of.
type grpcView struct {
	initial, trailing *Headers
	message           []byte
	status            uint32
	reason            string
}

// Tokens of callouts say in their lowest two bits what they are of (proxy-wasm's C++ host).
const (
	tokenStep     = 4
	tokenKindMask = 3
	tokenCallout  = 0
	tokenCall     = 1 // proxy_grpc_call
	tokenStream   = 2
)

// startGRPC opens a stream for the plugin context, which owns it whatever context asked. When the host refuses it, the
// guest hears of its end all the same, under a token that it was not given.
func (vm *VM) startGRPC(service grpcService, call GRPCCall) (token uint32, st Status) {
	token = vm.newGRPCToken()
	if !vm.opts.GRPC.HasCluster(service.cluster) {
		vm.actions = append(vm.actions, func() {
			vm.tellGRPC(token, GRPCEvent{Kind: GRPCClosed, Status: grpcUnavailable, Reason: "Cluster not available"})
		})
		return 0, StatusInternalFailure
	}
	call.Cluster = service.cluster
	open := &openGRPC{}
	vm.grpc[token] = open
	open.stream = vm.opts.GRPC.Open(call, func(e GRPCEvent) {
		vm.post(func() { vm.deliverGRPC(token, e) })
	})
	return token, StatusOK
}

func (vm *VM) newGRPCToken() uint32 {
	for {
		vm.nextGRPCToken += tokenStep
		if vm.grpc[vm.nextGRPCToken] == nil { // The counter may have gone around.
			return vm.nextGRPCToken
		}
	}
}

// deliverGRPC gives an event to the plugin context, unless the stream was cancelled.
func (vm *VM) deliverGRPC(token uint32, e GRPCEvent) {
	open := vm.grpc[token]
	if open == nil || open.remoteEnded || vm.failure != nil {
		return
	}
	if e.Kind == GRPCClosed {
		open.remoteEnded = true
	}
	vm.tellGRPC(token, e)
	if open.remoteEnded && open.localEnded {
		delete(vm.grpc, token)
	}
	if e.Taken != nil {
		e.Taken()
	}
}

// tellGRPC makes the callback of an event.
func (vm *VM) tellGRPC(token uint32, e GRPCEvent) {
	export, number := "", uint64(0)
	switch e.Kind {
	case GRPCInitialMetadata:
		vm.received.initial = e.Metadata
		export, number = exportGRPCInitial, uint64(e.Metadata.length())
	case GRPCMessage:
		vm.received.message = e.Message
		export, number = exportGRPCReceive, uint64(len(e.Message))
	case GRPCTrailingMetadata:
		vm.received.trailing = e.Metadata
		export, number = exportGRPCTrailing, uint64(e.Metadata.length())
	case GRPCClosed:
		vm.received.status, vm.received.reason = e.Status, e.Reason
		export, number = exportGRPCClose, uint64(e.Status)
	}
	vm.call(vm.root, export, uint64(vm.root.id), uint64(token), number)
	vm.received = grpcView{}
}

// findGRPC returns the stream of a token.
func (vm *VM) findGRPC(token uint32) (open *openGRPC, st Status) {
	switch token & tokenKindMask {
	case tokenStream, tokenCall:
	default:
		return nil, StatusBadArgument
	}
	if open = vm.grpc[token]; open == nil {
		return nil, StatusNotFound
	}
	return open, StatusOK
}

func (vm *VM) cancelGRPC() {
	for token, open := range vm.grpc {
		open.stream.Cancel()
		delete(vm.grpc, token)
	}
}

// OpenGRPCStreams returns how many gRPC streams the guest has a token of. One that the other end has ended counts until
// the guest closes it.
func (vm *VM) OpenGRPCStreams() int { return len(vm.grpc) }
