package hostsim

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// hostForeign knows two of Envoy's foreign functions (envoy.md 2.5); others are not found. They act on the effective
// context, as from Envoy 1.37 on.
func hostForeign(c *hostCall) uint32 {
	name, args, ok := c.in2(0, 2)
	if !ok {
		return uint32(StatusInvalidMemoryAccess)
	}
	s := c.vm.effectiveStream()
	st := StatusNotFound
	switch string(name) {
	case "set_envoy_filter_state":
		st = setFilterState(s, args)
	case "clear_route_cache":
		st = StatusBadArgument
		if s != nil {
			s.info.routeClears++
			st = StatusOK
		}
	}
	if st != StatusOK {
		return uint32(st)
	}
	return c.give(nil, 4, 5)
}

// knownStatePrefix begins the keys for which Envoy has an object type; values for others have none and are refused.
const knownStatePrefix = "envoy."

// setFilterState reads the message {1: path, 2: value, 3: life span} and stores the value.
func setFilterState(s *Stream, msg []byte) Status {
	const fieldPath, fieldValue = 1, 2
	contents := map[protowire.Number][]byte{}
	for len(msg) > 0 {
		field, kind, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return StatusBadArgument
		}
		msg = msg[n:]
		n = protowire.ConsumeFieldValue(field, kind, msg)
		if n < 0 {
			return StatusBadArgument
		}
		if kind == protowire.BytesType {
			contents[field], _ = protowire.ConsumeBytes(msg)
		}
		msg = msg[n:]
	}
	path := string(contents[fieldPath])
	if s == nil || path == "" {
		return StatusBadArgument
	}
	if !strings.HasPrefix(path, knownStatePrefix) {
		return StatusNotFound
	}
	s.info.state[path] = slices.Clone(contents[fieldValue])
	return StatusOK
}
