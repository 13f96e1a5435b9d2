package config

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
)

// Discovery says where engines are learned from besides fleet.static. Sources may be
// mixed; an address that several of them name is one worker (package claims).
type Discovery struct {
	File       FileDiscovery       `yaml:"file"`
	DNS        DNSDiscovery        `yaml:"dns"`
	HTTP       HTTPDiscovery       `yaml:"http"`
	Kubernetes KubernetesDiscovery `yaml:"kubernetes"`
}

// Any reports whether there is a source besides the static list.
func (d *Discovery) Any() bool {
	return d.File.Path != "" || len(d.DNS.Names) > 0 || d.HTTP.Enabled || d.Kubernetes.Enabled
}

// FileDiscovery names a file of workers that is watched.
type FileDiscovery struct {
	Path string `yaml:"path"` // empty: none
	// IntervalMillis is how often the file is read anew where the system does not tell
	// of its change.
	IntervalMillis Millis `yaml:"interval_ms"`
}

// DNSDiscovery lists names of which every address is a worker.
type DNSDiscovery struct {
	Names []DNSName `yaml:"names"`
	// IntervalMillis is how often names are looked up, with a tenth more or less.
	IntervalMillis Millis `yaml:"interval_ms"`
	Server         string `yaml:"server"` // host:port of a DNS server; empty: the system's
}

// DNSName is one name and what is known of the engines behind it.
type DNSName struct {
	Name         string   `yaml:"name"`          // host:port; with SRV the name of the records alone
	SRV          bool     `yaml:"srv"`           // hosts and ports come from SRV records
	Models       []string `yaml:"models"`        // asked of the engines when left out
	Role         string   `yaml:"role"`          // plain, prefill or decode; asked of the engines when left out
	VersionGroup string   `yaml:"version_group"` // as of a static worker
	Services     []string `yaml:"services"`      // as of a static worker

	// Host and Port are Name taken apart, filled by Parse. Port is 0 with SRV.
	Host string `yaml:"-"`
	Port uint16 `yaml:"-"`
}

// HTTPDiscovery lets callers register, drain and remove workers.
type HTTPDiscovery struct {
	Enabled bool `yaml:"enabled"` // whether such calls are taken
	// TokenEnv names the environment variable that holds the bearer token of these
	// calls, another one than token_env's. Required where the service listens beyond
	// loopback.
	TokenEnv string `yaml:"token_env"`
	// StateFile keeps what was registered and drained over a restart; empty: it is
	// forgotten.
	StateFile string `yaml:"state_file"`

	// Token is the value of TokenEnv, read once by Parse.
	Token string `yaml:"-"`
}

// KubernetesDiscovery follows EndpointSlices (engine-selection.md 14.1).
type KubernetesDiscovery struct {
	Enabled    bool   `yaml:"enabled"`    // whether slices are followed
	Kubeconfig string `yaml:"kubeconfig"` // empty: the pod's own service account
	Namespace  string `yaml:"namespace"`  // empty: all namespaces
	// Services are names of Services. They narrow what is followed, as selector does.
	Services []string `yaml:"services"`
	Selector string   `yaml:"selector"` // label selector on slices, in Kubernetes' full grammar
	// PrefillSelector gives slices the role prefill by their labels, decode_selector the
	// role decode; both are there or neither. Terms are key=value or key==value. Slices
	// that match neither are passed over.
	PrefillSelector string `yaml:"prefill_selector"`
	DecodeSelector  string `yaml:"decode_selector"` // see prefill_selector
	// Port is the name or number of the slices' port; empty: the first of a slice, 30000
	// where it names none.
	Port string `yaml:"port"`
}

func defaultDiscovery() Discovery {
	return Discovery{
		File: FileDiscovery{IntervalMillis: 5000},
		DNS:  DNSDiscovery{IntervalMillis: 5000},
	}
}

func (c *Config) validateDiscovery(p *Problems) {
	d := &c.Discovery
	checkRange("discovery.file.interval_ms", int64(d.File.IntervalMillis), 100, int64(maxSpan), " milliseconds", p)
	checkRange("discovery.dns.interval_ms", int64(d.DNS.IntervalMillis), 100, int64(maxSpan), " milliseconds", p)
	if d.DNS.Server != "" {
		if _, err := parseHostPort("", d.DNS.Server); err != nil {
			p.add("discovery.dns.server", "%s", err)
		}
	}
	for i := range d.DNS.Names {
		d.DNS.Names[i].complete(fmt.Sprintf("discovery.dns.names[%d]", i), c.Limits.MaxStringBytes, p)
		same := func(n DNSName) bool { return n.Name == d.DNS.Names[i].Name && n.Name != "" }
		if slices.ContainsFunc(d.DNS.Names[:i], same) {
			p.add(fmt.Sprintf("discovery.dns.names[%d].name", i), "%q is listed twice; remove one", d.DNS.Names[i].Name)
		}
	}
	d.Kubernetes.validate("discovery.kubernetes", p)
	c.validateHTTPDiscovery(p)
}

// complete takes the name apart and checks what is said of its engines.
func (n *DNSName) complete(path string, maxBytes int, p *Problems) {
	switch {
	case n.Name == "":
		p.add(path+".name", "missing; write host:port, such as engines.prod.svc.cluster.local:8000")
	case n.SRV:
		n.Host = strings.ToLower(strings.TrimSuffix(n.Name, "."))
		if !hostName(n.Host) {
			p.add(path+".name", "%q is no name of SRV records; write such as _http._tcp.engines.prod.svc.cluster.local, without a port", n.Name)
		}
	default:
		e, err := parseHostPort("http", n.Name)
		if err != nil {
			p.add(path+".name", "%s", err)
		}
		n.Host, n.Port = e.Host, e.Port
	}
	// What a name says of its engines is what an entry of the static list says.
	w := Worker{Models: n.Models, Role: n.Role, VersionGroup: n.VersionGroup, Services: n.Services}
	w.check(path, maxBytes, p)
}

