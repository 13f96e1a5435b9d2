package host

import (
	"math/bits"
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
	Priority        string
	Subset          *core.Subset // of engines that the request is kept to, nil for none
	Ranked          bool         // the client names a data-parallel rank

	wanted wanted
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
	wantPriority
	wantCount
)

// wanted are names to look for and what was found: of a header that stands twice
// the first value.
type wanted struct {
	names    [wantCount]string           // empty for none
	byLength [longestName + 1]headerBits // the names of each length; of the longest and longer ones together
	values   [wantCount]string
	found    headerBits
	metadata string // namespace of the host's metadata for a subset hint
}

// headerBits is a set of wanted headers.
type headerBits uint16

// longestName is the length from which on names are told apart by comparing them
// only.
const longestName = 32

// Want says once which headers a configuration with its defaults needs.
func (h *Headers) Want(cfg *spec.Config, needs *spec.Needs) {
	h.wanted = wanted{
		names: [wantCount]string{
			":method", ":path", "content-length", "content-encoding", HeaderModel, cfg.EndpointHeader, HeaderPrefill, HeaderMode,
			HeaderRank, needs.Session, needs.Routing, needs.TTFT, needs.TPS, needs.Subset, needs.Priority,
		},
		metadata: needs.SubsetMetadata,
	}
	for i, name := range h.wanted.names {
		if name != "" {
			h.wanted.byLength[min(len(name), longestName)] |= 1 << i
		}
	}
}

// Read takes what is wanted from the request headers, in one host call and one
// pass: each call by name costs as much as reading them all. Above 1,024 headers
// or 1 MiB a host refuses that (envoy.md 1.1); they are then read by name.
func (h *Headers) Read() {
	w := &h.wanted
	w.found = 0
	pairs, err := abi.RequestHeaders()
	if err == nil && pairs.Valid() {
		w.search(pairs)
	} else {
		w.ask()
	}
	h.Method, h.Path, h.ContentEncoding, h.Model = w.value(wantMethod), w.value(wantPath), w.value(wantEncoding), w.value(wantModel)
	h.Session, h.Routing = strings.Clone(w.value(wantSession)), strings.Clone(w.value(wantRouting))
	h.TTFT, h.TPS = strings.Clone(w.value(wantTTFT)), strings.Clone(w.value(wantTPS))
	h.Ranked = w.has(wantRank)
	h.ContentLength = core.Count{}
	if w.has(wantLength) {
		h.ContentLength = core.ReadDigits(w.values[wantLength])
	}
	h.Subset = w.subset()
	h.Priority = w.value(wantPriority)
}

// subset reads the hint that keeps the request to some engines, nil for none.
func (w *wanted) subset() *core.Subset {
	if w.metadata != "" {
		if hint, ok := subsetMetadata(w.metadata); ok {
			return core.ParseSubset(hint)
		}
	}
	if w.has(wantSubset) {
		return core.ParseSubset(strings.Clone(w.values[wantSubset]))
	}
	return nil
}

func (w *wanted) has(header int) bool { return w.found>>header&1 != 0 }

func (w *wanted) value(header int) string {
	if !w.has(header) {
		return ""
	}
	return w.values[header]
}

func (w *wanted) search(pairs abi.Pairs) {
	pairs.All(func(key, value string) bool {
		for may := w.byLength[min(len(key), longestName)] &^ w.found; may != 0; may &= may - 1 {
			if i := bits.TrailingZeros16(uint16(may)); w.names[i] == key {
				w.values[i] = value
				w.found |= 1 << i
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
		if value, err := abi.RequestHeader(name); err == nil {
			w.values[i] = value
			w.found |= 1 << i
		}
	}
}

// StripRouting removes the routing headers a client sent, by name and only where
// there are any: each edit makes the host match the route again (envoy.md 2.6),
// and edits of the whole map fail above 1,024 headers.
func (h *Headers) StripRouting() {
	for i := wantEndpoint; i <= wantMode; i++ { // those that only the router may set
		if h.wanted.has(i) {
			_ = abi.RemoveRequestHeader(h.wanted.names[i])
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
