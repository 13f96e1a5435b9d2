package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hashed is a configuration whose one policy has the members, with further
// top-level members before it.
func hashed(top, policy string) string {
	return `{"version": 1, "state": {"cluster": "s"}, ` + top + `"models": {"m": {"buckets": [{"id": "b", "groups": {"plain": {"policy": {` + policy + `}}}}]}}}`
}

const (
	onSession = `"type": "consistent_hash", "key": "session"`
	onRouting = `"type": "consistent_hash", "key": "routing"`
	onPrefix  = `"type": "consistent_hash", "key": "prefix"`
)

func TestValidate_hashing(t *testing.T) {
	for policy, want := range map[string]string{
		`"type": "consistent_hash"`:                   `.key: is required; use session, routing or prefix`,
		`"type": "consistent_hash", "key": "Session"`: `.key: "Session" is not a choice; use session, routing or prefix`,
		onSession + `, "load_factor": 0.5`:            `.load_factor: 0.5 is out of range; use a number of at least 1`,
		onSession + `, "load_factor": "1.5"`:          `.load_factor: must be a number, is "1.5"`,
		onSession + `, "load_factor": 1e999`:          `.load_factor: must be a number, is 1e999`,
		onSession + `, "load_floor": 0`:               `.load_floor: 0 is out of range; use 1 to 65536`,
		onSession + `, "prefix_bytes": 100`:           `.prefix_bytes: has no effect on keys of session; leave it out or use "key": "prefix"`,
		onPrefix + `, "prefix_bytes": 0`:              `.prefix_bytes: 0 is out of range; use 1 to 1048576`,
		onSession + `, "choices": 2`:                  `.choices: has no effect on consistent_hash; leave it out or use power_of_two`,
		`"type": "random", "key": "session"`:          `.key: has no effect on random; leave it out or use consistent_hash`,
		`"type": "load_based", "load_factor": 2`:      `.load_factor: has no effect on load_based; leave it out or use consistent_hash`,
		`"type": "power_of_two", "load_floor": 2`:     `.load_floor: has no effect on power_of_two; leave it out or use consistent_hash`,
		`"type": "round_robin", "prefix_bytes": 9`:    `.prefix_bytes: has no effect on round_robin; leave it out or use consistent_hash`,
		`"type": "consistent_hsh", "key": "session"`:  `.type: "consistent_hsh" is not a policy; did you mean "consistent_hash"?`,
	} {
		require.Equal(t, []string{"models.m.buckets[0].groups.plain.policy" + want}, problemsOf(t, hashed("", policy)), policy)
	}
}

func TestValidate_key_headers(t *testing.T) {
	for _, tt := range []struct{ top, policy, want string }{
		{`"session": {}`, onSession, `session.header: is required; name the header, or leave session out for the default one`},
		{`"session": {"header": "x session"}`, onSession, `session.header: "x session" is not a header name; use letters, digits and hyphens`},
		{`"session": {"header": ":path"}`, onSession, `session.header: ":path" is not a header name; use letters, digits and hyphens`},
		{`"session": {"header": "X-Pointsman-Endpoint"}`, onSession, `session.header: "X-Pointsman-Endpoint" is one of the router's own; use another header`},
		{`"session": {"header": "x-s"}`, onRouting, `session: has no effect: no policy uses such keys; leave it out or use "consistent_hash" with such a "key"`},
		{`"session": {"header": "x-s"}`, `"type": "random"`, `session: has no effect: no policy uses such keys; leave it out or use "consistent_hash" with such a "key"`},
		{`"routing_key": {"header": "x-r"}`, onPrefix, `routing_key: has no effect: no policy uses such keys; leave it out or use "consistent_hash" with such a "key"`},
		{`"routing_key": {"header": "é"}`, onRouting, `routing_key.header: "é" is not a header name; use letters, digits and hyphens`},
		{`"session": {"header": "x-s", "idle_secs": 5}`, onSession, `session.idle_secs: has no effect: no policy binds such keys; leave it out`},
		{`"session_id_header": "x-s"`, onSession, `session_id_header: is spelled otherwise here; use "session": {"header": ...}`},
		// What follows from a mistake elsewhere is not listed beside it.
		{`"session": {"header": "x-s"}`, `"type": "consistent_hsh", "key": "session"`, `models.m.buckets[0].groups.plain.policy.type: "consistent_hsh" is not a policy; did you mean "consistent_hash"?`},
		{`"session": {"header": "x-s"}`, `"type": "consistent_hash"`, `models.m.buckets[0].groups.plain.policy.key: is required; use session, routing or prefix`},
		{`"session": {"header": "x-s"}`, `"type": "consistent_hash", "key": "sesion"`, `models.m.buckets[0].groups.plain.policy.key: "sesion" is not a choice; use session, routing or prefix`},
		{`"session": {"header": "x-s"}`, `"type": "consistent_hash", "key": 7`, `models.m.buckets[0].groups.plain.policy.key: must be a string, is 7`},
	} {
		require.Equal(t, []string{tt.want}, problemsOf(t, hashed(tt.top+", ", tt.policy)))
	}
}

// Requests pay for the headers that some policy needs, and for no others. H05:
// names are in lower case, as hosts keep them.
func TestBuild_needs(t *testing.T) {
	for _, tt := range []struct {
		top, policy string
		want        Needs
	}{
		{"", `"type": "power_of_two"`, Needs{}},
		{"", onPrefix, Needs{}},
		{"", onSession, Needs{Session: "x-session-id"}},
		{"", onRouting, Needs{Routing: "x-sgl-routing-key"}},
		{`"session": {"header": "X-Chat_Id"}, `, onSession, Needs{Session: "x-chat_id"}},
		{`"routing_key": {"header": "Tenant"}, `, onRouting, Needs{Routing: "tenant"}},
	} {
		require.Equal(t, tt.want, build(t, hashed(tt.top, tt.policy), Handles{}).Needs())
	}
	two := strings.Replace(hashed("", onSession), `]}}}`, `, {"id": "c", "groups": {"plain": {"policy": {`+onRouting+`}}}}]}}}`, 1)
	require.Equal(t, Needs{Session: "x-session-id", Routing: "x-sgl-routing-key"}, build(t, two, Handles{}).Needs(), "of all policies")
}

func TestBuild_hashing_out_of_range(t *testing.T) {
	for want, p := range map[string]*Policy{
		`policy consistent_hash: key "x" is not known`: {Type: PolicyConsistentHash, Key: "x"},
		`load factor 0`: {Type: PolicyConsistentHash, Key: "prefix", LoadFactor: new(0.0)},
	} {
		cfg := &Config{Models: map[string]Model{"m": {Buckets: []Bucket{{ID: "b", Groups: Groups{Plain: &Group{Policy: p}}}}}}}
		_, err := Build(cfg, Handles{Load: noLoad{}})
		require.ErrorContains(t, err, want)
	}
}
