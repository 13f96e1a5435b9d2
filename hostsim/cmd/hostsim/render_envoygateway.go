package main

import (
	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/envoygateway"
)

type renderEnvoyGatewayCmd struct {
	renderFlags
	Namespace     string   `default:"pointsman" help:"Where everything is (default ${default})." placeholder:"NAME"`
	WasmURL       string   `help:"Where Envoy Gateway fetches the filter: oci://, https:// or http://; needed." placeholder:"URL"`
	WasmSHA256    string   `name:"wasm-sha256" help:"The sum of the module behind a URL that is not oci://, for which it is needed." placeholder:"HEX"`
	State         string   `help:"The state service (default: the Service of hostsim render kubernetes in the namespace)." placeholder:"HOST:PORT"`
	EngineService string   `help:"The Service of the engines, in the namespace; this or --engine is needed." placeholder:"NAME:PORT"`
	Engine        []string `help:"An engine outside of the cluster, repeated for each, instead of --engine-service." placeholder:"IP:PORT"`
}

// Help says what comes out, with examples.
func (renderEnvoyGatewayCmd) Help() string {
	return `The result is a gateway of its own for Envoy Gateway 1.9 or later, whose configuration must allow EnvoyPatchPolicies and
Backends: GatewayClass, EnvoyProxy, Gateway, HTTPRoute and the policies that put the filter in. Envoy Gateway fetches the
module itself; docs/envoy-gateway.md goes through it.

Examples:
  hostsim render envoy-gateway --config filter.json --engine-service engines:8000 \
    --wasm-url https://downloads.example/filter.wasm --wasm-sha256 "$(sha256sum dist/filter.wasm | cut -d' ' -f1)" -o manifests
  hostsim render envoy-gateway --config filter.json --engine 10.0.0.7:8000 --engine 10.0.0.8:8000 --state 10.0.0.5:9090 \
    --namespace inference --wasm-url oci://registry.example/pointsman:1.0 | kubectl apply -f -`
}

// Run renders manifests for Envoy Gateway.
func (c *renderEnvoyGatewayCmd) Run(con console) error {
	return c.run(con, envoygateway.Render, render.Options{
		Namespace: c.Namespace, State: c.State, Engines: c.Engine, EngineService: c.EngineService,
		Wasm: render.Wasm{URL: c.WasmURL, SHA256: c.WasmSHA256},
	})
}
