package doctor

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// clusterPatch adds a cluster, or changes those that its match names: clusters that are
// made here, and those of services elsewhere that routes lead to.
func (r *istioReader) clusterPatch(at, value tree.At, operation string) {
	if operation == "ADD" {
		r.addCluster(value)
		return
	}
	match := at.Get("match", "cluster")
	if operation == "MERGE" {
		r.partial(match)
	}
	for _, c := range r.proxy.clusters {
		if matchesCluster(match, c.name) {
			c.patch(value)
		}
	}
}

// partial adds clusters that a match names and that nothing here makes.
func (r *istioReader) partial(match tree.At) {
	name, service, port := match.Get("name").Text(), match.Get("service").Text(), match.Get("port_number").Text()
	names := r.destinations()
	switch {
	case name != "":
		names = append(names, name)
	case service != "" && port != "":
		names = append(names, outbound(service, port, match.Get("subset").Text()))
	}
	for _, n := range names {
		if matchesCluster(match, n) && r.proxy.cluster(n) == nil {
			c := readCluster(tree.At{File: match.File, Path: match.Path, Line: match.Line}, r.proxy.defaults())
			c.name, c.partial = n, true
			r.proxy.clusters = append(r.proxy.clusters, c)
		}
	}
}

// destinations are the clusters that routes lead to.
func (r *istioReader) destinations() (names []string) {
	for _, h := range r.chain.hosts {
		for _, rt := range h.routes {
			names = append(names, rt.clusters...)
		}
	}
	return names
}

// matchesCluster reports whether a patch of clusters is for one. What the match leaves out
// fits any.
func matchesCluster(match tree.At, cluster string) bool {
	if name := match.Get("name").Text(); name != "" {
		return name == cluster
	}
	parts := strings.Split(cluster, "|") // outbound|PORT|SUBSET|HOST
	wanted := []string{"", match.Get("port_number").Text(), match.Get("subset").Text(), match.Get("service").Text()}
	if len(parts) != len(wanted) {
		return !slices.ContainsFunc(wanted, func(w string) bool { return w != "" })
	}
	for i, w := range wanted {
		if w != "" && w != parts[i] {
			return false
		}
	}
	return true
}

// fullHost is the name of a service that a host of a manifest means: one without dots is
// in the manifest's namespace, unless a ServiceEntry has it as it is.
func (r *istioReader) fullHost(host, namespace string) string {
	own := func(c *cluster) bool { return strings.HasSuffix(c.name, "|"+host) }
	if strings.Contains(host, ".") || slices.ContainsFunc(r.proxy.clusters, own) {
		return host
	}
	return host + "." + namespace + ".svc.cluster.local"
}
