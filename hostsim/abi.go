package hostsim

// Status is the result word of a host function (envoy.md 1.1).
type Status uint32

// Status words.
const (
	StatusOK                  Status = 0
	StatusNotFound            Status = 1
	StatusBadArgument         Status = 2
	StatusParseFailure        Status = 4
	StatusInvalidMemoryAccess Status = 6
	StatusEmpty               Status = 7
	StatusCasMismatch         Status = 8
	StatusInternalFailure     Status = 10
	StatusUnimplemented       Status = 12
)

// Buffer types of proxy_get_buffer_bytes that an HTTP filter meets.
const (
	bufferRequestBody  = 0
	bufferResponseBody = 1
	bufferCalloutBody  = 4
	bufferGRPCMessage  = 5
	bufferVMConfig     = 6
	bufferPluginConfig = 7
)

// Map types of the header map functions that an HTTP filter meets.
const (
	mapRequestHeaders   = 0
	mapRequestTrailers  = 1
	mapResponseHeaders  = 2
	mapResponseTrailers = 3
	mapGRPCInitial      = 4
	mapGRPCTrailing     = 5
	mapCalloutHeaders   = 6
	mapCalloutTrailers  = 7
	mapTypeMax          = 7
)

// Stream types of proxy_continue_stream and proxy_close_stream.
const (
	streamRequest  = 0
	streamResponse = 1
)

// action is what a guest's HTTP callback returns.
type action uint32

const (
	actionContinue  action = 0
	actionPause     action = 1
	actionWatermark action = 2
	actionNoBuffer  action = 3
)
