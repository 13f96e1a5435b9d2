package doctor

import (
	"fmt"
	"slices"
)

// Picture is what one proxy will do, in a few lines.
type Picture struct {
	File    string   `json:"file"`
	Title   string   `json:"title"`
	Version string   `json:"version,omitempty"`
	Verdict *Verdict `json:"verdict,omitempty"` // nil when the version is not known
	Lines   []string `json:"lines"`
}

func (m *model) pictures() []Picture {
	list := make([]Picture, 0, len(m.proxies))
	for _, p := range m.proxies {
		pic := Picture{File: p.at.File, Title: p.title}
		if p.version != nil {
			v := Judge(*p.version)
			pic.Version, pic.Verdict = p.version.String(), &v
		}
		for _, l := range p.listeners {
			for _, c := range l.chains {
				pic.Lines = append(pic.Lines, p.line(l, c))
			}
		}
		if p.instead != "" {
			pic.Lines = append(pic.Lines, "an alternative to "+p.instead+", which has objects of the same names")
		}
		list = append(list, pic)
	}
	return list
}

// line says where requests of one chain go.
func (p *proxy) line(l *listener, c *chain) string {
	name := l.name
	if l.address != "" {
		name += " " + l.address
	}
	ours := c.ours()
	if len(ours) == 0 {
		return name + ": without the filter"
	}
	how := "by the body"
	if !ours[0].plugin.pause {
		how = "by headers only"
	}
	return fmt.Sprintf("%s: filter %s, routes %s, to %s, %s", name, ours[0].name, how, p.goal(c), p.state(ours[0]))
}

// goal names the clusters of engines and how they find the endpoint.
func (p *proxy) goal(c *chain) string {
	var names []string
	for _, h := range c.hosts {
		for _, r := range h.routes {
			for _, name := range r.clusters {
				if cl := p.cluster(name); cl != nil && cl.source != sourceOwn && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	switch len(names) {
	case 0:
		return "no cluster that is known to read the endpoint"
	case 1:
		cl := p.cluster(names[0])
		if cl.source == sourceOriginal {
			return cl.name + " (ORIGINAL_DST)"
		}
		return cl.name + " (override_host)"
	}
	return fmt.Sprintf("%s and %d more clusters", names[0], len(names)-1)
}

func (p *proxy) state(f *filter) string {
	if f.plugin.config == nil || f.plugin.config.spec == nil {
		return "configuration not read"
	}
	s := f.plugin.config.spec.State
	if s == nil {
		return "no state service"
	}
	if c := p.cluster(s.Cluster); c != nil && len(c.endpoints) > 0 {
		return fmt.Sprintf("state service %s at %s", s.Cluster, c.endpoints[0].address)
	}
	return "state service " + s.Cluster
}
