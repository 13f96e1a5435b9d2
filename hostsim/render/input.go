package render

import (
	"bytes"
	"fmt"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/tidwall/gjson"
)

// Input is what manifests are rendered from.
type Input struct {
	// Filter is the filter configuration with its defaults.
	Filter *spec.Config
	// Text is the same configuration as it was written, without white space around
	// it. Manifests carry it so, since a person wrote it.
	Text []byte
	// Options are what the configuration does not say.
	Options Options
}

// Options are what a filter configuration does not say. Empty values are not set;
// a target has defaults of its own for some and refuses the lack of others.
type Options struct {
	// Listen is where clients send to, ip:port.
	Listen string
	// Admin is where the proxy's administration page is, ip:port.
	Admin string
	// State is where the state service is, host:port.
	State string
	// Engines are the engines that the proxy itself is to know, host:port. Targets
	// with endpoint mode original_dst need none.
	Engines []string
	// EngineService is the Kubernetes Service of the engines, name:port, for targets
	// that follow its endpoints.
	EngineService string
	// Wasm says where the filter is.
	Wasm Wasm
	// EnvoyVersion is the oldest Envoy that runs the result, like 1.36 or 1.40.0.
	// Not set: the oldest that the result can be for.
	EnvoyVersion string
	// Namespace is the Kubernetes namespace of everything.
	Namespace string
	// HeaderOnly asks for manifests without the header-pause flag: requests are then
	// routed by their headers, bodies are never seen.
	HeaderOnly bool
}

// Wasm says where a proxy finds filter.wasm.
type Wasm struct {
	// Path is a file where the proxy runs.
	Path string
	// URL is where to fetch it: oci://, https:// or http://.
	URL string
	// SHA256 is the sum of the module behind URL, 64 hexadecimal digits.
	SHA256 string
}

// Read decodes a filter configuration. Its error is of type spec.Problems.
func Read(text []byte, o Options) (*Input, error) {
	cfg, err := spec.Decode(text)
	if err != nil {
		return nil, err
	}
	return &Input{Filter: spec.Defaults(cfg), Text: bytes.TrimSpace(text), Options: o}, nil
}

// With gives the configuration's text with the string at a path, like
// state.cluster, replaced; all else stays as it was written. A path that is not
// there is an error.
func With(text []byte, path, value string) ([]byte, error) {
	found := gjson.GetBytes(text, path)
	if found.Type != gjson.String || found.Index == 0 {
		return nil, fmt.Errorf("the configuration has no text at %s", path)
	}
	quoted, err := marshal(value)
	if err != nil {
		return nil, err
	}
	end := found.Index + len(found.Raw)
	return append(append(bytes.Clone(text[:found.Index]), quoted...), text[end:]...), nil
}
