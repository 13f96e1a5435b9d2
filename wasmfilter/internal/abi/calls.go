package abi

import (
	"time"
	"unsafe"
)

// The numbers of the ABI.
type (
	buffer     uint32
	headerMap  uint32
	metricKind uint32
)

const (
	bufferRequestBody   buffer = 0
	bufferCallBody      buffer = 4
	bufferStreamMessage buffer = 5
	bufferPluginConfig  buffer = 7

	headersRequest  headerMap = 0
	headersResponse headerMap = 2
	headersCall     headerMap = 6

	metricCounter metricKind = 0

	directionRequest uint32 = 0
	clockMonotonic   uint32 = 1
)

// Level is the weight of a log line.
type Level uint32

// The levels.
const (
	LevelInfo     Level = 2
	LevelWarn     Level = 3
	LevelError    Level = 4
	LevelCritical Level = 5
)

// out is where the host writes its results. Its address never changes, so no
// call has to find room for them.
var out struct {
	data, size uint32 // an address and a length
	number     uint32
	time       int64
}

// Where a host writes the address and the length of what it answers with.
var outData, outSize = unsafe.Pointer(&out.data), unsafe.Pointer(&out.size)

// text reads a host's answer without copying it.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// expect prepares for a call that answers with memory, which is wanted in a
// certain place or, with nil, anywhere.
func expect(place []byte) {
	current.memory.expect(place)
	out.size = 0
}

// given is the answer of the call just made. The address the host reports is
// where it was told to write, so only the length is looked at.
func given(status Status) ([]byte, error) {
	return current.memory.given(out.size), status.err()
}

// Log writes a line to the host's log.
func Log(level Level, message string) { _ = proxyLog(level, message) }

// Now is the host's monotonic clock.
func Now() time.Duration {
	clockTimeGet(clockMonotonic, 1, unsafe.Pointer(&out.time))
	return time.Duration(out.time)
}

// SetTickPeriod asks for a tick every so many milliseconds.
func SetTickPeriod(milliseconds uint32) error { return proxySetTickPeriod(milliseconds).err() }

// SetEffectiveContext makes host calls act on another context until the callback
// returns.
func SetEffectiveContext(context uint32) error { return proxySetEffectiveContext(context).err() }

// ResumeRequest lets a paused request go on.
func ResumeRequest() error { return proxyContinueStream(directionRequest).err() }

// Respond answers the client; the request goes no further.
func Respond(status int, headers [][2]string, body []byte) error {
	const noGRPC = -1
	return proxySendLocalResponse(uint32(status), "", text(body), text(AppendPairs(nil, headers)), noGRPC).err()
}

// PluginConfig reads the plugin's configuration.
func PluginConfig() ([]byte, error) { return readBuffer(bufferPluginConfig, 0, 1<<31-1, nil) }

// ReadBody reads the request body from an offset on into a place, as much as
// fits and is there.
func ReadBody(start int, place []byte) (n int, err error) {
	got, err := readBuffer(bufferRequestBody, start, len(place), place)
	if err != nil || len(got) == 0 {
		return 0, err
	}
	if unsafe.SliceData(got) != unsafe.SliceData(place) {
		return copy(place, got), nil // a host that asks for room of another size
	}
	return len(got), nil
}

// EditBody replaces a part of the request body with a text. Hosts take edits at
// the ends only: a start of zero, or one at or behind the end (envoy.md 4.3).
func EditBody(start, length int, text string) error {
	return proxySetBufferBytes(bufferRequestBody, uint32(start), uint32(length), text).err()
}

// CallBody reads the answer to a call, into a place if it fits there.
func CallBody(size int, place []byte) ([]byte, error) {
	return readBuffer(bufferCallBody, 0, size, place)
}

func readBuffer(kind buffer, start, length int, place []byte) ([]byte, error) {
	expect(place)
	return given(proxyGetBufferBytes(kind, uint32(start), uint32(length), outData, outSize))
}

