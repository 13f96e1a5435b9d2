package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/envoy"
	"github.com/pointsman/pointsman/hostsim/render/istio"
)

type renderCmd struct {
	Envoy        renderEnvoyCmd        `cmd:"" help:"A complete bootstrap for Envoy."`
	Istio        renderIstioCmd        `cmd:"" help:"Manifests for an Istio gateway."`
	Kubernetes   renderKubernetesCmd   `cmd:"" help:"The state service for a Kubernetes cluster."`
	EnvoyGateway renderEnvoyGatewayCmd `cmd:"" help:"Manifests for Envoy Gateway."`
}

// Help says where output goes, with examples.
func (renderCmd) Help() string {
	return `Manifests go to stdout, or to files in the folder of -o. Every manifest is checked against the types of the API that it
is for before it is printed. Exit code 1 means that the target cannot express what is asked for: every refusal is a line
on stderr with its path, the reason and what to use instead, and nothing is written.

Examples:
  hostsim render envoy --config filter.json --state 10.0.0.5:9090 --engine 10.0.0.7:8000 --engine 10.0.0.8:8000
  hostsim render envoy --config filter.json --state statesvc:9090 --engine 10.0.0.7:8000 -o manifests --envoy-version 1.40
  hostsim render istio --config filter.json --state statesvc.llm.svc:9090 --engine engines.llm.svc:8000 --wasm /var/lib/pointsman/filter.wasm
  hostsim render envoy-gateway --config filter.json --engine-service engines:8000 --wasm-url oci://registry.example/pointsman:1.0 -o manifests
  hostsim render kubernetes --config filter.json --image registry.example/pointsman/statesvc:1.0 -o manifests`
}

// renderFlags are the flags of every target.
type renderFlags struct {
	Config string `required:"" help:"The filter configuration." placeholder:"FILE"`
	Output string `short:"o" help:"Write files into this folder, which is made if need be, instead of to stdout." placeholder:"DIR"`
}

// target renders one kind of manifests.
type target func(*render.Input) ([]render.File, error)

// run renders a target and writes what it gives.
func (f *renderFlags) run(con console, t target, o render.Options) error {
	text, err := os.ReadFile(f.Config)
	if err != nil {
		return fmt.Errorf("read the filter configuration: %w", err)
	}
	in, err := render.Read(text, o)
	if err != nil {
		return err
	}
	files, err := t(in)
	if refusals, ok := errors.AsType[render.Refusals](err); ok {
		for _, r := range refusals {
			fmt.Fprintf(con.err, "refused: %s\n", r)
		}
		return fmt.Errorf("not rendered, refusals: %d", len(refusals))
	}
	if err != nil {
		return err
	}
	return f.write(con, files)
}

// write puts the files where they are asked for.
func (f *renderFlags) write(con console, files []render.File) error {
	for i, file := range files {
		if f.Output == "" {
			if len(files) > 1 {
				separator := "---\n"
				if i == 0 {
					separator = ""
				}
				fmt.Fprintf(con.out, "%s# File: %s\n", separator, file.Name)
			}
			if _, err := con.out.Write(file.Text); err != nil {
				return err
			}
			continue
		}
		path := filepath.Join(f.Output, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, file.Text, 0o644); err != nil {
			return err
		}
		fmt.Fprintln(con.err, path)
	}
	return nil
}

type renderEnvoyCmd struct {
	renderFlags
	Listen       string   `default:"127.0.0.1:8080" help:"Where clients send to (default ${default})." placeholder:"IP:PORT"`
	Admin        string   `default:"127.0.0.1:9901" help:"Where Envoy's administration page is (default ${default})." placeholder:"IP:PORT"`
	State        string   `help:"The state service; needed where the configuration has one." placeholder:"HOST:PORT"`
	Engine       []string `help:"An engine, repeated for each. Needed with endpoint_mode override_host, unless the configuration has workers." placeholder:"HOST:PORT"`
	Wasm         string   `default:"/etc/envoy/filter.wasm" help:"The filter's file where Envoy runs (default ${default})." placeholder:"PATH"`
	EnvoyVersion string   `help:"The oldest Envoy that is to run it, like 1.40 (default: the oldest that can, 1.36)." placeholder:"VERSION"`
}

