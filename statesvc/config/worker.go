package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/core"
)

// complete takes each worker's address apart, fills in the ID and checks the
// workers against each other.
func (c *Config) complete(p *Problems) {
	if len(c.Fleet.Static) == 0 && !c.Discovery.Any() {
		p.add("fleet.static", "no workers; write at least one, such as - address: 127.0.0.1:8000")
	}
	completeWorkers(c.Fleet.Static, "fleet.static", c.Limits.MaxStringBytes, p)
}

// completeWorkers does so for one list, which stands at root.
func completeWorkers(list []Worker, root string, maxBytes int, p *Problems) {
	if n := len(list); n > MaxWorkers {
		p.add(root, "%d workers; at most %d are supported", n, MaxWorkers)
		return
	}
	ids, places := places{root: root}, places{root: root}
	for i := range list {
		w := &list[i]
		path := fmt.Sprintf("%s[%d]", root, i)
		located := w.locate(path, p)
		w.check(path, maxBytes, p)
		if located {
			places.note(w.Endpoint.HostPort(), i, "address", p)
		}
		if w.ID != "" {
			ids.note(w.ID, i, "id", p)
		}
	}
}

// places are the first entries of a list with each value.
type places struct {
	root string
	seen map[string]int
}

// note tells of a value that an earlier entry has.
func (s *places) note(value string, i int, key string, p *Problems) {
	if first, taken := s.seen[value]; taken {
		p.add(fmt.Sprintf("%s[%d].%s", s.root, i, key), "%q is also the %s of %s[%d]; remove one or change it", value, key, s.root, first)
		return
	}
	if s.seen == nil {
		s.seen = map[string]int{}
	}
	s.seen[value] = i
}

// locate fills Endpoint from address or url, and the ID when it is left out.
func (w *Worker) locate(path string, p *Problems) bool {
	var err error
	key := "address"
	switch {
	case w.Address != "" && w.URL != "":
		p.add(path, "give address or url, not both")
		return false
	case w.URL != "":
		key = "url"
		w.Endpoint, err = parseURL(w.URL)
	case w.Address != "":
		w.Endpoint, err = parseHostPort("http", w.Address)
	default:
		p.add(path+".address", "missing; write host:port, such as 127.0.0.1:8000")
		return false
	}
	if err != nil {
		p.add(path+"."+key, "%s", err)
		return false
	}
	if w.ID == "" {
		w.ID = w.Endpoint.HostPort()
	}
	return true
}

func parseURL(raw string) (Endpoint, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "":
		return Endpoint{}, fmt.Errorf("%q is not a URL; write http://host:port", raw)
	case u.Scheme != "http" && u.Scheme != "https":
		return Endpoint{}, fmt.Errorf("scheme %q is not supported; write http:// or https://", u.Scheme)
	case u.User != nil:
		return Endpoint{}, fmt.Errorf("a URL must not hold a user or password; write %s://%s", u.Scheme, u.Host)
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return Endpoint{}, fmt.Errorf("%q has a path, query or fragment; write %s://%s", raw, u.Scheme, u.Host)
	}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return parseHostPort(u.Scheme, host)
}

func parseHostPort(scheme, hostPort string) (Endpoint, error) {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil || host == "" {
		return Endpoint{}, fmt.Errorf("%q is not host:port; write for example 127.0.0.1:8000 or [::1]:8000", hostPort)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return Endpoint{}, fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	host = strings.ToLower(host)
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" || ip.IsUnspecified() || ip.IsMulticast() {
			return Endpoint{}, fmt.Errorf("%q is not the address of one engine; write its own IP without a zone", host)
		}
		host = ip.Unmap().String()
	} else if !hostName(host) {
		return Endpoint{}, fmt.Errorf("%q is neither an IP address nor a host name", host)
	}
	return Endpoint{Scheme: scheme, Host: host, Port: uint16(n)}, nil
}

// hostName accepts letters, digits, hyphens, underscores and dots, and refuses
// what looks like a mistyped IPv4 address.
func hostName(host string) bool {
	letter := false
	for _, r := range host {
		switch {
		case r >= 'a' && r <= 'z':
			letter = true
		case r >= '0' && r <= '9', r == '-', r == '.', r == '_':
		default:
			return false
		}
	}
	return letter && len(host) <= 253 && !strings.Contains(host, "..") && !strings.HasPrefix(host, ".")
}

// BaseURL is the scheme and authority that requests to the engine begin with.
func (e Endpoint) BaseURL() string { return e.Scheme + "://" + e.HostPort() }

func (w *Worker) check(path string, maxBytes int, p *Problems) {
	checkName(path+".id", w.ID, maxBytes, p)
	if _, ok := core.ParseStage(w.Role); !ok {
		p.add(path+".role", "%q is not a role; write plain, prefill or decode, or leave it out to ask the engine", w.Role)
	}
	w.checkGroups(path, maxBytes, p)
	for i, model := range w.Models {
		at := fmt.Sprintf("%s.models[%d]", path, i)
		if model == "" {
			p.add(at, "empty model name; write the name or remove the entry")
		} else if slices.Contains(w.Models[:i], model) {
			p.add(at, "%q is listed twice; remove one", model)
		}
		checkName(at, model, maxBytes, p)
	}
	if w.Health.Path != "" {
		checkPath(path+".health.path", w.Health.Path, p)
	}
	if w.Metrics.Path != "" {
		checkPath(path+".metrics.path", w.Metrics.Path, p)
	}
	w.KV.check(path+".kv", p)
}

// checkGroups checks what sorts engines into groups.
func (w *Worker) checkGroups(path string, maxBytes int, p *Problems) {
	checkName(path+".version_group", w.VersionGroup, maxBytes, p)
	if stage, _ := core.ParseStage(w.Role); w.VersionGroup != "" && w.Role != "" && stage == core.StagePlain {
		p.add(path+".version_group", "has no effect on a plain engine, which pairs with none; leave it out")
	}
	for i, service := range w.Services {
		at := fmt.Sprintf("%s.services[%d]", path, i)
		if !core.ServiceName(service) {
			p.add(at, "%q is no service; write namespace/name", service)
		} else if slices.Contains(w.Services[:i], service) {
			p.add(at, "%q is listed twice; remove one", service)
		}
		checkName(at, service, maxBytes, p)
	}
}

func checkName(path, name string, maxBytes int, p *Problems) {
	if len(name) > maxBytes {
		p.add(path, "%d bytes long; limits.max_string_bytes allows %d", len(name), maxBytes)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0xfffd }) {
		p.add(path, "%q holds a space or a control character; write a plain name", name)
	}
}
