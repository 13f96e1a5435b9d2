package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

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
	// Selector are the labels of the pods of an existing gateway.
	Selector map[string]string
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
	if text, err = tidied(text); err != nil {
		return nil, err
	}
	return &Input{Filter: spec.Defaults(cfg), Text: text, Options: o}, nil
}

// tidied is a configuration as YAML can hold it: tabs do not indent there, and
// escapes are others in part.
func tidied(text []byte) ([]byte, error) {
	var out bytes.Buffer
	switch {
	case bytes.ContainsRune(text, '\\'):
		var doc any
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&doc); err != nil {
			return nil, fmt.Errorf("read the configuration: %w", err)
		}
		plain, err := marshal(doc)
		if err != nil {
			return nil, err
		}
		err = json.Indent(&out, plain, "", "  ")
		return out.Bytes(), err
	case bytes.ContainsAny(text, "\t\r"):
		err := json.Indent(&out, bytes.TrimSpace(text), "", "  ")
		return out.Bytes(), err
	}
	return bytes.TrimSpace(text), nil
}

// StateAddress is where the state service is. Without one, and where there is no
// address for it, which is refused, the second result is false.
func (in *Input) StateAddress(refused *Refusals) (Address, bool) {
	s, flag := in.Filter.State, in.Options.State
	switch {
	case s == nil && flag == "":
		return Address{}, false
	case s == nil:
		refused.Add("--state", `"state": {"cluster": "pointsman_state"} in the configuration, or no --state`, "the configuration has no state service")
		return Address{}, false
	case flag == "":
		refused.Add("state.cluster", "--state HOST:PORT", "nothing says where the state service is")
		return Address{}, false
	}
	return ReadAddress("--state", flag, refused)
}

// EngineList are the engines that the proxy itself is to know: those of the options,
// else the static workers of the configuration.
func (in *Input) EngineList(refused *Refusals) []Address {
	texts, flag := in.Options.Engines, "--engine"
	if len(texts) == 0 {
		flag = "workers"
		for _, w := range in.Filter.Workers {
			texts = append(texts, w.Address)
		}
	}
	var list []Address
	for _, text := range texts {
		at, ok := ReadAddress(flag, text, refused)
		if slices.Contains(list, at) {
			refused.Add(flag, "each engine once", "%s stands twice", text)
		} else if ok {
			list = append(list, at)
		}
	}
	return list
}

// StateCluster gives the text with the state service's cluster replaced. The
// authority of calls is set beside it where the configuration has none: it would be
// the cluster's name, and servers refuse the names that some targets give.
func (in *Input) StateCluster(cluster, authority string) ([]byte, error) {
	name, err := marshal(cluster)
	if err != nil {
		return nil, err
	}
	host, err := marshal(authority)
	if err != nil {
		return nil, err
	}
	if !gjson.GetBytes(in.Text, "state.authority").Exists() {
		name = fmt.Appendf(name, `, "authority": %s`, host)
	}
	return replace(in.Text, "state.cluster", name)
}

// With gives a configuration's text with the string at a path, like abort.cluster,
// replaced; all else stays as it was written.
func With(text []byte, path, value string) ([]byte, error) {
	quoted, err := marshal(value)
	if err != nil {
		return nil, err
	}
	return replace(text, path, quoted)
}

// replace puts other JSON where a string is.
func replace(text []byte, path string, by []byte) ([]byte, error) {
	found := gjson.GetBytes(text, path)
	if found.Type != gjson.String || found.Index == 0 {
		return nil, fmt.Errorf("the configuration has no text at %s", path)
	}
	return slices.Concat(text[:found.Index], by, text[found.Index+len(found.Raw):]), nil
}
