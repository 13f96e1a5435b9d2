package doctor

import (
	"net"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// envoyReader makes a proxy of Envoy's resources, in whatever order they come.
type envoyReader struct {
	proxy      *proxy
	filters    []*filterConfig
	tables     map[string]tree.At // route configurations by name
	extensions map[string]tree.At // filters that are discovered, by name
	waiting    []waiting
}

// waiting is a filter whose configuration is discovered.
type waiting struct {
	filter *filter
	name   string
}

// resource reads one resource with its type.
func (e *envoyReader) resource(at tree.At) {
	switch kind, _ := messageOf(at); kind {
	case "Listener":
		e.addListener(at)
	case "Cluster":
		e.addCluster(at)
	case "RouteConfiguration":
		e.addTable(at)
	case "TypedExtensionConfig":
		e.addExtension(at)
	}
}

func (e *envoyReader) addCluster(at tree.At) {
	e.proxy.clusters = append(e.proxy.clusters, readCluster(at, e.proxy.defaults()))
}

func (e *envoyReader) addTable(at tree.At) {
	if e.tables == nil {
		e.tables = map[string]tree.At{}
	}
	e.tables[at.Get("name").Text()] = at
}

func (e *envoyReader) addExtension(at tree.At) {
	if e.extensions == nil {
		e.extensions = map[string]tree.At{}
	}
	e.extensions[at.Get("name").Text()] = at.Get("typed_config")
}

func (e *envoyReader) addListener(at tree.At) {
	l := &listener{
		name: at.Get("name").Text(), at: at,
		address: addressOf(at.Get("address")),
		buffer:  numberAt(at.Get("per_connection_buffer_limit_bytes"), e.proxy.defaults().buffer),
	}
	chains := at.Get("filter_chains").Items()
	if d := at.Get("default_filter_chain"); d.Exists() {
		chains = append(chains, d)
	}
	for _, c := range chains {
		for _, f := range c.Get("filters").Items() {
			if kind, body := messageOf(f.Get("typed_config")); kind == "HttpConnectionManager" {
				l.chains = append(l.chains, e.chain(l, body))
			}
		}
	}
	e.proxy.listeners = append(e.proxy.listeners, l)
}

// chain reads an HTTP connection manager.
func (e *envoyReader) chain(l *listener, at tree.At) *chain {
	d := e.proxy.defaults()
	c := &chain{
		listener: l, at: at,
		idle:      spanAt(at.Get("stream_idle_timeout"), d.idle),
		request:   spanAt(at.Get("request_timeout"), 0),
		longest:   spanAt(at.Get("common_http_protocol_options", "max_stream_duration"), 0),
		routeName: at.Get("rds", "route_config_name").Text(),
	}
	for _, x := range at.Get("early_header_mutation_extensions").Items() {
		_, body := messageOf(x.Get("typed_config"))
		c.early = append(c.early, removed(body.Get("mutations"))...)
	}
	for _, f := range at.Get("http_filters").Items() {
		c.filters = append(c.filters, e.filter(f))
	}
	if table := at.Get("route_config"); table.Exists() {
		e.routes(c, table)
	}
	return c
}

func (e *envoyReader) filter(at tree.At) *filter {
	f := &filter{name: at.Get("name").Text(), at: at, disabled: at.Get("disabled")}
	if discovered := at.Get("config_discovery"); discovered.Exists() {
		e.waiting = append(e.waiting, waiting{f, f.name})
		f.body = discovered.Get("default_config")
		return f
	}
	e.configure(f, at.Get("typed_config"))
	return f
}

// configure gives a filter its configuration.
func (e *envoyReader) configure(f *filter, at tree.At) {
	f.kind, f.body = messageOf(at)
	if f.kind == "Wasm" {
		f.plugin = readPlugin(f.body.Get("config"))
		if f.plugin.config != nil {
			e.filters = append(e.filters, f.plugin.config)
		}
	}
}

func (e *envoyReader) routes(c *chain, table tree.At) {
	c.removes = append(c.removes, table.Get("request_headers_to_remove").Items()...)
	c.settings = append(c.settings, table.Get("typed_per_filter_config"))
	for _, h := range table.Get("virtual_hosts").Items() {
		c.hosts = append(c.hosts, readHost(h, e.proxy.defaults()))
	}
}

// finish connects what came in parts.
func (e *envoyReader) finish() *proxy {
	for _, w := range e.waiting {
		if body, ok := e.extensions[w.name]; ok {
			e.configure(w.filter, body)
		}
	}
	for _, l := range e.proxy.listeners {
		for _, c := range l.chains {
			if table, ok := e.tables[c.routeName]; ok && c.routeName != "" {
				e.routes(c, table)
			}
		}
	}
	return e.proxy
}

// addressOf is host:port of an address, empty for others than sockets.
func addressOf(at tree.At) string {
	s := at.Get("socket_address")
	if !s.Exists() {
		return ""
	}
	return net.JoinHostPort(strings.ToLower(s.Get("address").Text()), s.Get("port_value").Text())
}
