package istio

import (
	"cmp"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/render"
)

// Hosts of the services that Kubernetes does not know.
const (
	enginesHost = "engines.pointsman.internal"
	stateHost   = "state.pointsman.internal"
	enginesPort = 8000
)

// bufferMargin is how much larger than a body the proxy's limit is, for what the
// filter adds.
const bufferMargin = 1 << 20

// read turns an input into what the template shows, or refuses it.
func read(in *render.Input) (*manifests, error) {
	var refused render.Refusals
	c, o := in.Filter, in.Options
	m := &manifests{
		Namespace: o.Namespace, HeaderOnly: o.HeaderOnly, SeveralModels: len(c.Models) > 1,
		Retry: c.TransportRetry, Header: c.EndpointHeader, Wasm: o.Wasm, BufferLimit: *c.MaxBodyBytes + bufferMargin,
	}
	if c.EndpointMode == spec.EndpointOriginalDst {
		refused.Add("endpoint_mode", `"endpoint_mode": "override_host"`, "%s needs a cluster that no route of Istio's can name", c.EndpointMode)
	}
	if o.HeaderOnly {
		refused = append(refused, render.HeaderOnly(c, "no --header-only, so that an EnvoyFilter sets the flag")...)
	}
	m.place(o, &refused)
	m.wasm(&refused)
	m.engines(in, &refused)
	m.state(in, &refused)
	if err := refused.Err(); err != nil {
		return nil, err
	}
	return m, m.filter(in)
}

// labelValue is what Kubernetes takes as a label's value, labelKey as its key.
var (
	labelValue = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelKey   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	namespace  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// place says which gateway it is.
func (m *manifests) place(o render.Options, refused *render.Refusals) {
	if !namespace.MatchString(o.Namespace) {
		refused.Add("--namespace", "the namespace of the gateway's pods, like istio-system", "%q is no name of a namespace", o.Namespace)
	}
	if len(o.Selector) == 0 {
		refused.Add("--selector", "--selector istio=ingressgateway", "no labels say which pods are the gateway")
	}
	for _, key := range slices.Sorted(maps.Keys(o.Selector)) {
		value := o.Selector[key]
		if !labelKey.MatchString(key) || !labelValue.MatchString(value) {
			refused.Add("--selector", "--selector istio=ingressgateway", "%s=%s is no label", key, value)
		}
		m.Selector = append(m.Selector, label{key, value})
	}
	at, ok := render.ReadListen("--listen", o.Listen, refused)
	if ip, err := netip.ParseAddr(at.Host); ok && err == nil && !ip.IsUnspecified() {
		m.Bind = at.Host
	}
	m.Listen = at
}

// sum is a SHA-256 in hexadecimal digits.
var sum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// wasm says where the filter comes from.
func (m *manifests) wasm(refused *render.Refusals) {
	w := m.Wasm
	switch {
	case (w.Path == "") == (w.URL == ""):
		refused.Add("--wasm", "--wasm PATH for a file in the proxy's container, or --wasm-url URL with --wasm-sha256", "there must be one place that the filter comes from")
	case w.Path != "" && !strings.HasPrefix(w.Path, "/"):
		refused.Add("--wasm", "a path that begins with a slash", "%q is not absolute, and the proxy's container has folders of its own", w.Path)
	case w.URL != "" && !strings.HasPrefix(w.URL, "oci://") && !strings.HasPrefix(w.URL, "https://") && !strings.HasPrefix(w.URL, "http://"):
		refused.Add("--wasm-url", "oci://REGISTRY/NAME:TAG or https://HOST/PATH", "%q is none that Istio's agent fetches", w.URL)
	case w.URL != "" && w.SHA256 == "" && !m.HeaderOnly:
		refused.Add("--wasm-sha256", "the output of sha256sum for a file, or the digest of an image", "Envoy takes no module to fetch without its sum")
	case w.URL != "" && w.SHA256 == "" && !strings.HasPrefix(w.URL, "oci://"):
		refused.Add("--wasm-sha256", "the output of sha256sum for the module", "is not given, and whatever is behind %s would run", w.URL)
	}
	if w.SHA256 != "" && (!sum.MatchString(w.SHA256) || w.URL == "") {
		refused.Add("--wasm-sha256", "64 hexadecimal digits in lower case, beside --wasm-url", "%q is not the sum of a module to fetch", w.SHA256)
	}
	m.URL = cmp.Or(w.URL, "file://"+w.Path)
}

// engines finds the destination of requests.
func (m *manifests) engines(in *render.Input, refused *render.Refusals) {
	list := in.EngineList(refused)
	m.Engines = service{Name: "pointsman-engines", Namespace: m.Namespace, Host: enginesHost, Port: enginesPort, Entry: true, Endpoints: list, Resolution: "STATIC"}
	if len(list) == 0 {
		refused.Add("--engine", "--engine NAME.NAMESPACE.svc:PORT for a Kubernetes Service, or --engine IP:PORT for each engine", "is not given: the proxy takes only engines that it knows")
		return
	}
	for _, at := range list {
		host, known := kubernetes(at.Host)
		switch {
		case known && len(list) > 1:
			refused.Add("--engine", "that Service alone", "%s is a Service, and stands beside other engines", at)
		case known:
			m.Engines.Host, m.Engines.Port, m.Engines.Entry = host, at.Port, false
		case !at.Literal():
			m.Engines.Resolution = "DNS"
		}
	}
}

// state finds the state service.
func (m *manifests) state(in *render.Input, refused *render.Refusals) {
	at, ok := in.StateAddress(refused)
	if !ok {
		return
	}
	m.TokenEnv = in.Filter.State.TokenEnv
	s := &service{
		Name: "pointsman-state", Namespace: m.Namespace, Host: stateHost, Port: at.Port, Entry: true,
		Endpoints: []render.Address{at}, Resolution: "STATIC", CallStream: in.Filter.State.CallStream,
	}
	if host, known := kubernetes(at.Host); known {
		s.Host, s.Entry = host, false
	} else if !at.Literal() {
		s.Resolution = "DNS"
	}
	m.State = s
}

// kubernetes gives the full name of a Kubernetes Service, NAME.NAMESPACE.svc or
// longer.
func kubernetes(host string) (string, bool) {
	parts := strings.Split(host, ".")
	if len(parts) < 3 || parts[2] != "svc" {
		return "", false
	}
	if len(parts) == 3 {
		host += ".cluster.local"
	}
	return host, true
}

// filter gives the configuration its names of clusters.
func (m *manifests) filter(in *render.Input) (err error) {
	text := in.Text
	if m.State != nil {
		if text, err = in.StateCluster(m.State.cluster(), m.State.Host); err != nil {
			return err
		}
	}
	if in.Filter.Abort != nil {
		if text, err = render.With(text, "abort.cluster", m.Engines.cluster()); err != nil {
			return err
		}
	}
	m.Filter = string(text)
	return nil
}

func (s *service) port() string { return strconv.Itoa(int(s.Port)) }
