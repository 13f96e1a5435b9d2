package host

import (
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
	Ranked          bool // the client names a data-parallel rank

	sent [3]bool // routing headers that the client sent, in the order of routing()
}

// routing are the headers that only the router may set.
func routing() [3]string { return [3]string{HeaderEndpoint, HeaderPrefill, HeaderMode} }

// The headers that are looked for, by their place in wanted.
const (
	wantMethod = iota
	wantPath
	wantLength
	wantEncoding
	wantModel
	wantEndpoint
	wantPrefill
	wantMode
	wantRank
	wantSession
	wantRouting
	wantTTFT
	wantTPS
	wantCount
)

// wanted are names to look for and what was found: of a header that stands twice
// the first value.
type wanted struct {
	names  [wantCount]string // empty for none
	values [wantCount]string
	found  [wantCount]bool
}

// ReadHeaders takes what is wanted from the request headers, in one host call and
// one pass: each call by name costs as much as reading them all. Above 1,024
// headers or 1 MiB a host refuses that (envoy.md 1.1); they are then read by
// name.
func ReadHeaders(h *Headers, needs *spec.Needs) {
	w := wanted{names: [wantCount]string{
		":method", ":path", "content-length", "content-encoding", HeaderModel, HeaderEndpoint, HeaderPrefill, HeaderMode,
		HeaderRank, needs.Session, needs.Routing, needs.TTFT, needs.TPS,
	}}
	pairs, err := abi.RequestHeaders()
	if err == nil && pairs.Valid() {
		w.search(pairs)
	} else {
		w.ask()
	}
	*h = Headers{
		Method: w.values[wantMethod], Path: w.values[wantPath], ContentEncoding: w.values[wantEncoding], Model: w.values[wantModel],
		Session: strings.Clone(w.values[wantSession]), Routing: strings.Clone(w.values[wantRouting]),
		TTFT: strings.Clone(w.values[wantTTFT]), TPS: strings.Clone(w.values[wantTPS]),
		Ranked: w.found[wantRank],
		sent:   [3]bool(w.found[wantEndpoint : wantMode+1]),
	}
	if w.found[wantLength] {
		h.ContentLength = core.ReadDigits(w.values[wantLength])
	}
}

func (w *wanted) search(pairs abi.Pairs) {
	pairs.All(func(key, value string) bool {
		for i, name := range &w.names {
			if len(name) == len(key) && key != "" && name == key && !w.found[i] {
				w.values[i], w.found[i] = value, true
			}
		}
		return true
	})
}

func (w *wanted) ask() {
	for i, name := range &w.names {
		if name == "" {
			continue
		}
		value, err := abi.RequestHeader(name)
		w.values[i], w.found[i] = value, err == nil
	}
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
