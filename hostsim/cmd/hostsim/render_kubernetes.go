package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/kubernetes"
	"github.com/pointsman/pointsman/statesvc/config"
)

type renderKubernetesCmd struct {
	renderFlags
	Statesvc   string `help:"The state service's configuration (default: one that follows EndpointSlices with the label app=engine)." placeholder:"FILE"`
	Namespace  string `default:"pointsman" help:"Where the state service runs (default ${default})." placeholder:"NAME"`
	Image      string `help:"The state service's image, built from configs/kubernetes/Containerfile; needed." placeholder:"IMAGE"`
	EnginePods string `default:"app=engine" help:"A label of the engines' pods, for the NetworkPolicy (default ${default})." placeholder:"KEY=VALUE"`
}

// Help says what comes out, with examples.
func (renderKubernetesCmd) Help() string {
	return `The result runs two replicas of the state service for proxies inside and outside of the cluster, and holds the filter's
configuration as a ConfigMap: ServiceAccount, RBAC where it reads EndpointSlices, ConfigMaps, Deployment, Service,
PodDisruptionBudget and NetworkPolicy. The state service must know all that the filter's configuration asks it for;
what it does not is refused. docs/kubernetes.md goes through it.

Examples:
  hostsim render kubernetes --config filter.json --image registry.example/pointsman/statesvc:1.0 | kubectl apply -f -
  hostsim render kubernetes --config filter.json --image registry.example/pointsman/statesvc:1.0 \
    --namespace inference --engine-pods app=vllm -o manifests
  hostsim render kubernetes --config filter.json --image registry.example/pointsman/statesvc:1.0 --statesvc statesvc.yaml -o manifests`
}

// Run renders the state service's manifests.
func (c *renderKubernetesCmd) Run(con console) error {
	o := kubernetes.Options{Image: c.Image, EnginePods: c.EnginePods}
	if c.Statesvc != "" {
		text, err := os.ReadFile(c.Statesvc)
		if err != nil {
			return fmt.Errorf("read the state service's configuration: %w", err)
		}
		if o.Statesvc, err = deployed(text); err != nil {
			return fmt.Errorf("--statesvc %s: %w", c.Statesvc, err)
		}
	}
	target := func(in *render.Input) ([]render.File, error) { return kubernetes.Render(in, o) }
	return c.run(con, target, render.Options{Namespace: c.Namespace})
}

// graceMargin is how many seconds a pod has beyond what its service needs to stop.
const graceMargin = 15

// deployed reads a state service's configuration for what its manifests depend on.
func deployed(text []byte) (*kubernetes.Statesvc, error) {
	// Tokens are in the cluster, not here: each variable stands for its own.
	cfg, err := config.Parse(text, func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	d := cfg.Discovery
	listen, err := render.ParseAddress(cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: %s %w; write 0.0.0.0:9090", cfg.Listen, err)
	}
	s := &kubernetes.Statesvc{
		Text: text, Port: listen.Port, Loopback: cfg.Loopback(),
		GraceSeconds: int64((cfg.Shutdown.DrainMillis+cfg.Shutdown.TimeoutMillis)/1000) + graceMargin,
		CertFile:     cfg.TLS.CertFile, KeyFile: cfg.TLS.KeyFile, TokenEnv: cfg.TokenEnv,
		Kubernetes: d.Kubernetes.Enabled, EngineNamespace: d.Kubernetes.Namespace, Kubeconfig: d.Kubernetes.Kubeconfig,
		Addresses: len(cfg.Fleet.Static) > 0 || len(d.DNS.Names) > 0 || d.HTTP.Enabled || d.File.Path != "",
		Files:     map[string]string{}, StateFile: d.HTTP.StateFile,
	}
	for _, env := range []string{cfg.TokenEnv, d.HTTP.TokenEnv} {
		if env != "" && !slices.Contains(s.Secrets, env) {
			s.Secrets = append(s.Secrets, env)
		}
	}
	if d.File.Path != "" {
		s.Files["discovery.file.path"] = d.File.Path
	}
	for model, m := range cfg.Tokenize.Models {
		if m.Dir != "" {
			s.Files["tokenize.models."+model+".dir"] = m.Dir
		}
	}
	return s, nil
}
