package doctor

func streamRules() []Rule {
	return []Rule{
		{
			Name: "call-stream", Severity: Error, Looks: "call_stream with a cluster of the state service that does not speak HTTP/2",
			Why: "no stream comes about: every call stays an HTTP request, and one line of the proxy's log tells",
			Fix: "explicit_http_config: {http2_protocol_options: {connection_keepalive: {interval: 5s, timeout: 2s}}} in the cluster's HttpProtocolOptions (on Istio h2UpgradePolicy: UPGRADE of a DestinationRule, and the same by an EnvoyFilter), or leave call_stream out", check: streamProtocol,
		},
		{
			Name: "call-stream-pings", Severity: Warning, Looks: "call_stream and a cluster of the state service without HTTP/2 pings",
			Why: "a call that is given up leaves its connection as it is: one whose peer is gone without a word is kept until the kernel gives it up, for many minutes, and all calls of a worker thread to that replica go over it",
			Fix: "connection_keepalive: {interval: 5s, timeout: 2s} in http2_protocol_options; on Istio by an EnvoyFilter", check: streamPings,
		},
		{
			Name: "call-stream-unused", Severity: Note, Looks: "requests that wait for calls to a state service over HTTP/2, without call_stream",
			Why: "Envoy makes a stream of its own for each such call; a message on one that stays open costs it less",
			Fix: `"call_stream": true in "state", with a state service of the same release`, check: streamUnused,
		},
	}
}

// callStream reports whether a filter is to keep a stream to the state service.
func (f *filter) callStream() bool {
	cfg := f.plugin.config
	return cfg != nil && cfg.spec != nil && cfg.spec.State != nil && cfg.spec.State.CallStream
}

// eachStream calls visit for every cluster of a state service that is to carry a stream
// of calls.
func (m *model) eachStream(visit func(*proxy, *cluster)) {
	m.eachState(func(p *proxy, f *filter, c *cluster) {
		if f.callStream() {
			visit(p, c)
		}
	})
}

// streamProtocol reports clusters that are known to speak HTTP/1.1. Of one that a control
// plane makes elsewhere a patch here need not say it.
func streamProtocol(m *model, report reporter) {
	m.eachStream(func(p *proxy, c *cluster) {
		at := first(c.http1At, c.at.Get("typed_extension_protocol_options"))
		switch {
		case c.http2At.Exists() || c.alpn:
			return
		case c.http1At.Exists():
		case c.partial:
			return
		case p.host == hostIstio:
			at = c.at
		}
		report(at, "cluster %s speaks HTTP/1.1", c.name)
	})
}

func streamPings(m *model, report reporter) {
	m.eachStream(func(_ *proxy, c *cluster) {
		if pings := c.http2At.Get("connection_keepalive"); c.http2At.Exists() && !pings.Exists() {
			report(pings, "cluster %s sends no pings", c.name)
		}
	})
}

func streamUnused(m *model, report reporter) {
	m.eachState(func(_ *proxy, f *filter, c *cluster) {
		cfg := f.plugin.config
		if waits := waitsAt(cfg.spec); c.http2At.Exists() && !cfg.spec.State.CallStream && waits != "" {
			report(cfg.at.Get("state", "call_stream"), "%s has requests wait for calls, and cluster %s speaks HTTP/2", waits, c.name)
		}
	})
}
