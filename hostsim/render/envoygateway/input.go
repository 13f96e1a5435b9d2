package envoygateway

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/render"
)

// Namespace is where everything is unless the options say otherwise.
const Namespace = "pointsman"

// Port is the port of the Gateway's listener.
const Port = 80

// Margins over what the filter itself allows, and the least of each: those of a
// rendered bootstrap.
const (
	bufferMargin = 1 << 20
	streamIdle   = 900 // seconds
	requestTime  = 120 // seconds
	timeMargin   = 60  // seconds
)

var (
	namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	sum           = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// read turns an input into what the templates show, or refuses it.
func read(in *render.Input) (*manifests, error) {
	var refused render.Refusals
	c, o := in.Filter, in.Options
	m := &manifests{Namespace: o.Namespace, Port: Port, Labels: render.Labels(), Header: c.EndpointHeader, Retry: c.TransportRetry}
	if m.Namespace == "" {
		m.Namespace = Namespace
	}
	if !namespaceName.MatchString(m.Namespace) {
		refused.Add("--namespace", "a name of lower-case letters, digits and -", "%q is no name of a namespace", m.Namespace)
	}
	if c.EndpointMode != spec.EndpointOverrideHost {
		refused.Add("endpoint_mode", `"endpoint_mode": "override_host"`, "is %s, of which Envoy Gateway has no kind of cluster: its endpointOverride chooses among endpoints that it knows", c.EndpointMode)
	}
	body := (*c.BodyTimeoutMillis + 999) / 1000
	m.BufferLimit = *c.MaxBodyBytes + bufferMargin
	m.RequestTimeout = max(requestTime, body+timeMargin)
	m.StreamIdle = max(streamIdle, body+timeMargin)
	m.Listener = m.Namespace + "/pointsman/http"
	m.EngineCluster = "httproute/" + m.Namespace + "/pointsman/rule/0"
	m.engines(in, &refused)
	m.state(in, &refused)
	m.wasm(o.Wasm, &refused)
	if err := m.filter(in, &refused); err != nil {
		return nil, err
	}
	return m, refused.Err()
}

// engines finds the engines that Envoy is to know.
func (m *manifests) engines(in *render.Input, refused *render.Refusals) {
	list := in.Options.Engines
	if service := in.Options.EngineService; service != "" {
		if len(list) > 0 {
			refused.Add("--engine-service", "one of them", "and --engine say where the engines are")
		}
		at, err := render.ParseAddress(service)
		if err != nil || at.Literal() || strings.Contains(at.Host, ".") {
			refused.Add("--engine-service", "the name of a Service in the namespace and its port, like engines:8000", "%q is no Service", service)
		}
		m.Service = at
		return
	}
	m.Engines = in.EngineList(refused)
	if len(m.Engines) == 0 && len(list)+len(in.Filter.Workers) == 0 {
		refused.Add("--engine-service", "--engine-service NAME:PORT, or --engine IP:PORT for each engine", "nothing says where the engines are")
	}
	for _, at := range m.Engines {
		ip, err := netip.ParseAddr(at.Host)
		switch {
		case err != nil:
			refused.Add("--engine", "--engine-service NAME:PORT", "%q is a name; the filter names engines by addresses, and endpoints of one cluster are either all names or none", at)
		case ip.IsLoopback():
			refused.Add("--engine", "the address at which pods reach it", "%q is on loopback, where Envoy Gateway takes no engine to be", at)
		}
	}
}

// state finds the state service.
func (m *manifests) state(in *render.Input, refused *render.Refusals) {
	c, asked := in.Filter.State, *in
	if c != nil && asked.Options.State == "" {
		asked.Options.State = "pointsman-state." + m.Namespace + ".svc.cluster.local:9090"
	}
	at, ok := asked.StateAddress(refused)
	if !ok {
		return
	}
	m.TokenEnv = c.TokenEnv
	m.State = &state{Name: c.Cluster, Type: "STRICT_DNS", Address: at, CallStream: c.CallStream}
	if at.Literal() {
		m.State.Type = "STATIC"
	}
}

// wasm finds the module.
func (m *manifests) wasm(w render.Wasm, refused *render.Refusals) {
	scheme, rest, ok := strings.Cut(w.URL, "://")
	switch {
	case w.URL == "":
		refused.Add("--wasm-url", "--wasm-url oci://REGISTRY/pointsman:TAG or https://HOST/filter.wasm", "Envoy Gateway fetches the module, and nothing says where it is")
	case !ok || rest == "" || scheme != "oci" && scheme != "https" && scheme != "http":
		refused.Add("--wasm-url", "oci://REGISTRY/pointsman:TAG or https://HOST/filter.wasm", "%q is no URL that Envoy Gateway fetches", w.URL)
	case scheme == "oci":
		m.Image = rest
		_, m.Digest, _ = strings.Cut(rest, "@sha256:")
		if w.SHA256 != "" {
			refused.Add("--wasm-sha256", "the image's digest in the URL: oci://REGISTRY/pointsman@sha256:DIGEST", "is the module's sum, and Envoy Gateway compares that of the image")
		}
	default:
		m.URL, m.SHA256 = w.URL, w.SHA256
		if w.SHA256 == "" {
			refused.Add("--wasm-sha256", "the output of sha256sum for the module", "is not given, and whatever is behind %s would run", w.URL)
		}
	}
	for flag, text := range map[string]string{"--wasm-sha256": w.SHA256, "--wasm-url": m.Digest} {
		if text != "" && !sum.MatchString(text) {
			refused.Add(flag, "64 hexadecimal digits in lower case, as sha256sum prints them", "%q is no SHA-256 sum", text)
		}
	}
}

// filter takes over the configuration.
func (m *manifests) filter(in *render.Input, refused *render.Refusals) error {
	text := in.Text
	if in.Filter.Abort != nil {
		var err error
		if text, err = render.With(text, "abort.cluster", m.EngineCluster); err != nil {
			return err
		}
	}
	if m.State != nil && m.State.Name == m.EngineCluster {
		refused.Add("state.cluster", `"state": {"cluster": "pointsman_state"}`, "%q is what Envoy Gateway calls the engines", m.State.Name)
	}
	m.Filter = string(text)
	return nil
}
