package hostsim

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// ClusterMode is how a cluster chooses a host for a request (envoy.md 2.1).
type ClusterMode uint8

const (
	// RoundRobin takes the endpoints in turn.
	RoundRobin ClusterMode = iota
	// OriginalDst goes to the literal IP:port in the endpoint header and nowhere else.
	OriginalDst
	// OverrideHost walks the list in the endpoint header, one entry per attempt, skipping what is not an endpoint of
	// the cluster; then it takes the endpoints in turn.
	OverrideHost
)

// String returns Envoy's word for the mode.
func (m ClusterMode) String() string {
	switch m {
	case OriginalDst:
		return "original_dst"
	case OverrideHost:
		return "override_host"
	case RoundRobin:
	}
	return "round_robin"
}

// DefaultConnectTimeout is Envoy's default for a cluster.
const DefaultConnectTimeout = 5 * time.Second

// upstreamIdleTimeout is below the 5 s after which uvicorn, the engines' server, closes an idle connection
// (envoy.md W26).
const upstreamIdleTimeout = 4 * time.Second

// Cluster is a group of upstream hosts.
type Cluster struct {
	Name string
	Mode ClusterMode
	// Endpoints are "host:port", or "http://host:port" and "https://host:port". OriginalDst has none.
	Endpoints []string
	// AnyEndpoint lets an OverrideHost cluster take every IP:port that the header names, as an Envoy whose cluster has
	// them all. Endpoints are then only what a request falls back to, and may be none.
	AnyEndpoint bool
	// EndpointHeader names the header of OriginalDst and OverrideHost. It never reaches a host.
	EndpointHeader string
	// StripHeaders are removed from a request after its host is chosen.
	StripHeaders []string
	// ConnectTimeout for a new connection; 0 means DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// Retries is how many further attempts follow one that could not connect.
	Retries int
	// HTTP2 makes connections speak HTTP/2 and nothing else, as http2_protocol_options do: without TLS by prior
	// knowledge. gRPC streams need it.
	HTTP2 bool
	// TLS is used for https endpoints; nil is the default.
	TLS *tls.Config
}

// validate returns everything that is wrong with the cluster.
func (c *Cluster) validate() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Name == "" {
		bad("name: missing")
	}
	needsHeader := c.Mode == OriginalDst || c.Mode == OverrideHost
	if needsHeader && c.EndpointHeader == "" {
		bad("endpoint header: missing, %s needs one", c.Mode)
	}
	if c.Mode == OriginalDst && len(c.Endpoints) > 0 {
		bad("endpoints: %s has none of its own", c.Mode)
	}
	if c.AnyEndpoint && c.Mode != OverrideHost {
		bad("any endpoint: only %s has it", OverrideHost)
	}
	if c.Mode != OriginalDst && !c.AnyEndpoint && len(c.Endpoints) == 0 {
		bad("endpoints: missing")
	}
	for i, e := range c.Endpoints {
		if _, err := parseEndpoint(e); err != nil {
			bad("endpoints[%d]: %w", i, err)
		}
	}
	if c.Retries < 0 {
		bad("retries: %d is negative", c.Retries)
	}
	return errs
}

// endpoint is one host of a cluster.
type endpoint struct{ scheme, address string }

func parseEndpoint(text string) (endpoint, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return endpoint{}, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return endpoint{}, fmt.Errorf("%q is not host:port or http(s)://host:port", text)
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return endpoint{}, fmt.Errorf("%q must not have a path", text)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return endpoint{scheme: u.Scheme, address: net.JoinHostPort(u.Hostname(), port)}, nil
}

// errNoHost reports that a cluster has no host for a request.
var errNoHost = errors.New("no healthy upstream")

// cluster is a Cluster at work. Safe for concurrent use.
type cluster struct {
	Cluster

	endpoints []endpoint
	turn      atomic.Uint64
	transport *http.Transport
}

func newCluster(spec Cluster) (*cluster, error) {
	if errs := spec.validate(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	c := &cluster{Cluster: spec}
	for _, text := range spec.Endpoints {
		e, err := parseEndpoint(text)
		if err != nil {
			return nil, err
		}
		c.endpoints = append(c.endpoints, e)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = DefaultConnectTimeout
	}
	dialer := &net.Dialer{Timeout: c.ConnectTimeout}
	c.transport = &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: spec.TLS, TLSHandshakeTimeout: c.ConnectTimeout,
		DisableCompression: true, MaxIdleConnsPerHost: 1024, IdleConnTimeout: upstreamIdleTimeout,
		MaxResponseHeaderBytes: 1 << 20, WriteBufferSize: 64 << 10, ReadBufferSize: 64 << 10,
	}
	if spec.HTTP2 {
		protocols := &http.Protocols{}
		protocols.SetHTTP2(true)
		protocols.SetUnencryptedHTTP2(true)
		c.transport.Protocols = protocols
	}
	return c, nil
}

// walk is the order in which the attempts of one request try hosts.
type walk struct {
	cluster *cluster
	// listed are the hosts that the request names and that are left; dst is the only one of an OriginalDst request.
	listed []endpoint
	dst    *endpoint
}

func (c *cluster) walk(h *Headers) *walk {
	w := &walk{cluster: c}
	value, ok := h.First(c.EndpointHeader)
	if !ok {
		return w
	}
	switch c.Mode {
	case OriginalDst:
		if e, ok := literal(value); ok {
			w.dst = &e
		}
	case OverrideHost:
		for name := range strings.SplitSeq(value, ",") {
			if e, ok := c.member(strings.TrimSpace(name)); ok {
				w.listed = append(w.listed, e)
			}
		}
	case RoundRobin:
	}
	return w
}

// member returns the endpoint that an entry of the header names.
func (c *cluster) member(name string) (endpoint, bool) {
	i := slices.IndexFunc(c.endpoints, func(e endpoint) bool { return e.address == name })
	switch {
	case i >= 0:
		return c.endpoints[i], true
	case c.AnyEndpoint:
		return literal(name)
	}
	return endpoint{}, false
}

// literal is the endpoint of an IP:port.
func literal(text string) (endpoint, bool) {
	addr, err := netip.ParseAddrPort(strings.TrimSpace(text))
	return endpoint{scheme: "http", address: addr.String()}, err == nil
}

// next returns the host of the next attempt.
func (w *walk) next() (endpoint, error) {
	switch {
	case w.dst != nil:
		return *w.dst, nil
	case len(w.listed) > 0:
		e := w.listed[0]
		w.listed = w.listed[1:]
		return e, nil
	case len(w.cluster.endpoints) == 0:
		return endpoint{}, errNoHost
	}
	turn := w.cluster.turn.Add(1) - 1
	return w.cluster.endpoints[turn%uint64(len(w.cluster.endpoints))], nil
}

// connectFailed reports whether a round trip failed before there was a connection, so that another host may be tried.
func connectFailed(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