// RequestHeaders reads all request headers at once. Above 1,024 headers or 1 MiB
// hosts refuse (envoy.md 1.1).
func RequestHeaders() (Pairs, error) {
	expect(nil)
	b, err := given(proxyGetHeaderMapPairs(headersRequest, outData, outSize))
	return Pairs(text(b)), err
}

// RequestHeader reads one request header.
func RequestHeader(name string) (string, error) { return header(headersRequest, name) }

// ResponseHeader reads one response header.
func ResponseHeader(name string) (string, error) { return header(headersResponse, name) }

// CallHeader reads one header of the answer to a call.
func CallHeader(name string) (string, error) { return header(headersCall, name) }

func header(kind headerMap, name string) (string, error) {
	expect(nil)
	b, err := given(proxyGetHeaderMapValue(kind, name, outData, outSize))
	return text(b), err
}

// SetRequestHeader replaces a request header, or adds it.
func SetRequestHeader(name, value string) error {
	return proxyReplaceHeaderMapValue(headersRequest, name, value).err()
}

// RemoveRequestHeader removes a request header.
func RemoveRequestHeader(name string) error {
	return proxyRemoveHeaderMapValue(headersRequest, name).err()
}

// SetResponseHeader replaces a response header, or adds it.
func SetResponseHeader(name, value string) error {
	return proxyReplaceHeaderMapValue(headersResponse, name, value).err()
}

// RemoveResponseHeader removes a response header.
func RemoveResponseHeader(name string) error {
	return proxyRemoveHeaderMapValue(headersResponse, name).err()
}

// Property reads a property. The path has a zero byte between its parts.
func Property(path string) ([]byte, error) {
	expect(nil)
	return given(proxyGetProperty(path, outData, outSize))
}

// Call starts an HTTP call with headers in the host's form. Its answer comes to
// the plugin whose callback runs.
func Call(cluster string, headers, body []byte, timeoutMillis uint32) (call uint32, err error) {
	const noTrailers = "\x00\x00\x00\x00"
	status := proxyHTTPCall(cluster, text(headers), text(body), noTrailers, timeoutMillis, unsafe.Pointer(&out.number))
	return out.number, status.err()
}

// OpenStream opens a gRPC stream with metadata in the host's form. Its messages come to
// the plugin that is the effective context, and only that one may send on it.
func OpenStream(service []byte, name, method string, metadata []byte) (stream uint32, err error) {
	status := proxyGRPCStream(text(service), name, method, text(metadata), unsafe.Pointer(&out.number))
	return out.number, status.err()
}

// Send sends a message on a stream.
func Send(stream uint32, message []byte) error {
	const more = 0
	return proxyGRPCSend(stream, text(message), more).err()
}

// CancelStream ends a stream; nothing more comes of it.
func CancelStream(stream uint32) error { return proxyGRPCCancel(stream).err() }

// StreamMessage reads the message that has come. It is valid until the callback returns.
func StreamMessage(size int) ([]byte, error) { return readBuffer(bufferStreamMessage, 0, size, nil) }

// SharedData reads what some plugin of the process has put under a key. It is
// valid until the callback returns.
func SharedData(key string) ([]byte, error) {
	expect(nil)
	return given(proxyGetSharedData(key, outData, outSize, unsafe.Pointer(&out.number)))
}

// SetSharedData puts a value under a key, over whatever is there.
func SetSharedData(key, value string) error {
	const anyVersion = 0
	return proxySetSharedData(key, value, anyVersion).err()
}

// DefineCounter makes a counter, or finds the one of that name.
func DefineCounter(name string) (id uint32, err error) {
	status := proxyDefineMetric(metricCounter, name, unsafe.Pointer(&out.number))
	return out.number, status.err()
}

// AddToCounter counts.
func AddToCounter(id uint32, n uint64) error { return proxyIncrementMetric(id, int64(n)).err() }
