package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ownPrefix begins the names of the router's own headers.
const ownPrefix = "x-pointsman-"

// interop checks the names by which hops before and behind the filter are understood.
func (v *validator) interop() {
	c := v.cfg
	v.oneOf("slo_headers", c.SLOHeaders, SLOHeadersSGL, SLOHeadersLLMD)
	name := strings.ToLower(c.EndpointHeader)
	v.header("endpoint_header", name, name == DefaultEndpointHeader)
	if s := c.Subset; s != nil {
		if s.Header == "" && s.Metadata == "" {
			v.add("subset", "says neither header nor metadata", `write "header": "`+SubsetKey+`" or leave it out`)
		}
		v.header("subset.header", s.Header, false)
		if name != "" && strings.EqualFold(s.Header, name) {
			v.add("subset.header", "is the endpoint header, which is removed from requests", `write "header": "`+SubsetKey+`"`)
		}
		if strings.ContainsRune(s.Metadata, 0) {
			v.add("subset.metadata", "has a NUL in it", "write the namespace's name")
		}
	}
	v.priority(name)
	for _, h := range []*KeyHeader{c.Session, c.RoutingKey} {
		if h != nil && name != "" && strings.EqualFold(h.Header, name) {
			v.add("endpoint_header", strconv.Quote(name)+" is the header of a key too", "name each its own header")
		}
	}
}

func (v *validator) priority(endpoint string) {
	p := v.cfg.Priority
	if p == nil {
		return
	}
	if p.Header == "" {
		v.add("priority.header", "is required", `name the header, like "x-dynamo-request-priority"`)
	}
	v.header("priority.header", p.Header, false)
	if endpoint != "" && strings.EqualFold(p.Header, endpoint) {
		v.add("priority.header", "is the endpoint header, which is removed from requests", "use another header")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Classes)) {
		at := join("priority.classes", name)
		if _, err := strconv.ParseInt(name, 10, 64); err == nil || strings.TrimSpace(name) != name || name == "" {
			v.add(at, strconv.Quote(name)+" is no name of a class", "use a word")
		}
		if n := p.Classes[name]; n < -MaxPriority || n > MaxPriority {
			v.add(at, strconv.FormatInt(n, 10)+" is out of range", fmt.Sprintf("use -%d to %d", MaxPriority, MaxPriority))
		}
	}
}

// header checks the name of a header that somebody else defines. One that is not set
// is the default.
func (v *validator) header(at, name string, ours bool) {
	switch {
	case name == "":
	case !headerName(name):
		v.add(at, strconv.Quote(name)+" is not a header name", "use letters, digits and hyphens")
	case !ours && strings.HasPrefix(strings.ToLower(name), ownPrefix):
		v.add(at, strconv.Quote(name)+" is one of the router's own", "use another header")
	case strings.EqualFold(name, "host") || strings.EqualFold(name, "content-length"):
		v.add(at, strconv.Quote(name)+" has a meaning of its own", "use another header")
	}
}
