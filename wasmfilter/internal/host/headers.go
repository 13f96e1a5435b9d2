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
	Subset          *core.Subset // of engines that the request is kept to, nil for none
	Ranked          bool         // the client names a data-parallel rank

	routing [3]string // the headers that only the router may set
	sent    [3]bool   // which of them the client sent
}

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
	wantSubset
	wantCount
)

// Wanted are the headers that a configuration has the filter look for.
type Wanted struct {
	names    [wantCount]string // empty for none
	metadata string            // namespace of the host's metadata for a subset hint
}

// Want lists the headers for a configuration with its defaults.
func Want(cfg *spec.Config, needs *spec.Needs) Wanted {
	return Wanted{
		names: [wantCount]string{
			":method", ":path", "content-length", "content-encoding", HeaderModel, cfg.EndpointHeader, HeaderPrefill, HeaderMode,
			HeaderRank, needs.Session, needs.Routing, needs.TTFT, needs.TPS, needs.Subset,
		},
		metadata: needs.SubsetMetadata,
	}
}

// search is what was found of the wanted headers: of one that stands twice the first
// value.
type search struct {
	names  *[wantCount]string
	values [wantCount]string
	found  [wantCount]bool
}

// ReadHeaders takes what is wanted from the request headers, in one host call and
// one pass: each call by name costs as much as reading them all. Above 1,024
// headers or 1 MiB a host refuses that (envoy.md 1.1); they are then read by
// name.
func ReadHeaders(h *Headers, wanted *Wanted) {
	w := search{names: &wanted.names}
	pairs, err := abi.RequestHeaders()
	if err == nil && pairs.Valid() {
		w.all(pairs)
	} else {
		w.ask()
	}
	*h = Headers{
		Method: w.values[wantMethod], Path: w.values[wantPath], ContentEncoding: w.values[wantEncoding], Model: w.values[wantModel],
		Session: strings.Clone(w.values[wantSession]), Routing: strings.Clone(w.values[wantRouting]),
		TTFT: strings.Clone(w.values[wantTTFT]), TPS: strings.Clone(w.values[wantTPS]),
		Ranked:  w.found[wantRank],
		routing: [3]string(w.names[wantEndpoint : wantMode+1]),
		sent:    [3]bool(w.found[wantEndpoint : wantMode+1]),
	}
	if w.found[wantSubset] {
		h.Subset = core.ParseSubset(w.values[wantSubset])
	}
	if wanted.metadata != "" {
		if hint, ok := subsetMetadata(wanted.metadata); ok {
			h.Subset = core.ParseSubset(hint)
		}
	}
	if w.found[wantLength] {
		h.ContentLength = core.ReadDigits(w.values[wantLength])
	}
}

func (w *search) all(pairs abi.Pairs) {
	pairs.All(func(key, value string) bool {
		for i, name := range w.names {
			if len(name) == len(key) && key != "" && name == key && !w.found[i] {
				w.values[i], w.found[i] = value, true
			}
		}
		return true
	})
}

func (w *search) ask() {
	for i, name := range w.names {
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
	for i, name := range &h.routing {
		if h.sent[i] {
			_ = abi.RemoveRequestHeader(name)
		}
	}
}

// subsetMetadata reads the hint that a filter before this one left in the host's
// dynamic metadata. A text comes as it is, a list as pairs whose keys are its texts,
// which no text of addresses looks like.
func subsetMetadata(namespace string) (string, bool) {
	raw, err := abi.Property("metadata\x00filter_metadata\x00" + namespace + "\x00" + spec.SubsetKey)
	if err != nil {
		return "", false
	}
	list := abi.Pairs(raw)
	if !list.Valid() {
		return string(raw), true
	}
	var hint strings.Builder
	list.All(func(address, _ string) bool {
		hint.WriteString(address)
		hint.WriteByte(',')
		return true
	})
	return hint.String(), true
}
