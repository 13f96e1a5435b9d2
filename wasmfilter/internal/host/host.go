// Package host is the filter's port to the proxy-wasm host: what it asks of a
// request and its answer, with absent values told from empty ones, a clock, and
// one arena for bodies.
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
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
)

// Headers of the router (design section 8).
const (
	HeaderPrefill   = "x-pointsman-prefill"
	HeaderMode      = "x-pointsman-mode"
	HeaderModel     = "x-pointsman-model"
	HeaderErrorCode = "x-router-error-code"
	HeaderWorker    = "x-pointsman-worker"
	// HeaderRank names a data-parallel rank to engines (engine-selection.md 8.7).
	HeaderRank = "x-data-parallel-rank"
)

// Clock reads the host's monotonic clock.
type Clock struct{ base time.Duration }

// NewClock starts a clock at zero.
func NewClock() Clock { return Clock{base: abi.Now()} }

// Now is the time since the clock started.
func (c Clock) Now() core.Instant { return core.Instant((abi.Now() - c.base) / time.Millisecond) }

// SetEndpoint names the engine the host must send the request to, in the header that
// the host reads.
func SetEndpoint(header, address string) error { return abi.SetRequestHeader(header, address) }

// SetRank names the data-parallel rank that the engine is to use.
func SetRank(rank uint64) error {
	return abi.SetRequestHeader(HeaderRank, strconv.FormatUint(rank, 10))
}

// RemoveRank takes a client's word for the rank out of the request.
func RemoveRank() error { return abi.RemoveRequestHeader(HeaderRank) }

// NameWorker puts an engine's ID into the response, or with none removes what
// stands there.
func NameWorker(id string) error {
	if id == "" {
		return abi.RemoveResponseHeader(HeaderWorker)
	}
	return abi.SetResponseHeader(HeaderWorker, id)
}

// Status reads the response status, 0 when there is none.
func Status() int {
	value, err := abi.ResponseHeader(":status")
	if err != nil || len(value) != 3 {
		return 0
	}
	n := 0
	for _, c := range []byte(value) {
		if c < '0' || c > '9' {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// Paths of the properties that are read.
const (
	propertyFlags    = "response\x00flags"
	propertyReceived = "request\x00total_size"
	propertyUpstream = "upstream\x00address"
)

// number reads an integer property, eight bytes little-endian on the wire.
func number(path string) core.Count {
	raw, err := abi.Property(path)
	if err != nil || len(raw) != 8 {
		return core.Count{}
	}
	return core.Known(binary.LittleEndian.Uint64(raw))
}

// Upstream is the address of the engine that the host used last for this stream,
// empty when there is none.
func Upstream() string {
	raw, err := abi.Property(propertyUpstream)
	if err != nil {
		return ""
	}
	return string(raw)
}

// Received is how many bytes of the request the host has, headers included.
func Received() core.Count { return number(propertyReceived) }

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
func ResponseFlags() Flags { return Flags(number(propertyFlags).N) }

// EngineFailed reports whether the engine is to blame.
func (f Flags) EngineFailed() bool { return f&engineFailed != 0 }

// keepArena bounds the arena kept between requests.
const keepArena = 4 << 20

// Arena holds the one body being read. Only one callback runs at a time in a VM,
// so one arena serves all streams. The host writes into it, so that its copy is
// the only one.
type Arena struct{ buffer []byte }

// Body reads the buffered request body of the given size. The string is valid
// until the next call.
func (a *Arena) Body(size int) (string, error) {
	if len(a.buffer) < size || (len(a.buffer) > keepArena && size <= keepArena) {
		a.buffer = nil // so that a collection in between can have it
		a.buffer = make([]byte, max(size, 64<<10))
	}
	for have := 0; have < size; {
		n, err := abi.ReadBody(have, a.buffer[have:size])
		if err != nil && !errors.Is(err, abi.StatusNotFound) {
			return "", err
		}
		if n == 0 {
			return "", fmt.Errorf("the host gave %d of %d bytes of the request body", have, size)
		}
		have += n
	}
	return unsafe.String(unsafe.SliceData(a.buffer), size), nil
}
