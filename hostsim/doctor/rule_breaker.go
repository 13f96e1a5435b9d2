package doctor

// enough is the least limit that leaves room for streams and callouts of a busy proxy
// (W25: 3,000 parallel picks).
const enough = 4096

func breakerRules() []Rule {
	return []Rule{
		{
			Name: "engine-breakers", Severity: Warning, Looks: "circuit breakers of the engines' cluster below 4096",
			Why: "an answer holds its place for as long as it streams: at 1024, the default, requests get 503 with every engine well", Source: "envoy.md 3.1", check: engineBreakers,
			Fix: "set max_connections, max_pending_requests and max_requests to 16384; engines are capped by the filter's admission",
		},
		{
			Name: "retry-breaker", Severity: Warning, Looks: "a limit on parallel retries below 16 with transport_retry",
			Why: "when an engine dies, all its requests try again at once, and those above the limit, 3 by default, fail", Fix: "set max_retries to 64", check: retryBreaker,
		},
		{
			Name: "state-breakers", Severity: Warning, Looks: "circuit breakers of the state service's cluster below 4096",
			Why: "callouts beyond the limit fail at once, and requests go on with less than is known", Source: "W25", Fix: "set max_pending_requests and max_requests to 8192", check: stateBreakers,
		},
	}
}

func low(n number) bool { return n.value > 0 && n.value < enough }

func engineBreakers(m *model, report reporter) {
	m.eachEngines(func(_ *proxy, _ *filter, c *cluster) {
		for _, b := range []struct {
			name string
			number
		}{{"connections", c.connections}, {"pending requests", c.pending}, {"requests", c.requests}} {
			if low(b.number) {
				report(b.at, "cluster %s takes %d %s at a time", c.name, b.value, b.name)
				return
			}
		}
	})
}

func retryBreaker(m *model, report reporter) {
	m.eachEngines(func(_ *proxy, f *filter, c *cluster) {
		if on, _ := transportRetry(f); on && c.retries.value > 0 && c.retries.value < 16 {
			report(c.retries.at, "cluster %s takes %d retries at a time", c.name, c.retries.value)
		}
	})
}

func stateBreakers(m *model, report reporter) {
	m.eachState(func(_ *proxy, _ *filter, c *cluster) {
		for _, b := range []struct {
			name string
			number
		}{{"pending requests", c.pending}, {"requests", c.requests}} {
			if low(b.number) {
				report(b.at, "cluster %s takes %d %s at a time", c.name, b.value, b.name)
				return
			}
		}
	})
}
