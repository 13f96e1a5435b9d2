package hostsim

import "github.com/pointsman/pointsman/hostsim/internal/pairs"

func mapFuncs() []hostFunc {
	return []hostFunc{
		{"proxy_get_header_map_size", "ii", hostMapSize},
		{"proxy_get_header_map_pairs", "iii", hostGetPairs},
		{"proxy_get_header_map_value", "iiiii", hostGetValue},
		{"proxy_set_header_map_pairs", "iii", status(hostSetPairs)},
		{"proxy_add_header_map_value", "iiiii", status(func(c *hostCall) Status { return editValue(c, (*Headers).Add) })},
		{"proxy_replace_header_map_value", "iiiii", status(func(c *hostCall) Status { return editValue(c, (*Headers).Set) })},
		{"proxy_remove_header_map_value", "iii", status(hostRemoveValue)},
	}
}

// editableMap returns the map that the guest may change, if it is there: it is gone after Continue and resume.
func (s *Stream) editableMap(kind uint32) *Headers {
	switch kind {
	case mapRequestHeaders:
		return s.request.shownHeaders
	case mapRequestTrailers:
		return s.request.shownTrailers
	case mapResponseHeaders:
		return s.response.shownHeaders
	case mapResponseTrailers:
		return s.response.shownTrailers
	}
	return nil
}

// readableMap is editableMap, and in on_log whatever the stream had.
func (s *Stream) readableMap(kind uint32) *Headers {
	if s.logging {
		switch kind {
		case mapRequestHeaders:
			return s.request.headers
		case mapResponseHeaders:
			return s.response.headers
		case mapResponseTrailers:
			return s.response.trailers
		}
	}
	return s.editableMap(kind)
}

func (vm *VM) readableMap(kind uint32) *Headers {
	switch kind {
	case mapCalloutHeaders:
		if vm.reply != nil {
			return vm.reply.Headers
		}
		return nil
	case mapCalloutTrailers:
		if vm.reply != nil {
			return vm.reply.Trailers
		}
		return nil
	case mapGRPCInitial:
		return vm.received.initial
	case mapGRPCTrailing:
		return vm.received.trailing
	}
	if s := vm.effectiveStream(); s != nil {
		return s.readableMap(kind)
	}
	return nil
}

func (vm *VM) editableMap(kind uint32) *Headers {
	if s := vm.effectiveStream(); s != nil {
		return s.editableMap(kind)
	}
	return nil
}

// absentMap is the status for reading a map that is not there: in on_log some are absent, elsewhere it is an error.
func (vm *VM) absentMap() Status {
	if s := vm.effectiveStream(); s != nil && s.logging {
		return StatusNotFound
	}
	return StatusBadArgument
}

func hostMapSize(c *hostCall) uint32 {
	h := c.vm.readableMap(c.u32(0))
	if h == nil {
		return uint32(StatusBadArgument)
	}
	return c.out32(1, uint32(h.Bytes()))
}

// hostGetPairs gives the whole map; one that is absent or empty is size 0. Above 1,024 pairs or 1 MiB it fails.
func hostGetPairs(c *hostCall) uint32 {
	if c.u32(0) > mapTypeMax {
		return uint32(StatusBadArgument)
	}
	h := c.vm.readableMap(c.u32(0))
	if h == nil || h.Len() == 0 {
		return c.give(nil, 1, 2)
	}
	blob, err := pairs.Encode(h.Pairs())
	if err != nil {
		return uint32(StatusInternalFailure)
	}
	return c.give(blob, 1, 2)
}

// hostGetValue gives the first value of a name: Envoy 1.40 and 1.36 do not join several (seen on both).
func hostGetValue(c *hostCall) uint32 {
	key, ok := c.in(1)
	if !ok {
		return uint32(StatusInvalidMemoryAccess)
	}
	h := c.vm.readableMap(c.u32(0))
	if h == nil {
		return uint32(c.vm.absentMap())
	}
	value, ok := h.First(string(key))
	if !ok {
		return uint32(StatusNotFound)
	}
	return c.give([]byte(value), 3, 4)
}

// edited counts an edit of request headers: Envoy chooses the route again after each (envoy.md 2.6).
func (c *hostCall) edited() {
	if c.u32(0) == mapRequestHeaders {
		c.vm.effectiveStream().info.routeClears++
	}
}

func editValue(c *hostCall, edit func(h *Headers, name, value string)) Status {
	key, value, ok := c.in2(1, 3)
	if !ok {
		return StatusInvalidMemoryAccess
	}
	h := c.vm.editableMap(c.u32(0))
	if h == nil {
		return StatusBadArgument
	}
	edit(h, string(key), string(value))
	c.edited()
	return StatusOK
}

func hostRemoveValue(c *hostCall) Status {
	key, ok := c.in(1)
	if !ok {
		return StatusInvalidMemoryAccess
	}
	h := c.vm.editableMap(c.u32(0))
	if h == nil {
		return StatusBadArgument
	}
	h.Del(string(key))
	c.edited()
	return StatusOK
}

func hostSetPairs(c *hostCall) Status {
	blob, ok := c.in(1)
	if !ok {
		return StatusInvalidMemoryAccess
	}
	h := c.vm.editableMap(c.u32(0))
	list, err := pairs.Decode(blob)
	if h == nil || err != nil {
		return StatusBadArgument
	}
	*h = *NewHeaders(list...)
	c.edited()
	return StatusOK
}
