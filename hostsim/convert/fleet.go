package convert

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core"
)

// stateCluster is the state service's cluster in the shipped Envoy files.
const stateCluster = "pointsman_state"

// fleet writes where engines come from. It must come after the buckets.
func (c *converter) fleet() {
	for _, raw := range c.line.texts("--worker-urls") {
		if address := c.address(raw); address != "" {
			c.doc.Workers = append(c.doc.Workers, worker{Address: address, Models: []string{c.line.text("--model-id")}})
		}
	}
	c.cacheNotes()
	discovered := c.line.has("--service-discovery")
	if discovered || len(c.doc.Workers) == 0 {
		c.doc.State = &state{Cluster: stateCluster}
	}
	if discovered {
		c.note("--service-discovery", "engines are found by the state service: write them into `fleet` of its configuration (configs/statesvc/reference.yaml), and give Envoy a cluster %s for it", stateCluster)
		return
	}
	c.roles()
	if why := c.needsState(); why != "" {
		c.doc.State = &state{Cluster: stateCluster}
		c.note("--worker-urls", "%s: run the state service with the same engines in `fleet.static` of its configuration (configs/statesvc/reference.yaml), and give Envoy a cluster %s for it", why, stateCluster)
	} else if slices.ContainsFunc(c.policies(), func(p *policy) bool { return p.Type == powerOfTwo || p.Type == loadBased }) {
		c.note("--worker-urls", "without a state service load is what this proxy has in flight; for the reports of engines and the requests of other proxies add \"state\": {\"cluster\": %q}", stateCluster)
	}
}

// cacheNotes says what makes the local source of cache_aware know anything.
func (c *converter) cacheNotes() {
	if !slices.ContainsFunc(c.policies(), func(p *policy) bool { return p.Type == cacheAware && p.Source != sourceRemote }) {
		return
	}
	flag := ""
	if c.line.text("--policy") == cacheAware {
		flag = "--policy " + cacheAware
	}
	c.note(flag, "cache_aware asks the state service which engine holds a prompt's prefix. It knows if it can tell the prompt's tokens, by `tokenize` of its configuration, and follows the engines' KV events: have engines publish them (vLLM and SGLang: --kv-events-config), and see `kv` and `fleet.static[].kv` there. Until then every request is a cache miss; `\"source\": \"history\"` needs neither")
}

// roles gives static workers the role of the group that names them. Nobody asks
// engines for it as upstream does.
func (c *converter) roles() {
	known, paired := map[string]string{}, false
	for _, m := range c.doc.Models {
		for i := range m.Buckets {
			if pair := m.Buckets[i].Groups.PD; pair != nil {
				paired = true
				c.members(known, &pair.Prefill, "prefill")
				c.members(known, &pair.Decode, "decode")
			}
		}
	}
	for i := range c.doc.Workers {
		c.doc.Workers[i].Role = known[c.doc.Workers[i].Address]
	}
	if !paired {
		c.note("--worker-urls", "engines are taken as plain ones that serve %s, and are not asked; prefill and decode engines need the state service", c.line.text("--model-id"))
	}
}

func (c *converter) members(known map[string]string, g *group, role string) {
	if g.WorkerIDs == nil {
		c.refuse("--worker-urls", "which engines are for "+role+" is not known: a group names none, and only the state service asks engines",
			"worker_ids in every prefill and decode group, or --service-discovery")
		return
	}
	for _, id := range *g.WorkerIDs {
		if known[id] == "" {
			known[id] = role
		}
	}
}

// policies lists those of all groups.
func (c *converter) policies() []*policy {
	var list []*policy
	for _, m := range c.doc.Models {
		for i := range m.Buckets {
			list = append(list, m.Buckets[i].Groups.policies()...)
		}
	}
	return list
}

// policies are those of the groups.
func (g *groups) policies() (list []*policy) {
	if g.Plain != nil {
		list = append(list, &g.Plain.Policy)
	}
	if g.PD != nil {
		list = append(list, &g.PD.Prefill.Policy, &g.PD.Decode.Policy)
	}
	return list
}

// needsState says why static workers alone do not do, empty when they do.
func (c *converter) needsState() string {
	for _, p := range c.policies() {
		if slices.Contains([]string{sessionAware, sticky, cacheAware}, p.Type) {
			return p.Type + " keeps what it knows in the state service"
		}
		if l := p.Admission; l != nil && (l.MaxRunningRequests != nil || l.MaxWaitingRequests != nil || l.MaxKVTokens != nil || l.MaxPendingPrefillTokens != nil) {
			return "caps on what engines report need their reports"
		}
	}
	return ""
}

// address gives the literal ip:port of a worker URL, empty when it has none.
func (c *converter) address(raw string) string {
	flag := "--worker-urls " + raw
	text := raw
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		c.refuse(flag, "is not a URL", "one like http://10.0.0.7:8000")
		return ""
	case u.Scheme != "http":
		c.refuse(flag, "is not a plain http URL: the filter gives Envoy an address, and TLS to engines is a setting of Envoy's cluster", "http://"+u.Host+" and a transport socket in Envoy")
		return ""
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		c.refuse(flag, "has more than an address", "http://"+u.Host)
		return ""
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		c.refuse(flag, u.Hostname()+" is a host name, and the filter looks up no names", "its address, or the state service, which looks names up: write the engine into `fleet.static` of its configuration and give --service-discovery here")
		return ""
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	address := ip.String() + ":" + port
	if ip.Is6() {
		address = "[" + ip.String() + "]:" + port
	}
	if !core.LiteralAddress(address) {
		c.refuse(flag, "is not a literal address and port", "one like http://10.0.0.7:8000")
		return ""
	}
	return address
}

// workerID gives the ID here of a worker upstream: static ones are known by
// their URL there and by their address here.
func (c *converter) workerID(id string) string {
	for _, raw := range c.line.texts("--worker-urls") {
		if strings.TrimRight(raw, "/") == strings.TrimRight(id, "/") {
			if address := c.address(raw); address != "" {
				return address
			}
		}
	}
	return id
}
