package doctor

// Rules that the readers apply.
const (
	ruleUnreadable   = "unreadable"
	ruleNotKnown     = "unknown-document"
	ruleDuplicate    = "duplicate-key"
	ruleUnknownField = "unknown-field"
	ruleBadValue     = "bad-value"
	ruleStateConfig  = "state-config"
)

func inputRules() []Rule {
	return []Rule{
		{
			Name: ruleUnreadable, Severity: Error, Looks: "a file that is neither YAML nor JSON, or too large or deep",
			Why: "nothing of it can be checked", Fix: "correct it, or give doctor the part that matters",
		},
		{
			Name: ruleNotKnown, Severity: Error, Looks: "a document that is no configuration of Envoy, Istio, Envoy Gateway, the filter or the state service, or of an apiVersion that its kind does not have",
			Why: "nothing of it can be checked", Fix: "leave it out, or add the key that tells what it is, such as static_resources, apiVersion and kind, or models",
		},
		{
			Name: ruleDuplicate, Severity: Error, Looks: "a key that stands twice in one mapping",
			Why: "readers differ in which of the two they take", Fix: "keep one",
		},
		{
			Name: ruleUnknownField, Severity: Error, Looks: "a key that the type of the document does not have",
			Why: "some readers refuse the whole document, others drop the key and go on without it", Fix: "correct the name or its place",
		},
		{
			Name: ruleBadValue, Severity: Error, Looks: "a value that its type does not allow",
			Why: "the document is refused, at start or, worse, at the next update", Fix: "write a value of that type",
		},
		{
			Name: "filter-config", Severity: Error, Looks: "what the filter's own decoder refuses",
			Why: "the filter does not start: the proxy refuses the update, or answers 503", Fix: "see the reason; hostsim serve --config takes the same checks",
			check: func(m *model, report reporter) {
				for _, f := range m.filters {
					for _, p := range f.problems {
						text := p.Reason
						if p.Fix != "" {
							text += "; " + p.Fix
						}
						report(f.at.Find(p.Path), "%s", text)
					}
				}
			},
		},
		{
			Name: ruleStateConfig, Severity: Error, Looks: "what the state service refuses",
			Why: "the state service does not start", Fix: "see the reason",
		},
	}
}
