package envoygateway

import (
	"embed"

	"github.com/pointsman/pointsman/hostsim/render"
)

//go:embed *.yaml
var templates embed.FS

// manifests is what the templates show.
type manifests struct {
	Namespace      string
	Port           uint16 // of the Gateway's listener
	Labels         []string
	TokenEnv       string
	Engines        []render.Address // of a Backend; none where Service is
	Service        render.Address   // the engines' Service: its name and port
	Image, Digest  string           // an OCI image and the sum of its manifest
	URL, SHA256    string           // a module and its sum
	Filter         string
	Header         string // that names the engine
	BufferLimit    uint64 // bytes
	StreamIdle     uint64 // seconds
	RequestTimeout uint64 // seconds
	Retry          bool
	Listener       string
	EngineCluster  string
	State          *state
}

// state is the cluster of the state service.
type state struct {
	Name       string
	Type       string // STATIC or STRICT_DNS
	Address    render.Address
	CallStream bool // carries the stream of state.call_stream, which needs HTTP/2
}

// Render gives the manifests for a configuration.
func Render(in *render.Input) ([]render.File, error) {
	m, err := read(in)
	if err != nil {
		return nil, err
	}
	return render.Fill(templates, []string{"gateway.yaml", "route.yaml", "policies.yaml", "patches.yaml"}, m, Check)
}
