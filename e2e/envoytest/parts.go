package envoytest

import "encoding/json"

// parts are a bootstrap taken apart: what an Envoy can be given while it runs, and the
// rest.
type parts struct {
	rest                document
	listeners, clusters []any
}

func takeApart(o Options, addr string) (parts, error) {
	whole, err := bootstrap(o, addr, addr)
	if err != nil {
		return parts{}, err
	}
	var doc document
	if err := json.Unmarshal(whole, &doc); err != nil {
		return parts{}, err
	}
	resources := doc["static_resources"].(document)
	p := parts{rest: doc, listeners: resources["listeners"].([]any), clusters: resources["clusters"].([]any)}
	for _, l := range p.listeners {
		l.(document)["@type"] = "type.googleapis.com/envoy.config.listener.v3.Listener"
	}
	for _, c := range p.clusters {
		c.(document)["@type"] = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	}
	delete(doc, "static_resources")
	delete(doc, "admin")
	return p, nil
}

// kind tells apart Envoys that cannot take each other's place.
func (p parts) kind(o Options) (string, error) {
	text, err := json.Marshal([]any{o.Version, max(o.Concurrency, 1), o.Module, p.rest})
	return string(text), err
}
