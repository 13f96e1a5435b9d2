package host

import (
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/wasmfilter/internal/abi"
)

// Headers are what the filter wants to know of a request's headers. Their texts
// live as long as the callback, but for the keys and targets, which are copies.
type Headers struct {
	Method, Path    string
	ContentLength   core.Count
	ContentEncoding string
	Model           string
	Session         string
	Routing         string
	TTFT, TPS       string

	sent [3]bool // routing headers that the client sent, in the order of routing()
}

// routing are the headers that only the router may set.
func routing() [3]string { return [3]string{HeaderEndpoint, HeaderPrefill, HeaderMode} }

// ReadHeaders takes what is wanted from the request headers, in one host call and
// one pass: each call by name costs as much as reading them all. Above 1,024
// headers or 1 MiB a host refuses that (envoy.md 1.1); they are then read by
// name. Of a header that stands twice the first value counts.
func ReadHeaders(h *Headers, needs *spec.Needs) {
	*h = Headers{}
	pairs, err := abi.RequestHeaders()
	if err != nil || !pairs.Valid() {
		h.readByName(needs)
		return
	}
	var seen seen
	pairs.All(func(key, value string) bool {
		h.take(key, value, needs, &seen)
		return true
	})
}

// seen tells a first value from a later one, where an empty one counts too.
type seen struct {
	method, path, length, encoding, model, session, routing, ttft, tps bool
}

// first reports whether the flag was not set yet, and sets it.
func first(flag *bool) bool {
	was := *flag
	*flag = true
	return !was
}

func (h *Headers) take(key, value string, needs *spec.Needs, seen *seen) {
	switch key {
	case ":method":
		keep(&h.Method, value, &seen.method)
	case ":path":
		keep(&h.Path, value, &seen.path)
	case "content-length":
		if first(&seen.length) {
			h.ContentLength = length(value)
		}
	case "content-encoding":
		keep(&h.ContentEncoding, value, &seen.encoding)
	case HeaderModel:
		keep(&h.Model, value, &seen.model)
	case HeaderEndpoint:
		h.sent[0] = true
	case HeaderPrefill:
		h.sent[1] = true
	case HeaderMode:
		h.sent[2] = true
	}
	if key == "" { // as absent names in needs are
		return
	}
	// The configured names may be any, also one of the above.
	if key == needs.Session {
		copied(&h.Session, value, &seen.session)
	}
	if key == needs.Routing {
		copied(&h.Routing, value, &seen.routing)
	}
	if key == needs.TTFT {
		copied(&h.TTFT, value, &seen.ttft)
	}
	if key == needs.TPS {
		copied(&h.TPS, value, &seen.tps)
	}
}

func keep(to *string, value string, seen *bool) {
	if first(seen) {
		*to = value
	}
}

func copied(to *string, value string, seen *bool) {
	if first(seen) {
		*to = strings.Clone(value)
	}
}

func (h *Headers) readByName(needs *spec.Needs) {
	get := func(name string) (value string, present bool) {
		if name == "" {
			return "", false
		}
		value, err := abi.RequestHeader(name)
		return value, err == nil
	}
	kept := func(name string) string {
		value, _ := get(name)
		return strings.Clone(value)
	}
	h.Method, _ = get(":method")
	h.Path, _ = get(":path")
	h.ContentEncoding, _ = get("content-encoding")
	if value, present := get("content-length"); present {
		h.ContentLength = length(value)
	}
	h.Model, _ = get(HeaderModel)
	h.Session, h.Routing, h.TTFT, h.TPS = kept(needs.Session), kept(needs.Routing), kept(needs.TTFT), kept(needs.TPS)
	for i, name := range routing() {
		_, h.sent[i] = get(name)
	}
}

// length reads a content-length, unknown when it is no number.
func length(value string) core.Count {
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return core.Count{}
	}
	return core.Known(n)
}

// StripRouting removes the routing headers a client sent, by name and only where
// there are any: each edit makes the host match the route again (envoy.md 2.6),
// and edits of the whole map fail above 1,024 headers.
func (h *Headers) StripRouting() {
	for i, name := range routing() {
		if h.sent[i] {
			_ = abi.RemoveRequestHeader(name)
		}
	}
}
