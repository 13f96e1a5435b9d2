package kube

import (
	"log/slog"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
)

// Open makes a watcher of the configuration's slices. Nothing is asked before Start.
func Open(cfg *config.Config, sink claims.Sink, log *slog.Logger) (*Watcher, error) {
	k := cfg.Discovery.Kubernetes
	slices, err := Connect(k.Kubeconfig, k.Namespace)
	if err != nil {
		return nil, err
	}
	return New(Options{Config: k, MaxStringBytes: cfg.Limits.MaxStringBytes, Slices: slices, Sink: sink, Logger: log})
}

// Check names what Open would refuse wherever it runs: whether the service account of a
// pod is there is seen only in the pod.
func Check(cfg *config.Config) (problems config.Problems) {
	k := cfg.Discovery.Kubernetes
	if !k.Enabled {
		return nil
	}
	if _, err := Selector(k); err != nil {
		problems = append(problems, config.Problem{Path: "discovery.kubernetes.selector", Reason: err.Error()})
	}
	if k.Kubeconfig != "" {
		if _, err := clientConfig(k.Kubeconfig); err != nil {
			problems = append(problems, config.Problem{Path: "discovery.kubernetes.kubeconfig", Reason: err.Error()})
		}
	}
	return problems
}
