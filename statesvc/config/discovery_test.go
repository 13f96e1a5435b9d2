package config_test

import (
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/stretchr/testify/require"
)

func TestParse_discoveryProblems(t *testing.T) {
	const beyond = "version: 1\nlisten: 0.0.0.0:9090\n"
	cases := map[string]struct {
		text string
		want []string
	}{
		"unknown key":     {good + "discovery: {file: {pth: x}}", []string{"discovery.file.pth: unknown key; did you mean path?"}},
		"misplaced block": {good + "kubernetes: {enabled: true}", []string{"kubernetes: unknown key; known here: version, listen, tls, token_env, fleet, discovery, health, introspect, load, kv, indexer, tokenize, sync, affinity, limits, shutdown"}},
		"file interval":   {good + "discovery: {file: {path: a, interval_ms: 1}}", []string{"discovery.file.interval_ms: 1 is out of range; write 100 to 86400000 milliseconds"}},
		"dns": {good + "discovery: {dns: {interval_ms: 0, server: x, names: [{}, {name: a}, {name: 'a:1', role: both}, {name: 'a:1'}, {name: 'a:1', srv: true}]}}", []string{
			"discovery.dns.interval_ms: 0 is out of range; write 100 to 86400000 milliseconds",
			`discovery.dns.server: "x" is not host:port; write for example 127.0.0.1:8000 or [::1]:8000`,
			"discovery.dns.names[0].name: missing; write host:port, such as engines.prod.svc.cluster.local:8000",
			`discovery.dns.names[1].name: "a" is not host:port; write for example 127.0.0.1:8000 or [::1]:8000`,
			`discovery.dns.names[2].role: "both" is not a role; write plain, prefill or decode, or leave it out to ask the engine`,
			`discovery.dns.names[3].name: "a:1" is listed twice; remove one`,
			`discovery.dns.names[4].name: "a:1" is no name of SRV records; write such as _http._tcp.engines.prod.svc.cluster.local, without a port`,
			`discovery.dns.names[4].name: "a:1" is listed twice; remove one`,
		}},
		"open fleet":     {beyond + "discovery: {http: {enabled: true}}", []string{"discovery.http.token_env: missing; beyond loopback (listen: 0.0.0.0:9090) workers are changed with a token only: name the environment variable that holds it"}},
		"one token":      {beyond + "token_env: SYNC\ndiscovery: {http: {enabled: true, token_env: SYNC}}", []string{"discovery.http.token_env: SYNC is also token_env, which every proxy knows; name another"}},
		"equal tokens":   {beyond + "token_env: SYNC\ndiscovery: {http: {enabled: true, token_env: SAME}}", []string{"discovery.http.token_env: the token in SAME is the one in SYNC, which every proxy knows; take another"}},
		"no token":       {good + "discovery: {http: {enabled: true, token_env: UNSET}}", []string{"discovery.http.token_env: environment variable UNSET is empty or unset; set it to the token, or remove token_env to ask for none"}},
		"http off":       {good + "discovery: {http: {state_file: x}}", []string{"discovery.http.enabled: false, so token_env and state_file have no effect; write true or remove them"}},
		"kubernetes off": {good + "discovery: {kubernetes: {services: [a]}}", []string{"discovery.kubernetes.enabled: false, so the other settings have no effect; write true or remove them"}},
		"everything":     {"version: 1\ndiscovery: {kubernetes: {enabled: true}}", []string{"discovery.kubernetes: every Service would be taken for engines; write services, selector, or prefill_selector and decode_selector"}},
		"kubernetes": {"version: 1\ndiscovery: {kubernetes: {enabled: true, namespace: A, services: [a/b, c, c], port: '0', prefill_selector: 'a in (b)', decode_selector: 'x=1,x=2'}}", []string{
			`discovery.kubernetes.namespace: "A" is no namespace; write its name, or leave it out for all`,
			`discovery.kubernetes.services[0]: "a/b" is no name of a Service; write it without its namespace`,
			`discovery.kubernetes.services[2]: "c" is listed twice; remove one`,
			`discovery.kubernetes.prefill_selector: "a in (b)" is no term of this selector; write key=value, with commas between`,
			`discovery.kubernetes.decode_selector: x cannot be both "1" and "2"; remove one`,
			`discovery.kubernetes.port: "0" is neither the name nor the number of a port`,
		}},
		"half a pair": {"version: 1\ndiscovery: {kubernetes: {enabled: true, prefill_selector: a=b}}", []string{"discovery.kubernetes: prefill_selector and decode_selector go together; give both or neither"}},
		"equal pair":  {"version: 1\ndiscovery: {kubernetes: {enabled: true, prefill_selector: 'a=b, c==d', decode_selector: 'c=d,a=b'}}", []string{"discovery.kubernetes.decode_selector: says the same as prefill_selector, so no slice would be decode; write another"}},
	}
	env := func(name string) string { return map[string]string{"SYNC": "s", "SAME": "s", "ADMIN": "a"}[name] }
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse([]byte(c.text), env)
			var problems config.Problems
			require.ErrorAs(t, err, &problems)
			got := make([]string, len(problems))
			for i, p := range problems {
				got[i] = p.String()
			}
			require.Equal(t, c.want, got)
		})
	}
	cfg, err := config.Parse([]byte(beyond+"token_env: SYNC\ndiscovery: {http: {enabled: true, token_env: ADMIN}, dns: {names: [{name: 'E:80'}, {name: _h._tcp.e., srv: true}]}}"), env)
	require.NoError(t, err)
	require.Equal(t, "a", cfg.Discovery.HTTP.Token)
	require.Equal(t, "e", cfg.Discovery.DNS.Names[0].Host)
	require.Equal(t, "_h._tcp.e", cfg.Discovery.DNS.Names[1].Host)
}

