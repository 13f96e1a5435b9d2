package doctor

import (
	"fmt"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

func patchRules() []Rule {
	return []Rule{
		{
			Name: "patch-misses", Severity: Error, Looks: "a patch or plugin for another gateway, listener, filter or cluster than those that are here",
			Why: "nothing is changed, and only the control plane may tell: requests go on without the filter, or with the defaults",
			Fix: "write the labels, namespace, context or name of the gateway that is here; on Envoy Gateway a listener is NAMESPACE/GATEWAY/LISTENER", check: patchMisses,
		},
		{
			Name: "patch-namespace", Severity: Warning, Looks: "an EnvoyFilter or WasmPlugin in another namespace than its Gateway, and not in istio-system",
			Why: "it holds for pods of its own namespace only; the Gateway does not say where its pods run",
			Fix: "put it into the namespace of the gateway's pods; if that is where it is, nothing", check: patchStrays,
		},
	}
}

// miss is a patch that hits nothing.
type miss struct {
	at   tree.At
	text string
}

func (p *proxy) miss(at tree.At, format string, args ...any) {
	p.misses = append(p.misses, miss{at, fmt.Sprintf(format, args...)})
}

func patchMisses(m *model, report reporter) {
	for _, p := range m.proxies {
		for _, miss := range p.misses {
			report(miss.at, "%s", miss.text)
		}
	}
}

func patchStrays(m *model, report reporter) {
	for _, p := range m.proxies {
		for _, at := range p.strays {
			report(at, "no Gateway is in namespace %s", at.Text())
		}
	}
}
