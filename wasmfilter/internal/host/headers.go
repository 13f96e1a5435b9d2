package host

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
)

// RequestHeaders are the request headers of the callback at hand, read from the
// host in one call: each call by name costs as much as reading them all. Above
// 1,024 headers or 1 MiB a host refuses that (envoy.md 1.1); they are then read
// by name.
type RequestHeaders struct {
	pairs  string // sizes, then keys and values, as the host writes them
	count  int
	byName bool
}

// Read takes the headers over. They are valid until Drop, at the end of the
// callback at the latest.
func (h *RequestHeaders) Read() {
	pairs := requestHeaderPairs()
	*h = RequestHeaders{pairs: pairs, byName: true}
	if len(pairs) < 4 {
		return
	}
	count := int(number(pairs, 0))
	if count > (len(pairs)-4)/8 {
		return
	}
	h.count, h.byName = count, false
}

// Drop lets go of the headers.
func (h *RequestHeaders) Drop() { *h = RequestHeaders{} }

// Get gives the first value of a header, empty when it is absent. The name must
// be in lower case. The value lives as long as the callback; Keep copies it.
func (h *RequestHeaders) Get(name string) string {
	value, _ := h.find(name)
	return value
}

// Keep is Get for a value that outlives the callback. An empty name has none.
func (h *RequestHeaders) Keep(name string) string {
	if name == "" {
		return ""
	}
	return strings.Clone(h.Get(name))
}

func (h *RequestHeaders) find(name string) (string, bool) {
	if h.byName {
		value, err := proxywasm.GetHttpRequestHeader(name)
		return value, err == nil
	}
	at := 4 + 8*h.count
	for i := range h.count {
		key, value := int(number(h.pairs, 4+8*i)), int(number(h.pairs, 8+8*i))
		end := at + key + 1 + value
		if end > len(h.pairs) {
			return "", false
		}
		if h.pairs[at:at+key] == name {
			return h.pairs[at+key+1 : end], true
		}
		at = end + 1
	}
	return "", false
}

func number(pairs string, at int) uint32 {
	return binary.LittleEndian.Uint32([]byte(pairs[at : at+4]))
}

// ContentLength is the announced length of the request body.
func (h *RequestHeaders) ContentLength() core.Count {
	n, err := strconv.ParseUint(h.Get("content-length"), 10, 64)
	if err != nil {
		return core.Count{}
	}
	return core.Known(n)
}

// StripRouting removes the routing headers a client sent, by name and only where
// there are any: each edit makes the host match the route again (envoy.md 2.6),
// and edits of the whole map fail above 1,024 headers.
func (h *RequestHeaders) StripRouting() {
	for _, name := range [...]string{HeaderEndpoint, HeaderPrefill, HeaderMode} {
		if _, present := h.find(name); present {
			_ = proxywasm.RemoveHttpRequestHeader(name)
		}
	}
}
