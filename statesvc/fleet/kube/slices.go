package kube

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Keys of annotations and labels of slices.
const (
	roleKey    = "pointsman.io/role"
	modelsKey  = "pointsman.io/models"
	versionKey = "pointsman.io/version-group"
	portKey    = "pointsman.io/port"
)

// defaultPort is that of a slice without ports (engine-selection.md 14.1).
const defaultPort = 30000

// rules turn slices into claims.
type rules struct {
	prefill, decode map[string]string // nil: roles come from elsewhere
	port            string
	maxStringBytes  int
}

// endpoint is one endpoint of one slice.
type endpoint struct {
	worker config.Worker
	uid    string
	slice  string // namespace/name
	ready, serving, terminating,
	v6 bool
}

// claims are the workers of all slices, by ID, and what was left out.
func (r *rules) claims(list []*discovery.EndpointSlice) (out []claims.Claim, problems []string) {
	byID := map[string][]endpoint{}
	for _, s := range list {
		found, problem := r.endpoints(s)
		if problem != "" {
			problems = append(problems, s.Namespace+"/"+s.Name+": "+problem)
		}
		for _, e := range found {
			byID[e.worker.ID] = append(byID[e.worker.ID], e)
		}
	}
	for _, same := range byID {
		out = append(out, join(same))
	}
	slices.Sort(problems)
	return apart(out), problems
}

// join makes one claim of a pod's endpoints. They may contradict each other while a pod
// moves between slices: ready is believed from any, and so is terminating, which no pod
// takes back.
func join(same []endpoint) claims.Claim {
	slices.SortFunc(same, func(a, b endpoint) int {
		return cmp.Or(first(a.v6, b.v6), first(a.worker.Role != "prefill", b.worker.Role != "prefill"),
			first(a.worker.Role == "", b.worker.Role == ""),
			strings.Compare(a.slice, b.slice), strings.Compare(a.worker.Endpoint.HostPort(), b.worker.Endpoint.HostPort()))
	})
	c := claims.Claim{Worker: same[0].worker, Incarnation: same[0].uid}
	c.Worker.Services = nil
	ready, serving := false, false
	for _, e := range same {
		ready, serving = ready || e.ready, serving || e.serving
		c.Worker.Draining = c.Worker.Draining || e.terminating
		for _, s := range e.worker.Services {
			if !slices.Contains(c.Worker.Services, s) {
				c.Worker.Services = append(c.Worker.Services, s)
			}
		}
	}
	slices.Sort(c.Worker.Services)
	c.Unready = !ready
	if c.Worker.Draining {
		c.Unready = !serving
	}
	return c
}

// first puts the one that is not before the one that is.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// apart keeps one claim of each address: an address that a pod left may be another's
// while the first one is still shown as terminating.
func apart(list []claims.Claim) []claims.Claim {
	slices.SortFunc(list, func(a, b claims.Claim) int {
		return cmp.Or(strings.Compare(a.Worker.Endpoint.HostPort(), b.Worker.Endpoint.HostPort()),
			first(a.Worker.Draining, b.Worker.Draining), first(a.Unready, b.Unready), strings.Compare(a.Worker.ID, b.Worker.ID))
	})
	list = slices.CompactFunc(list, func(a, b claims.Claim) bool { return a.Worker.Endpoint == b.Worker.Endpoint })
	slices.SortFunc(list, func(a, b claims.Claim) int { return strings.Compare(a.Worker.ID, b.Worker.ID) })
	return list
}

// endpoints are those of one slice.
func (r *rules) endpoints(s *discovery.EndpointSlice) ([]endpoint, string) {
	if s.AddressType == discovery.AddressTypeFQDN {
		return nil, "holds host names; only slices of IP addresses are followed"
	}
	base, ok, problem := r.worker(s)
	if !ok {
		return nil, problem
	}
	port, problem := r.portOf(s)
	if problem != "" {
		return nil, problem
	}
	var out []endpoint
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		ip, ok := address(e)
		if !ok {
			continue
		}
		w := base
		w.Endpoint = config.Addressed(ip.String(), port)
		w.ID = s.Namespace + "/" + s.Name + "/" + w.Endpoint.HostPort()
		uid := ""
		if e.TargetRef != nil && e.TargetRef.UID != "" {
			uid = string(e.TargetRef.UID)
			w.ID = s.Namespace + "/" + uid
		}
		ready := isTrue(e.Conditions.Ready, true)
		out = append(out, endpoint{
			worker: w, uid: uid, slice: s.Namespace + "/" + s.Name, v6: ip.Is6(),
			ready: ready, serving: isTrue(e.Conditions.Serving, ready), terminating: isTrue(e.Conditions.Terminating, false),
		})
	}
	return out, ""
}

// address is the endpoint's first one: they are all the same pod's.
func address(e *discovery.Endpoint) (netip.Addr, bool) {
	if len(e.Addresses) == 0 {
		return netip.Addr{}, false
	}
	ip, err := netip.ParseAddr(e.Addresses[0])
	if err != nil || ip.IsUnspecified() || ip.IsMulticast() || ip.Zone() != "" {
		return netip.Addr{}, false
	}
	return ip.Unmap(), true
}

func isTrue(condition *bool, unknown bool) bool {
	if condition == nil {
		return unknown
	}
	return *condition
}

// worker is what the slice says of all its engines, false when it is passed over.
func (r *rules) worker(s *discovery.EndpointSlice) (w config.Worker, ok bool, problem string) {
	w.Role, w.VersionGroup = look(&s.ObjectMeta, roleKey), look(&s.ObjectMeta, versionKey)
	if r.prefill != nil {
		switch {
		case matches(r.prefill, s.Labels):
			w.Role = "prefill"
		case matches(r.decode, s.Labels):
			w.Role = "decode"
		default:
			return w, false, ""
		}
	}
	for name := range strings.SplitSeq(look(&s.ObjectMeta, modelsKey), ",") {
		if name = strings.TrimSpace(name); name != "" {
			w.Models = append(w.Models, name)
		}
	}
	if service := s.Labels[discovery.LabelServiceName]; service != "" {
		w.Services = []string{s.Namespace + "/" + service}
	}
	if problems := w.Problems(r.maxStringBytes); len(problems) > 0 {
		return w, false, problems[0].String()
	}
	return w, true, ""
}

func look(m *meta.ObjectMeta, key string) string {
	if value, ok := m.Annotations[key]; ok {
		return value
	}
	return m.Labels[key]
}

func matches(terms, labels map[string]string) bool {
	for key, value := range terms {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

func (r *rules) portOf(s *discovery.EndpointSlice) (uint16, string) {
	want := cmp.Or(look(&s.ObjectMeta, portKey), r.port)
	if n, err := strconv.ParseUint(want, 10, 16); err == nil && n > 0 {
		return uint16(n), ""
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		named := p.Name != nil && *p.Name == want
		if p.Port != nil && *p.Port > 0 && *p.Port < 1<<16 && (want == "" || named) {
			return uint16(*p.Port), ""
		}
	}
	if want == "" {
		return defaultPort, ""
	}
	return 0, fmt.Sprintf("has no port %q", want)
}
