package doctor

import "github.com/pointsman/pointsman/hostsim/doctor/tree"

// bootstrap reads a bootstrap.
func (m *model) bootstrap(at tree.At) {
	e := envoyReader{proxy: &proxy{title: "Envoy bootstrap", at: at, host: hostEnvoy}}
	static := at.Get("static_resources")
	for _, c := range static.Get("clusters").Items() {
		e.addCluster(c)
	}
	for _, l := range static.Get("listeners").Items() {
		e.addListener(l)
	}
	e.proxy.complete = !at.Get("dynamic_resources").Exists()
	m.proxies = append(m.proxies, e.finish())
	m.filters = append(m.filters, e.filters...)
}

// resources reads the resources of a file that Envoy watches (lds.yaml and its like).
func (m *model) resources(at tree.At) {
	e := envoyReader{proxy: &proxy{title: "Envoy resources", at: at, host: hostEnvoy}}
	for _, r := range at.Get("resources").Items() {
		e.resource(r)
	}
	m.proxies = append(m.proxies, e.finish())
	m.filters = append(m.filters, e.filters...)
}

// dump reads the answer of /config_dump.
func (m *model) dump(at tree.At) {
	e := envoyReader{proxy: &proxy{title: "Envoy configuration dump", at: at, host: hostEnvoy}}
	for _, c := range at.Get("configs").Items() {
		e.section(c)
	}
	m.proxies = append(m.proxies, e.finish())
	m.filters = append(m.filters, e.filters...)
}

// section reads one section of a dump. Sections hold resources in lists of wrappers
// that are named by their state.
func (e *envoyReader) section(at tree.At) {
	kind, _ := messageOf(at)
	switch kind {
	case "BootstrapConfigDump":
		e.proxy.version = nodeVersion(at.Get("bootstrap", "node"))
		if at.Get("bootstrap", "node", "metadata", "ISTIO_VERSION").Exists() {
			e.proxy.host = hostIstio
			e.proxy.istio = istioVersion(at.Get("bootstrap", "node"))
		}
	case "ClustersConfigDump":
		e.proxy.complete = true
		e.each(at, "cluster", "static_clusters", "dynamic_active_clusters")
	case "ListenersConfigDump":
		e.each(at, "listener", "static_listeners")
		for _, l := range at.Get("dynamic_listeners").Items() {
			e.resource(l.Get("active_state", "listener"))
		}
	case "RoutesConfigDump":
		e.each(at, "route_config", "static_route_configs", "dynamic_route_configs")
	case "EcdsConfigDump":
		e.each(at, "ecds_filter", "ecds_filters")
	default:
		e.resource(at) // a dump of one resource has it bare
	}
}

func (e *envoyReader) each(at tree.At, inner string, lists ...string) {
	for _, list := range lists {
		for _, item := range at.Get(list).Items() {
			e.resource(item.Get(inner))
		}
	}
}
