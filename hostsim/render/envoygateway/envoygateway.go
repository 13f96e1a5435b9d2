package envoygateway

import (
	"embed"
	"fmt"
	"slices"

	"github.com/pointsman/pointsman/core/flow"
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
	Name    string
	Type    string // STATIC or STRICT_DNS
	Address render.Address
}

// Render gives the manifests for a configuration.
func Render(in *render.Input) ([]render.File, error) {
	m, err := read(in)
	if err != nil {
		return nil, err
	}
	var files []render.File
	for _, name := range []string{"gateway.yaml", "route.yaml", "policies.yaml", "patches.yaml"} {
		source, err := templates.ReadFile(name)
		if err != nil {
			return nil, err
		}
		text, err := render.Template(string(source), m)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		documents, err := render.Documents(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, d := range documents {
			if err := Check(d); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		files = append(files, render.File{Name: name, Text: text})
	}
	return files, nil
}

// labels are the labels of the filter's metrics, sorted.
func labels() []string {
	var names []string
	for _, f := range flow.Metrics() {
		if f.Label != "" {
			names = append(names, f.Label)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