// Help gives examples.
func (renderEnvoyCmd) Help() string {
	return `The result is complete: envoy -c FILE runs it. Where the configuration names a token_env, Envoy's environment must have it.

Examples:
  hostsim render envoy --config filter.json --state 10.0.0.5:9090 --engine 10.0.0.7:8000 --engine 10.0.0.8:8000 > envoy.yaml
  hostsim render envoy --config filter.json --state statesvc:9090 --engine 10.0.0.7:8000 --listen 0.0.0.0:8080 --envoy-version 1.40 -o manifests`
}

// Run renders a bootstrap.
func (c *renderEnvoyCmd) Run(con console) error {
	return c.run(con, envoy.Render, render.Options{
		Listen: c.Listen, Admin: c.Admin, State: c.State, Engines: c.Engine,
		Wasm: render.Wasm{Path: c.Wasm}, EnvoyVersion: c.EnvoyVersion,
	})
}

type renderIstioCmd struct {
	renderFlags
	Listen     string            `default:"0.0.0.0:80" help:"Where the gateway's pods listen (default ${default})." placeholder:"IP:PORT"`
	State      string            `help:"The state service; needed where the configuration has one. NAME.NAMESPACE.svc is a Kubernetes Service." placeholder:"HOST:PORT"`
	Engine     []string          `help:"A Kubernetes Service of engines, NAME.NAMESPACE.svc:PORT, or one engine, repeated for each. Needed unless the configuration has workers." placeholder:"HOST:PORT"`
	Wasm       string            `help:"The filter's file in the proxy's container, from its root." placeholder:"PATH" xor:"wasm"`
	WasmURL    string            `name:"wasm-url" help:"Where to fetch the filter instead: oci://, https:// or http://." placeholder:"URL" xor:"wasm"`
	WasmSHA256 string            `name:"wasm-sha256" help:"The sum of what is behind --wasm-url; needed but with --header-only and oci://." placeholder:"HEX"`
	Namespace  string            `default:"istio-system" help:"The namespace of the gateway's pods (default ${default})." placeholder:"NAME"`
	Selector   map[string]string `default:"istio=ingressgateway" help:"A label of the gateway's pods (default ${default})." placeholder:"KEY=VALUE"`
	HeaderOnly bool              `help:"Route by headers, with a plain WasmPlugin."`
}

// Help gives examples.
func (renderIstioCmd) Help() string {
	return `Requests are routed by their bodies, for which an EnvoyFilter puts the filter in; it comes from a file in the proxy's
container, or the agent beside the proxy fetches it. With --header-only a plain WasmPlugin is enough, and what needs the
prompt is refused. The configuration's names of clusters become Istio's.

Examples:
  hostsim render istio --config filter.json --state statesvc.llm.svc:9090 --engine engines.llm.svc:8000 \
    --wasm-url https://downloads.example/filter.wasm --wasm-sha256 "$(sha256sum dist/filter.wasm | cut -d' ' -f1)" > istio.yaml
  hostsim render istio --config filter.json --state 10.0.0.5:9090 --engine 10.0.0.7:8000 --engine 10.0.0.8:8000 \
    --wasm /var/lib/pointsman/filter.wasm --namespace edge --selector app=edge -o manifests
  hostsim render istio --header-only --config filter.json --state statesvc.llm.svc:9090 --engine engines.llm.svc:8000 \
    --wasm-url oci://registry.example/pointsman:1.0`
}

// Run renders manifests.
func (c *renderIstioCmd) Run(con console) error {
	return c.run(con, istio.Render, render.Options{
		Listen: c.Listen, State: c.State, Engines: c.Engine, Wasm: render.Wasm{Path: c.Wasm, URL: c.WasmURL, SHA256: c.WasmSHA256},
		Namespace: c.Namespace, Selector: c.Selector, HeaderOnly: c.HeaderOnly,
	})
}
