package main

import (
	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/envoygateway"
)

type renderEnvoyGatewayCmd struct {
	renderFlags
	Namespace     string   `default:"pointsman" help:"Where everything is." placeholder:"NAME"`
	WasmURL       string   `help:"Where Envoy Gateway fetches the filter: oci://, https:// or http://." placeholder:"URL"`
	WasmSHA256    string   `name:"wasm-sha256" help:"The sum of filter.wasm behind an http URL." placeholder:"HEX"`
	State         string   `help:"The state service. Default: the Service of hostsim render kubernetes." placeholder:"HOST:PORT"`
	EngineService string   `help:"The Service of the engines, in the namespace." placeholder:"NAME:PORT"`
	Engine        []string `help:"An engine outside of the cluster, repeated for each, instead of --engine-service." placeholder:"IP:PORT"`
}

// Run renders manifests for Envoy Gateway.
func (c *renderEnvoyGatewayCmd) Run(con console) error {
	return c.run(con, envoygateway.Render, render.Options{
		Namespace: c.Namespace, State: c.State, Engines: c.Engine, EngineService: c.EngineService,
		Wasm: render.Wasm{URL: c.WasmURL, SHA256: c.WasmSHA256},
	})
}
