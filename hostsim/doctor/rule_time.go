package doctor

import "time"

// longAnswer is how long an answer may stream before a limit on it is thought to be
// meant. silence is how long an engine may be silent in front of a long prompt.
const (
	longAnswer = 10 * time.Minute
	silence    = 2 * time.Minute
	// keepAlive is how long engines keep an idle connection: uvicorn's default (W26).
	keepAlive = 5 * time.Second
)

func timeRules() []Rule {
	return []Rule{
		{
			Name: "route-timeout", Severity: Error, Looks: "a route that ends answers after a while, 15 s by default",
			Why: "the time-out counts the whole answer: long ones end in the middle with 504 or a cut stream", Source: "envoy.md 4.5", Fix: "set timeout: 0s on the route", check: routeTimeout,
		},
		{
			Name: "own-deadline", Severity: Error, Looks: "body_timeout_ms that is not below the stream's idle time-out",
			Why: "Envoy's timer runs while the filter holds a request: its bare 408 comes before the filter's own", Source: "envoy.md 4.5, W24",
			Fix: "raise stream_idle_timeout above body_timeout_ms, 900s for the default", check: ownDeadline,
		},
		{
			Name: "engine-silence", Severity: Warning, Looks: "a stream's idle time-out below two minutes",
			Why: "an engine that computes a long prompt, or has it queued, is silent for as long", Fix: "set stream_idle_timeout to 900s", check: engineSilence,
		},
		{
			Name: "request-timeout", Severity: Warning, Looks: "a request_timeout that is not above body_timeout_ms",
			Why: "slow uploads get Envoy's bare 408 before the filter's", Fix: "raise request_timeout above body_timeout_ms, 120s for the default", check: requestTimeout,
		},
		{
			Name: "stream-duration", Severity: Warning, Looks: "a limit on the length of streams below ten minutes",
			Why: "answers that stream for longer are cut", Fix: "remove max_stream_duration, or raise it", check: streamDuration,
		},
		{
			Name: "per-try-timeout", Severity: Warning, Looks: "a time-out for each try below ten minutes",
			Why: "a slow engine is given up in the middle of its work, and the next one begins it anew", Fix: "remove the time-out of tries", check: perTry,
		},
		{
			Name: "keep-alive", Severity: Warning, Looks: "idle connections to engines that are kept longer than engines keep them",
			Why: "a request now and then meets a connection the engine is closing, and gets 503: uvicorn closes after 5 s", Source: "W26",
			Fix: "set common_http_protocol_options.idle_timeout of the engines' cluster to 4s (connectionPool.http.idleTimeout of a DestinationRule on Istio, timeout.http.connectionIdleTimeout of a BackendTrafficPolicy on Envoy Gateway)", check: keptAlive,
		},
	}
}

func routeTimeout(m *model, report reporter) {
	m.eachRoute(func(_ *proxy, _ *chain, _ *filter, r *route) {
		if t := r.timeout; t.value > 0 && t.value < longAnswer {
			by := "by default"
			if t.set {
				by = "as it says"
			}
			report(t.at, "the route ends answers after %s, %s", t.value, by)
		}
	})
}

// bodyTimeout is how long a filter waits for a body.
func bodyTimeout(f *filter) time.Duration {
	if c := f.plugin.config; c != nil && c.spec != nil {
		return time.Duration(min(*c.spec.BodyTimeoutMillis, 1<<40)) * time.Millisecond
	}
	return time.Minute
}

// idleOf is the idle time-out of streams that take a route.
func idleOf(c *chain, r *route) span {
	if r.idle.set {
		return r.idle
	}
	return c.idle
}

func ownDeadline(m *model, report reporter) {
	m.eachRoute(func(_ *proxy, c *chain, f *filter, r *route) {
		if idle := idleOf(c, r); idle.value > 0 && bodyTimeout(f) >= idle.value {
			report(idle.at, "a stream may be idle for %s, the filter waits %s for a body", idle.value, bodyTimeout(f))
		}
	})
}

func engineSilence(m *model, report reporter) {
	m.eachRoute(func(_ *proxy, c *chain, f *filter, r *route) {
		if idle := idleOf(c, r); idle.set && idle.value > bodyTimeout(f) && idle.value < silence {
			report(idle.at, "a stream may be idle for %s", idle.value)
		}
	})
}

func requestTimeout(m *model, report reporter) {
	m.eachChain(func(_ *proxy, c *chain, f *filter) {
		if c.request.value > 0 && c.request.value <= bodyTimeout(f) {
			report(c.request.at, "a request may take %s, the filter waits %s for a body", c.request.value, bodyTimeout(f))
		}
	})
}

func streamDuration(m *model, report reporter) {
	note := func(s span) {
		if s.value > 0 && s.value < longAnswer {
			report(s.at, "a stream ends after %s", s.value)
		}
	}
	m.eachRoute(func(p *proxy, c *chain, _ *filter, r *route) {
		note(c.longest)
		note(r.longest)
		for _, name := range r.clusters {
			if cl := p.cluster(name); cl != nil {
				note(cl.longest)
			}
		}
	})
}

func perTry(m *model, report reporter) {
	m.eachRoute(func(_ *proxy, _ *chain, _ *filter, r *route) {
		if r.perTry.value > 0 && r.perTry.value < longAnswer {
			report(r.perTry.at, "a try ends after %s", r.perTry.value)
		}
	})
}

func keptAlive(m *model, report reporter) {
	m.eachEngines(func(_ *proxy, _ *filter, c *cluster) {
		switch {
		case !c.idle.set:
			report(c.idle.at, "idle connections to %s are kept for an hour, the default", c.name)
		case c.idle.value == 0 || c.idle.value >= keepAlive:
			report(c.idle.at, "idle connections to %s are kept for %s", c.name, c.idle.value)
		}
	})
}
