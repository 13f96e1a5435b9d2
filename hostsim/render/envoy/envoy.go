package envoy

import (
	_ "embed"
	"fmt"
	"slices"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/render"
)

//go:embed bootstrap.yaml.tmpl
var source string

// File is the name of the rendered bootstrap.
const File = "envoy.yaml"

// bootstrap is what the template shows.
type bootstrap struct {
	Version        string // the oldest Envoy it is for
	OriginalDst    bool
	Listen, Admin  render.Address
	Filter         string // the configuration as it was written
	Wasm           string
	TokenEnv       string
	Labels         []string // of the filter's metrics
	Paths          []string // that the filter routes
	BufferLimit    uint64   // bytes
	StreamIdle     uint64   // seconds
	RequestTimeout uint64   // seconds
	RouteLimit     bool
	Retry          bool
	State          *cluster // nil without a state service
	Cluster        string   // of the engines
	Header         string   // that names the engine
	Engines        cluster  // override_host: the engines; original_dst: for paths that are not routed
}

// cluster is one whose endpoints are known.
type cluster struct {
	Name       string
	Type       string // STATIC or STRICT_DNS
	Endpoints  []render.Address
	CallStream bool // carries the stream of state.call_stream, which needs HTTP/2
}

// Render gives the bootstrap for a configuration.
func Render(in *render.Input) ([]render.File, error) {
	b, err := read(in)
	if err != nil {
		return nil, err
	}
	text, err := render.Template(source, b)
	if err != nil {
		return nil, err
	}
	documents, err := render.Documents(text)
	if err != nil {
		return nil, err
	}
	if len(documents) != 1 {
		return nil, fmt.Errorf("the bootstrap has %d documents", len(documents))
	}
	if err := Check(documents[0], &bootstrapv3.Bootstrap{}); err != nil {
		return nil, err
	}
	return []render.File{{Name: File, Text: text}}, nil
}

// Margins over what the filter itself allows, and the least of each.
const (
	bufferMargin = 1 << 20 // for what the filter adds to a body
	streamIdle   = 900     // seconds an engine may be silent before its first token
	requestTime  = 120     // seconds
	timeMargin   = 60      // seconds that Envoy's own time-outs come after the filter's
)

// limits are the settings of Envoy that have to be above those of the filter.
func (b *bootstrap) limits(c *spec.Config) {
	body := (*c.BodyTimeoutMillis + 999) / 1000
	b.BufferLimit = *c.MaxBodyBytes + bufferMargin
	b.RequestTimeout = max(requestTime, body+timeMargin)
	b.StreamIdle = max(streamIdle, body+timeMargin)
}

// typeOf says how Envoy finds endpoints.
func typeOf(endpoints []render.Address) string {
	if slices.ContainsFunc(endpoints, func(a render.Address) bool { return !a.Literal() }) {
		return "STRICT_DNS"
	}
	return "STATIC"
}