func TestParseRoster(t *testing.T) {
	list, err := config.ParseRoster([]byte(`{"workers":[{"address":"10.0.0.1:8000","role":"prefill"}]}`), 256)
	require.NoError(t, err)
	require.Equal(t, "10.0.0.1:8000", list[0].ID)
	list, err = config.ParseRoster([]byte("workers: []"), 256)
	require.NoError(t, err)
	require.Empty(t, list)
	for text, want := range map[string]string{
		"":                      "the file is empty; write workers: [] for no workers",
		"workers:":              "workers: missing; write workers: [] for no workers",
		"[1]":                   "the file must be a mapping with the key workers",
		"workers: [{address: a": "not valid YAML",
		"workers: 3":            "workers: want a list, got 3",
		"worker: []":            "did you mean workers?",
		"workers: [{rolle: x}]": "workers[0].rolle: unknown key; did you mean role?",
		"workers: [{address: 'a:1', id: x}, {address: 'a:1', id: x}]": `2 problems:
  workers[1].address: "a:1" is also the address of workers[0]; remove one or change it
  workers[1].id: "x" is also the id of workers[0]; remove one or change it`,
	} {
		_, err := config.ParseRoster([]byte(text), 256)
		require.ErrorContains(t, err, want, text)
	}
}

func TestParseWorker(t *testing.T) {
	w, err := config.ParseWorker([]byte(`{"address":"10.0.0.1:8000","models":["m"]}`), 256)
	require.NoError(t, err)
	require.Empty(t, w.ID, "it has none of its own")
	require.Equal(t, "10.0.0.1:8000", w.Endpoint.HostPort())
	for text, want := range map[string]string{
		"":   "the body is empty; write at least an address",
		"[]": `the body must be one object, such as {"address":"10.0.0.1:8000"}`,
		`{"addr":"x","models":[""]}`: `3 problems:
  addr: unknown key; known here: id, address, url, models, role, draining, version_group, services, health, metrics, kv
  address: missing; write host:port, such as 127.0.0.1:8000
  models[0]: empty model name; write the name or remove the entry`,
	} {
		_, err := config.ParseWorker([]byte(text), 256)
		require.ErrorContains(t, err, want, text)
	}
}
