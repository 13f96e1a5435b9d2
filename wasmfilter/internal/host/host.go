// Package host is the filter's port to the proxy-wasm host: the SDK's calls it
// needs, with absent values told from empty ones, and one arena for bodies.
//
// All calls act on the host's effective context. Nothing here decides anything.
package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unsafe"

	"github.com/pointsman/pointsman/core"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm/types"
)

// Headers of the router (design section 8).
const (
	HeaderEndpoint  = "x-pointsman-endpoint"
	HeaderPrefill   = "x-pointsman-prefill"
	HeaderMode      = "x-pointsman-mode"
	HeaderModel     = "x-pointsman-model"
	HeaderErrorCode = "x-router-error-code"
)

// Clock reads the host's monotonic clock.
type Clock struct{ base time.Time }

// NewClock starts a clock at zero.
func NewClock() Clock { return Clock{base: time.Now()} }

// Now is the time since the clock started.
func (c Clock) Now() core.Instant { return core.Instant(time.Since(c.base) / time.Millisecond) }

// SetEndpoint names the engine the host must send the request to.
func SetEndpoint(address string) error {
	return proxywasm.ReplaceHttpRequestHeader(HeaderEndpoint, address)
}

// Status reads the response status, 0 when there is none.
func Status() int {
	value, err := proxywasm.GetHttpResponseHeader(":status")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0
	}
	return n
}

// Property reads an integer property, eight bytes little-endian on the wire.
func Property(path ...string) core.Count {
	raw, err := proxywasm.GetProperty(path)
	if err != nil || len(raw) != 8 {
		return core.Count{}
	}
	return core.Known(binary.LittleEndian.Uint64(raw))
}

// Upstream is the address of the engine that the host used last for this stream,
// empty when there is none.
func Upstream() string {
	raw, err := proxywasm.GetProperty([]string{"upstream", "address"})
	if err != nil {
		return ""
	}
	return string(raw)
}

// Received is how many bytes of the request the host has, headers included.
func Received() core.Count { return Property("request", "total_size") }

// Flags are the host's response flags (envoy.md 5).
type Flags uint64

// The flags that mean the engine could not be reached, broke off or timed out.
const (
	flagUpstreamTimeout  Flags = 1 << 2
	flagRemoteReset      Flags = 1 << 4
	flagConnectFailure   Flags = 1 << 5
	flagConnectionClosed Flags = 1 << 6
	flagProtocolError    Flags = 1 << 23 // also an answer that broke off
	engineFailed               = flagUpstreamTimeout | flagRemoteReset | flagConnectFailure | flagConnectionClosed | flagProtocolError
)

// ResponseFlags reads the flags, none when the host has set none.
func ResponseFlags() Flags { return Flags(Property("response", "flags").N) }

// EngineFailed reports whether the engine is to blame.
func (f Flags) EngineFailed() bool { return f&engineFailed != 0 }

// window bounds one read of the body, so that the host's copy into guest memory
// stays small whatever the size of the body.
const window = 256 << 10

// keepArena bounds the arena kept between requests.
const keepArena = 4 << 20

// Arena holds the one body being read. Only one callback runs at a time in a VM,
// so one arena serves all streams.
type Arena struct{ buffer []byte }

// Body reads the buffered request body of the given size. The string is valid
// until the next call.
func (a *Arena) Body(size int) (string, error) {
	if cap(a.buffer) < size || (cap(a.buffer) > keepArena && size <= keepArena) {
		a.buffer = make([]byte, 0, max(size, 64<<10))
	}
	a.buffer = a.buffer[:0]
	for len(a.buffer) < size {
		part, err := proxywasm.GetHttpRequestBody(len(a.buffer), min(window, size-len(a.buffer)))
		if err != nil && !errors.Is(err, types.ErrorStatusNotFound) {
			return "", err
		}
		if len(part) == 0 {
			break
		}
		a.buffer = append(a.buffer, part...)
	}
	if len(a.buffer) < size {
		return "", fmt.Errorf("the host gave %d of %d bytes of the request body", len(a.buffer), size)
	}
	return unsafe.String(unsafe.SliceData(a.buffer), len(a.buffer)), nil
}
