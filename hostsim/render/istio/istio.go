package istio

import (
	_ "embed"

	"github.com/pointsman/pointsman/hostsim/render"
)

//go:embed istio.yaml.tmpl
var source string

//go:embed plugin.yaml.tmpl
var pluginSource string

// File is the name of the rendered manifests.
const File = "istio.yaml"

// label is one of a selector.
type label struct{ Key, Value string }

// manifests are what the template shows.
type manifests struct {
	Namespace     string
	Selector      []label // sorted
	Listen        render.Address
	Bind          string // IP address, empty for all
	HeaderOnly    bool
	SeveralModels bool
	Retry         bool
	Header        string // that names the engine
	Filter        string // the configuration, with Istio's names of clusters
	TokenEnv      string
	Wasm          render.Wasm
	URL           string // of the module; a file's where there is a path
	Plugin        string // the extension, for full mode
	BufferLimit   uint64 // bytes
	Engines       service
	State         *service // nil without a state service
}

// service is a destination as Istio knows it.
type service struct {
	Name       string // of the ServiceEntry
	Namespace  string
	Host       string
	Port       uint16
	Entry      bool // needs a ServiceEntry
	Resolution string
	Endpoints  []render.Address
	CallStream bool // carries the stream of state.call_stream, which needs HTTP/2
}

// cluster is Istio's name of the destination in the proxy.
func (s *service) cluster() string {
	return "outbound|" + s.port() + "||" + s.Host
}

// Render gives the manifests for a configuration.
func Render(in *render.Input) ([]render.File, error) {
	m, err := read(in)
	if err != nil {
		return nil, err
	}
	if !m.HeaderOnly {
		plugin, err := render.Template(pluginSource, m)
		if err != nil {
			return nil, err
		}
		m.Plugin = string(plugin)
	}
	text, err := render.Template(source, m)
	if err != nil {
		return nil, err
	}
	if err := Check(text); err != nil {
		return nil, err
	}
	return []render.File{{Name: File, Text: text}}, nil
}
