package hostsim

import (
	"encoding/binary"
	"net"
	"slices"
	"strconv"
	"strings"
)

// statePrefix stands before the names of filter state that a guest sets by property (envoy.md 7).
const statePrefix = "wasm."

func hostGetProperty(c *hostCall) uint32 {
	path, ok := c.in(0)
	if !ok {
		return uint32(StatusInvalidMemoryAccess)
	}
	value, ok := c.vm.property(strings.Split(strings.TrimSuffix(string(path), "\x00"), "\x00"))
	if !ok {
		return uint32(StatusNotFound)
	}
	return c.give(value, 2, 3)
}

func hostSetProperty(c *hostCall) Status {
	path, value, ok := c.in2(0, 2)
	if !ok {
		return StatusInvalidMemoryAccess
	}
	s := c.vm.effectiveStream()
	if s == nil {
		return StatusNotFound
	}
	s.info.state[statePrefix+string(path)] = slices.Clone(value)
	return StatusOK
}

// property reads a value by its path (envoy.md 5). Integers are 8 bytes little-endian, durations are nanoseconds.
func (vm *VM) property(path []string) ([]byte, bool) {
	switch path[0] {
	case "plugin_name":
		return []byte(vm.opts.PluginName), true
	case "plugin_root_id":
		return []byte(vm.opts.RootID), true
	case "plugin_vm_id":
		return []byte(vm.opts.VMID), true
	}
	s := vm.effectiveStream()
	if s == nil {
		return nil, false
	}
	if value, ok := s.info.state[statePrefix+strings.Join(path, "\x00")]; ok {
		return value, true
	}
	if len(path) < 2 {
		return nil, false
	}
	if path[0] == "filter_state" {
		value, ok := s.info.state[path[1]]
		return value, ok
	}
	if len(path) > 2 {
		return s.headerProperty(path)
	}
	return s.property(path[0] + "." + path[1])
}

// headerProperty reads request.headers.NAME and response.headers.NAME.
func (s *Stream) headerProperty(path []string) ([]byte, bool) {
	headers := map[string]*Headers{
		"request": s.readableMap(mapRequestHeaders), "response": s.readableMap(mapResponseHeaders),
	}[path[0]]
	if len(path) != 3 || path[1] != "headers" || headers == nil {
		return nil, false
	}
	value, ok := headers.Get(path[2])
	return []byte(value), ok
}

func (s *Stream) property(name string) ([]byte, bool) {
	i := &s.info
	switch name {
	case "request.total_size":
		// Envoy counts the headers only while the filter may look at them.
		return integer(i.requestBytes + headerBytes(s.readableMap(mapRequestHeaders))), true
	case "request.size":
		return integer(s.requestSize()), true
	case "request.duration":
		return integer(s.Duration().Nanoseconds()), s.closed
	case "request.protocol":
		return []byte("HTTP/1.1"), true
	case "request.time":
		return integer(i.start.UnixNano()), true
	}
	if value, known, ok := s.responseProperty(name); known {
		return value, ok
	}
	if value, known, ok := s.peerProperty(name); known {
		return value, ok
	}
	return s.requestProperty(name)
}

// responseProperty reads what is known about the response; known is false for another name.
func (s *Stream) responseProperty(name string) (value []byte, known, ok bool) {
	i := &s.info
	switch name {
	case "response.code":
		return integer(int64(i.responseCode)), true, i.responseCode != 0
	case "response.code_details":
		return []byte(i.details), true, i.details != "" || i.responseCode != 0
	case "response.flags":
		return integer(int64(i.flags)), true, true
	case "response.size":
		return integer(i.responseBytes), true, true
	case "response.total_size":
		return integer(i.responseBytes + headerBytes(s.readableMap(mapResponseHeaders))), true, true
	}
	return nil, false, false
}

// peerProperty reads what is known about the two ends of the stream; known is false for another name.
func (s *Stream) peerProperty(name string) (value []byte, known, ok bool) {
	i := &s.info
	switch name {
	case "upstream.address":
		return []byte(i.upstreamAddress), true, i.upstreamAddress != ""
	case "upstream.port":
		value, ok = port(i.upstreamAddress)
		return value, true, ok
	case "upstream.request_attempt_count":
		return integer(int64(i.attempts)), true, true
	case "xds.cluster_name":
		return []byte(i.ClusterName), true, i.ClusterName != ""
	case "xds.route_name":
		return []byte(i.RouteName), true, i.RouteName != ""
	case "source.address":
		return []byte(i.Source), true, i.Source != ""
	case "source.port":
		value, ok = port(i.Source)
		return value, true, ok
	case "destination.address":
		return []byte(i.Destination), true, i.Destination != ""
	case "destination.port":
		value, ok = port(i.Destination)
		return value, true, ok
	}
	return nil, false, false
}

// requestProperty reads what comes from the request's headers. Like them it is there only while the filter may look at
// them, and in on_log.
func (s *Stream) requestProperty(name string) ([]byte, bool) {
	header, ok := map[string]string{
		"request.path": ":path", "request.url_path": ":path", "request.query": ":path", "request.method": ":method",
		"request.host": ":authority", "request.scheme": ":scheme", "request.id": "x-request-id",
		"request.referer": "referer", "request.useragent": "user-agent",
	}[name]
	headers := s.readableMap(mapRequestHeaders)
	if !ok || headers == nil {
		return nil, false
	}
	value, ok := headers.Get(header)
	path, query, _ := strings.Cut(value, "?")
	switch name {
	case "request.url_path":
		value = path
	case "request.query":
		value = query
	}
	return []byte(value), ok
}

// requestSize is the announced length of the request's body, else what has come in.
func (s *Stream) requestSize() int64 {
	if h := s.readableMap(mapRequestHeaders); h != nil {
		if n := contentLength(h); n >= 0 {
			return n
		}
	}
	return s.info.requestBytes
}

func headerBytes(h *Headers) int64 {
	if h == nil {
		return 0
	}
	return int64(h.Bytes())
}

func integer(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }

func port(address string) ([]byte, bool) {
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		return nil, false
	}
	n, err := strconv.ParseInt(p, 10, 64)
	return integer(n), err == nil
}