// validateHTTPDiscovery keeps the fleet from being open to whoever reaches the port.
func (c *Config) validateHTTPDiscovery(p *Problems) {
	h := &c.Discovery.HTTP
	const path = "discovery.http"
	if !h.Enabled {
		if h.TokenEnv != "" || h.StateFile != "" {
			p.add(path+".enabled", "false, so token_env and state_file have no effect; write true or remove them")
		}
		return
	}
	checkEnv(path+".token_env", h.TokenEnv, p)
	if h.TokenEnv == "" && !c.Loopback() {
		p.add(path+".token_env", "missing; beyond loopback (listen: %s) workers are changed with a token only: name the environment variable that holds it", c.Listen)
	}
	if h.TokenEnv != "" && h.TokenEnv == c.TokenEnv {
		p.add(path+".token_env", "%s is also token_env, which every proxy knows; name another", h.TokenEnv)
	}
}

func (k *KubernetesDiscovery) validate(path string, p *Problems) {
	if !k.Enabled {
		if len(k.Services) > 0 || k.Kubeconfig+k.Namespace+k.Selector+k.PrefillSelector+k.DecodeSelector+k.Port != "" {
			p.add(path+".enabled", "false, so the other settings have no effect; write true or remove them")
		}
		return
	}
	if k.Namespace != "" && !dnsLabel(k.Namespace) {
		p.add(path+".namespace", "%q is no namespace; write its name, or leave it out for all", k.Namespace)
	}
	for i, s := range k.Services {
		switch at := fmt.Sprintf("%s.services[%d]", path, i); {
		case !dnsLabel(s):
			p.add(at, "%q is no name of a Service; write it without its namespace", s)
		case slices.Contains(k.Services[:i], s):
			p.add(at, "%q is listed twice; remove one", s)
		}
	}
	if len(k.Services) == 0 && k.Selector == "" && k.PrefillSelector == "" && k.DecodeSelector == "" {
		p.add(path, "every Service would be taken for engines; write services, selector, or prefill_selector and decode_selector")
	}
	k.validatePair(path, p)
	if n, err := strconv.ParseUint(k.Port, 10, 16); k.Port != "" && !dnsLabel(k.Port) || err == nil && n == 0 {
		p.add(path+".port", "%q is neither the name nor the number of a port", k.Port)
	}
}

func (k *KubernetesDiscovery) validatePair(path string, p *Problems) {
	prefill, err := EqualityTerms(k.PrefillSelector)
	if err != nil {
		p.add(path+".prefill_selector", "%s", err)
	}
	decode, err2 := EqualityTerms(k.DecodeSelector)
	if err2 != nil {
		p.add(path+".decode_selector", "%s", err2)
	}
	switch {
	case err != nil || err2 != nil:
	case (len(prefill) == 0) != (len(decode) == 0):
		p.add(path, "prefill_selector and decode_selector go together; give both or neither")
	case len(prefill) > 0 && sameTerms(prefill, decode):
		p.add(path+".decode_selector", "says the same as prefill_selector, so no slice would be decode; write another")
	}
}

// EqualityTerms takes a selector of key=value and key==value terms apart.
func EqualityTerms(selector string) (map[string]string, error) {
	if strings.TrimSpace(selector) == "" {
		return nil, nil
	}
	terms := map[string]string{}
	for term := range strings.SplitSeq(selector, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(term), "=")
		value = strings.TrimSpace(strings.TrimPrefix(value, "="))
		key = strings.TrimSpace(key)
		if !ok || key == "" || strings.ContainsAny(key+value, "!=() \t") {
			return nil, fmt.Errorf("%q is no term of this selector; write key=value, with commas between", strings.TrimSpace(term))
		}
		if other, twice := terms[key]; twice && other != value {
			return nil, fmt.Errorf("%s cannot be both %q and %q; remove one", key, other, value)
		}
		terms[key] = value
	}
	return terms, nil
}

func sameTerms(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for key, value := range a {
		if other, ok := b[key]; !ok || other != value {
			return false
		}
	}
	return true
}

// dnsLabel reports whether Kubernetes would take the text for the name of a namespace, a
// Service or a port.
func dnsLabel(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 63 && s[0] != '-' && s[len(s)-1] != '-'
}

// Addressed gives an endpoint of plain HTTP at a literal address.
func Addressed(ip string, port uint16) Endpoint {
	return Endpoint{Scheme: "http", Host: ip, Port: port}
}

// HostPort is the endpoint's host:port, which identifies it among all sources.
func (e Endpoint) HostPort() string { return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))) }

// Stage is the role of the worker's configuration; StageNone when it says none.
func (w *Worker) Stage() core.Stage {
	if w.Role == "" {
		return core.StageNone
	}
	stage, _ := core.ParseStage(w.Role)
	return stage
}

// Problems checks what is said of a worker, apart from its address.
func (w *Worker) Problems(maxStringBytes int) Problems {
	var p Problems
	w.check("", maxStringBytes, &p)
	for i := range p {
		p[i].Path = strings.TrimPrefix(p[i].Path, ".")
	}
	return p
}

// OnlyHTTP reports whether registrations are the only source of workers.
func (c *Config) OnlyHTTP() bool {
	d := c.Discovery
	d.HTTP = HTTPDiscovery{}
	return c.Discovery.HTTP.Enabled && len(c.Fleet.Static) == 0 && !d.Any()
}
