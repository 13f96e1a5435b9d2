package envoy

import (
	"fmt"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/render"
)

// Cluster names.
const (
	engines    = "engines"     // unless the configuration names one, for aborts
	enginesAny = "engines_any" // for paths that the filter does not route
)

// read turns an input into what the template shows, or refuses it.
func read(in *render.Input) (*bootstrap, error) {
	var refused render.Refusals
	c, o := in.Filter, in.Options
	b := &bootstrap{
		Filter: string(in.Text), Wasm: o.Wasm.Path, Labels: render.Labels(), Paths: c.Paths, Retry: c.TransportRetry,
		OriginalDst: c.EndpointMode == spec.EndpointOriginalDst, Cluster: engines,
		Header: c.EndpointHeader,
	}
	if c.Abort != nil {
		b.Cluster = c.Abort.Cluster
	}
	b.limits(c)
	b.version(o.EnvoyVersion, &refused)
	b.Listen, _ = render.ReadListen("--listen", o.Listen, &refused)
	b.Admin, _ = render.ReadListen("--admin", o.Admin, &refused)
	if b.Wasm == "" {
		refused.Add("--wasm", "--wasm /etc/envoy/filter.wasm", "is empty")
	}
	b.state(in, &refused)
	b.engines(in, &refused)
	b.names(&refused)
	return b, refused.Err()
}

func (b *bootstrap) version(text string, refused *render.Refusals) {
	minor, ok := usual, true
	if text != "" {
		minor, ok = Minor(text)
	}
	switch {
	case !ok:
		refused.Add("--envoy-version", "a version like 1.36 or 1.40.0", "%q is no version of Envoy 1", text)
	case minor < Floor:
		refused.Add("--envoy-version", fmt.Sprintf("1.%d or later", Floor), "Envoy %s cannot hold a request's headers until its body is known: allow_on_headers_stop_iteration came with 1.%d", text, Floor)
	}
	b.Version, b.RouteLimit = fmt.Sprintf("1.%d", minor), minor >= routeLimits
}

// state finds the state service.
func (b *bootstrap) state(in *render.Input, refused *render.Refusals) {
	if at, ok := in.StateAddress(refused); ok {
		list := []render.Address{at}
		s := in.Filter.State
		b.TokenEnv = s.TokenEnv
		b.State = &cluster{Name: s.Cluster, Type: typeOf(list), Endpoints: list, CallStream: s.CallStream}
	}
}

// engines finds the engines that Envoy itself is to know.
func (b *bootstrap) engines(in *render.Input, refused *render.Refusals) {
	list := in.EngineList(refused)
	b.Engines = cluster{Name: b.Cluster, Type: typeOf(list), Endpoints: list}
	switch {
	case b.OriginalDst:
		b.Engines.Name = enginesAny
	case len(in.Options.Engines) == 0 && len(in.Filter.Workers) == 0:
		refused.Add("endpoint_mode", `--engine HOST:PORT for each engine, or "endpoint_mode": "original_dst"`, "is %s: Envoy takes only engines that it knows, and none is given", spec.EndpointOverrideHost)
	}
}

// names refuses clusters of one name.
func (b *bootstrap) names(refused *render.Refusals) {
	const taken = "%q is what the bootstrap calls its engines"
	if b.Cluster == enginesAny {
		refused.Add("abort.cluster", "another name", taken, b.Cluster)
	}
	switch {
	case b.State == nil:
	case b.State.Name == engines || b.State.Name == enginesAny:
		refused.Add("state.cluster", "another name", taken, b.State.Name)
	case b.State.Name == b.Cluster:
		refused.Add("abort.cluster", `"abort": {"cluster": "engines"}`, "%q is the state service's cluster", b.Cluster)
	}
}
