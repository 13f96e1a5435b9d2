package doctor

import (
	"net"
	"slices"
	"strings"
)

func stateRules() []Rule {
	return []Rule{
		{
			Name: "state-address", Severity: Error, Looks: "a cluster for the state service that leads elsewhere than the service listens",
			Why: "every call fails, and without static workers no request is routed", Fix: "make the cluster's endpoint and listen agree", check: stateAddress,
		},
		{
			Name: "state-loopback", Severity: Error, Looks: "a state service that listens on loopback and is called from elsewhere",
			Why: "it cannot be reached", Fix: "set listen to an address of the machine, with token_env or TLS", check: stateLoopback,
		},
		{
			Name: "state-tls", Severity: Error, Looks: "TLS on one side of the state service only",
			Why: "no call gets through", Fix: "give the cluster a transport_socket with TLS, or the service no tls", check: stateTLS,
		},
		{
			Name: "state-token", Severity: Error, Looks: "a token on one side of the state service only",
			Why: "the service answers every call with 401; or the filter sends a token that nobody asked for", Fix: "set token_env on both sides", check: stateToken,
		},
		{
			Name: "token-not-passed", Severity: Error, Looks: "a token_env that does not reach the VM",
			Why: "the filter sends no token and the state service answers 401", check: tokenNotPassed,
			Fix: "name the variable in vm_config.environment_variables.host_env_keys (vmConfig.env of a WasmPlugin, env.hostKeys on Envoy Gateway)",
		},
	}
}

// service is the one state service of the input. With several of them it is not known
// whose is whose.
func (m *model) service() *stateConfig {
	if len(m.services) != 1 || m.services[0].config == nil {
		return nil
	}
	return m.services[0]
}

// eachPair calls visit for every configuration of a filter that has a state service,
// and the service.
func (m *model) eachPair(visit func(*filterConfig, *stateConfig)) {
	s := m.service()
	if s == nil {
		return
	}
	for _, f := range m.filters {
		if f.spec != nil && f.spec.State != nil {
			visit(f, s)
		}
	}
}

// eachServed calls visit for every cluster of the state service whose endpoints are
// known, and the service.
func (m *model) eachServed(visit func(*cluster, *stateConfig)) {
	s := m.service()
	if s == nil {
		return
	}
	m.eachState(func(_ *proxy, _ *filter, c *cluster) {
		if len(c.endpoints) > 0 {
			visit(c, s)
		}
	})
}

func stateAddress(m *model, report reporter) {
	m.eachServed(func(c *cluster, s *stateConfig) {
		_, want, _ := net.SplitHostPort(s.config.Listen)
		for _, e := range c.endpoints {
			host, port, _ := net.SplitHostPort(e.address)
			if port != want && want != "0" && !inCluster(host) {
				report(e.at, "cluster %s leads to %s, the state service listens on %s", c.name, e.address, s.config.Listen)
			}
		}
	})
}

// inCluster reports whether a host is a Kubernetes Service, which has ports of its own.
func inCluster(host string) bool {
	return strings.HasSuffix(host, ".svc") || strings.Contains(host, ".svc.")
}

func stateLoopback(m *model, report reporter) {
	m.eachServed(func(c *cluster, s *stateConfig) {
		for _, e := range c.endpoints {
			host, _, _ := net.SplitHostPort(e.address)
			ip := net.ParseIP(host)
			local := ip != nil && ip.IsLoopback() || host == "localhost"
			if s.config.Loopback() && !local {
				report(s.at.Get("listen"), "the state service listens on %s, cluster %s leads to %s", s.config.Listen, c.name, e.address)
				return
			}
		}
	})
}

func stateTLS(m *model, report reporter) {
	m.eachServed(func(c *cluster, s *stateConfig) {
		switch {
		case s.config.TLS.Enabled() && !c.tls:
			report(c.at.Get("transport_socket"), "the state service speaks TLS, cluster %s does not", c.name)
		case c.tls && !s.config.TLS.Enabled():
			report(c.at.Get("transport_socket"), "cluster %s speaks TLS, the state service does not", c.name)
		}
	})
}

func stateToken(m *model, report reporter) {
	m.eachPair(func(f *filterConfig, s *stateConfig) {
		switch {
		case s.config.TokenEnv != "" && f.spec.State.TokenEnv == "":
			report(f.at.Get("state", "token_env"), "the state service asks for a token, the filter sends none")
		case s.config.TokenEnv == "" && f.spec.State.TokenEnv != "":
			report(s.at.Get("token_env"), "the filter sends a token, the state service asks for none: anyone who reaches it may use it")
		}
	})
}

func tokenNotPassed(m *model, report reporter) {
	m.eachPlugin(func(_ *proxy, f *filter) {
		cfg := f.plugin.config
		if cfg == nil || cfg.spec == nil || cfg.spec.State == nil || cfg.spec.State.TokenEnv == "" {
			return
		}
		if !slices.Contains(f.plugin.env, cfg.spec.State.TokenEnv) {
			report(cfg.at.Get("state", "token_env"), "%s is not among the environment variables of the VM", cfg.spec.State.TokenEnv)
		}
	})
}
