package doctor

import (
	"time"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
	"github.com/pointsman/pointsman/statesvc/config"
)

// model is everything that was read, as what it will do.
type model struct {
	proxies  []*proxy
	filters  []*filterConfig // those of plugins too
	services []*stateConfig
	modules  []module
	findings []Finding
	count    map[string]int // of findings by rule
	more     int            // findings beyond maxFindings of their rule
	skipped  []string       // documents that are none of doctor's
	looked   int            // documents and modules that are
}

// host is the kind of control plane that makes a proxy's configuration.
type host uint8

const (
	hostEnvoy host = iota
	hostIstio
	hostGateway
)

// defaults are what a host does where nothing is written.
type defaults struct {
	buffer  uint64        // of a listener, bytes
	timeout time.Duration // of a route, 0 for none
	idle    time.Duration // of a stream, 0 for none
	breaker uint64        // of connections, pending requests and requests; 0 for none
	retries uint64        // in flight at a time, 0 for no limit
}

// defaultsOf gives what each host does by itself: Envoy's own defaults (envoy.md 4.2,
// 4.5, 3.1); Istio sets no time-outs and no breakers; Envoy Gateway holds 32 KiB
// (field report I04).
func defaultsOf(h host) defaults {
	switch h {
	case hostIstio:
		return defaults{buffer: 1 << 20}
	case hostGateway:
		return defaults{buffer: 32 << 10, timeout: 15 * time.Second, idle: 5 * time.Minute, breaker: 1024, retries: 1024}
	case hostEnvoy:
	}
	return defaults{buffer: 1 << 20, timeout: 15 * time.Second, idle: 5 * time.Minute, breaker: 1024, retries: 3}
}

// proxy is one Envoy, or the Envoys that a set of manifests is for.
type proxy struct {
	title     string
	at        tree.At
	host      host
	version   *Version // nil when unknown
	istio     *Version // of the agent beside it, nil when unknown or none
	listeners []*listener
	clusters  []*cluster
	complete  bool   // it has no cluster but these
	patched   bool   // its clusters are made elsewhere, and patched by what is here
	instead   string // files that it is an alternative to
	misses    []miss
	strays    []tree.At // namespaces of manifests that may not be those of their gateway
	byName    map[string]*cluster
	indexed   int // clusters in byName
}

func (p *proxy) defaults() defaults { return defaultsOf(p.host) }

// cluster finds a cluster by name, nil when there is none. Of two with one name it is the
// first.
func (p *proxy) cluster(name string) *cluster {
	for ; p.indexed < len(p.clusters); p.indexed++ {
		c := p.clusters[p.indexed]
		if p.byName == nil {
			p.byName = map[string]*cluster{}
		}
		if p.byName[c.name] == nil {
			p.byName[c.name] = c
		}
	}
	return p.byName[name]
}

// number is a setting with its default filled in.
type number struct {
	value uint64
	set   bool
	at    tree.At
}

// span is a time setting with its default filled in; 0 is none.
type span struct {
	value time.Duration
	set   bool
	at    tree.At
}

type listener struct {
	name    string
	address string
	at      tree.At
	buffer  number
	chains  []*chain
}

// chain is one HTTP connection manager.
type chain struct {
	listener  *listener
	at        tree.At
	filters   []*filter
	hosts     []*virtualHost
	routeName string // of routes that come by RDS
	removes   []tree.At
	settings  []tree.At // of filters for all routes, by their names
	early     []string  // headers that are taken away from clients before anything else
	idle      span      // of a stream
	request   span      // until a request is complete
	longest   span      // of a stream in all
}

// ours gives the filters of this project in the chain.
func (c *chain) ours() (list []*filter) {
	for _, f := range c.filters {
		if f.plugin != nil && f.plugin.ours {
			list = append(list, f)
		}
	}
	return list
}

// anchor gives what stays unset in a generated chain the place of the filter, which is
// where a person looks.
func (c *chain) anchor() {
	if ours := c.ours(); len(ours) > 0 {
		c.at = ours[0].at
		if !c.listener.buffer.set {
			c.listener.buffer.at = ours[0].at
		}
	}
}

// filter is one HTTP filter of a chain.
type filter struct {
	name string
	kind string // the last part of its type: Router, Wasm, JwtAuthn, ...
	at   tree.At
	body tree.At // its configuration
	// generated is the name that a control plane gives it, where that is known.
	generated string
	disabled  tree.At
	// plugin is set for wasm filters.
	plugin *plugin
}

// plugin is a wasm plugin.
type plugin struct {
	at        tree.At
	ours      bool
	canPause  bool // its kind of manifest has the header-pause flag
	pause     bool
	pauseAt   tree.At
	failure   failure
	failureAt tree.At
	code      code
	runtime   tree.At
	vmID      tree.At
	env       []string // environment variables that reach the VM
	serverAt  tree.At  // exists where the plugin is for inbound listeners only
	config    *filterConfig
	configAt  tree.At
	allowed   tree.At // the calls it may make and get
}

// failure is what becomes of requests when a VM died.
type failure uint8

const (
	failUnset failure = iota
	failReload
	failClosed
	failOpen
)

// code is where the module comes from.
type code struct {
	at     tree.At
	local  string // a path in the proxy's file system
	url    string
	sha256 tree.At
	remote bool
	inline bool
	image  bool // an OCI image, which may be named by its digest
}

// filterConfig is a configuration of the filter.
type filterConfig struct {
	at       tree.At
	spec     *spec.Config // nil when it is refused
	problems spec.Problems
}

type virtualHost struct {
	at        tree.At
	name      string
	removes   []tree.At
	settings  []tree.At // of filters, by their names
	bodyLimit number
	routes    []*route
	taken     map[string]*route // by paths that were asked for
}

type route struct {
	at          tree.At
	host        *virtualHost
	prefix      string // one of prefix, path and pattern is what it matches
	path        string
	pattern     string
	conditional bool     // it asks for headers or query parameters too
	asks        []string // names of headers and query parameters, of Envoy's own routes
	clusters    []string
	clusterAt   tree.At
	timeout     span
	idle        span
	longest     span
	perTry      span
	retryOn     string // empty for no retries
	retryAt     tree.At
	removes     []tree.At
	settings    []tree.At // of filters, by their names
	mirrors     []tree.At // the names of clusters that get copies
	bodyLimit   number
}

// source is where a cluster has the endpoint of a request from.
type source uint8

const (
	sourceOwn      source = iota // its load balancer's choice
	sourceOriginal               // ORIGINAL_DST
	sourceOverride               // the override_host policy
)

type cluster struct {
	name        string
	at          tree.At
	source      source
	header      string // that names the endpoint; empty for none
	headerAt    tree.At
	fallback    bool // override_host has a policy for the rest
	endpoints   []endpoint
	listed      bool // endpoints is the whole membership
	idle        span
	longest     span
	http1At     tree.At // exists where HTTP/1.1 to the endpoints is written down
	http2At     tree.At // exists for HTTP/2 to the endpoints
	alpn        bool    // the endpoints' TLS decides between the two
	tls         bool
	strips      []string // headers removed behind the host choice
	connections number
	pending     number
	requests    number
	retries     number
	partial     bool // a patch of a cluster that is made elsewhere
}

type endpoint struct {
	address string // host:port
	at      tree.At
}

// stateConfig is a configuration of the state service.
type stateConfig struct {
	at     tree.At
	config *config.Config // nil when it is refused
}

// module is a wasm file.
type module struct {
	file   string
	sha256 string
}
