package hostsim

import (
	"strconv"
	"time"
)

// ResponseFlags are Envoy's response flags as the property response.flags reads them (envoy.md 5).
type ResponseFlags int64

// The flags that hostsim sets, with Envoy's bits.
const (
	FlagNoHealthyUpstream         ResponseFlags = 1 << 1  // UH
	FlagUpstreamTimeout           ResponseFlags = 1 << 2  // UT
	FlagUpstreamConnectionFailure ResponseFlags = 1 << 5  // UF
	FlagUpstreamTermination       ResponseFlags = 1 << 6  // UC
	FlagDownstreamTermination     ResponseFlags = 1 << 14 // DC
	FlagStreamIdleTimeout         ResponseFlags = 1 << 16 // SI
	FlagUpstreamProtocolError     ResponseFlags = 1 << 23 // UPE
)

// streamInfo is what properties and on_log tell about a stream.
type streamInfo struct {
	StreamOptions

	start, end      time.Time
	requestBytes    int64
	responseBytes   int64
	responseCode    int
	details         string
	flags           ResponseFlags
	upstreamAddress string
	attempts        int
	// state is the filter state: what the guest set by property (under "wasm.") or by foreign function.
	state map[string][]byte
	// routeClears counts edits and calls that make Envoy choose the route again (envoy.md 2.6).
	routeClears int
}

func (i *streamInfo) noteResponse(h *Headers) {
	status, _ := h.First(":status")
	if code, err := strconv.Atoi(status); err == nil {
		i.responseCode = code
	}
}

// ResponseFlags returns the flags set so far.
func (s *Stream) ResponseFlags() ResponseFlags { return s.info.flags }

// ResponseCode returns the status that went to the client, 0 when none has.
func (s *Stream) ResponseCode() int { return s.info.responseCode }

// ResponseDetails returns the response code details, such as "via_upstream".
func (s *Stream) ResponseDetails() string { return s.info.details }

// FilterState returns an entry of the stream's filter state. What a guest sets as property "x" is at "wasm.x".
func (s *Stream) FilterState(key string) (value []byte, ok bool) {
	value, ok = s.info.state[key]
	return value, ok
}

// RouteClears returns how often the filter made the route be chosen again.
func (s *Stream) RouteClears() int { return s.info.routeClears }
