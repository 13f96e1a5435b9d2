package schema_test

import (
	"fmt"
	"testing"

	egv1 "github.com/envoyproxy/gateway/api/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim/doctor/schema"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

func read(t *testing.T, text string) tree.At {
	documents, err := tree.Read([]byte(text))
	require.NoError(t, err)
	return tree.Root("f", documents[0].Root)
}

func lines(problems []schema.Problem) []string {
	list := []string{}
	for _, p := range problems {
		list = append(list, fmt.Sprintf("%d %s: %s", p.At.Line, p.At.Path, p.Text))
	}
	return list
}

func TestMessage(t *testing.T) {
	cluster, ok := schema.Named("envoy.config.cluster.v3.Cluster")
	require.True(t, ok)
	for text, want := range map[string][]string{
		"name: a\nconnect_timeout: 0.25s\nlbPolicy: MAGLEV\nper_connection_buffer_limit_bytes: 1\nrespect_dns_ttl: true\n": {},
		"nam: a":                                                 {"1 nam: is not a field of envoy.config.cluster.v3.Cluster; did you mean name?"},
		"name: 5":                                                {`1 name: is "5", must be a text: put it in quotes`},
		"name: a\nconnect_timeout: 250ms":                        {`2 connect_timeout: is "250ms", must be seconds with an s, such as 1.5s`},
		"type: STATIC\ncluster_type: {name: x}":                  {"2 cluster_type: stands beside type, and Cluster takes only one of them"},
		"type: FIXED":                                            {`1 type: is "FIXED", must be one of STATIC, STRICT_DNS, LOGICAL_DNS, EDS, ORIGINAL_DST`},
		"respect_dns_ttl: \"true\"":                              {`1 respect_dns_ttl: is "true", must be true or false`},
		"per_connection_buffer_limit_bytes: -1":                  {`1 per_connection_buffer_limit_bytes: is "-1", must be a whole number from 0 to 4294967295`},
		"per_connection_buffer_limit_bytes: 5000000000":          {`1 per_connection_buffer_limit_bytes: is "5000000000", must be a whole number from 0 to 4294967295`},
		"health_checks: {timeout: 1s}":                           {"1 health_checks: is a mapping, must be a list"},
		"load_assignment: x":                                     {"1 load_assignment: is a text, must be a mapping (ClusterLoadAssignment)"},
		"metadata: {filter_metadata: {a: {anything: [1, two]}}}": {},
		"metadata: {filter_metadata: [a]}":                       {"1 metadata.filter_metadata: is a list, must be a mapping"},
	} {
		require.Equal(t, want, lines(schema.Message(read(t, text), cluster)), text)
	}
}

func TestMessage_in_an_Any(t *testing.T) {
	filter, ok := schema.Named("envoy.config.listener.v3.Filter")
	require.True(t, ok)
	const typed = "name: a\ntyped_config:\n  \"@type\": type.googleapis.com/%s\n  %s\n"
	for _, tc := range []struct {
		name, member string
		want         []string
	}{
		{"envoy.extensions.filters.http.buffer.v3.Buffer", "max_request_bytes: 5", []string{}},
		{"envoy.extensions.filters.http.buffer.v3.Buffer", "max_bytes: 5", []string{"4 typed_config.max_bytes: is not a field of envoy.extensions.filters.http.buffer.v3.Buffer"}},
		{"example.Unheard", "anything: 5", []string{}},
		{"google.protobuf.StringValue", "value: 5", []string{`4 typed_config.value: is "5", must be a text: put it in quotes`}},
	} {
		require.Equal(t, tc.want, lines(schema.Message(read(t, fmt.Sprintf(typed, tc.name, tc.member)), filter)), tc)
	}
	require.Equal(t, []string{`1 typed_config: has no "@type", so that nobody can tell what it is`}, lines(schema.Message(read(t, "typed_config: {a: 1}"), filter)))
	require.Equal(t, []string{`1 typed_config.@type: is "Buffer", must be type.googleapis.com/ and the name of a message`}, lines(schema.Message(read(t, `typed_config: {"@type": Buffer}`), filter)))
}

func TestObject(t *testing.T) {
	const text = "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: ClientTrafficPolicy\nmetadata: {name: a}\nspec:\n  connection:\n    bufferLimit: 33Mi\n    bufferLimits: 1\n"
	require.Equal(t, []string{"7 spec.connection.bufferLimits: is not a field of ClientTrafficPolicy"}, lines(schema.Object(read(t, text), &egv1.ClientTrafficPolicy{})))
	problems := schema.Object(read(t, "kind: ClientTrafficPolicy\nspec: [1]\n"), &egv1.ClientTrafficPolicy{})
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].Text, "is no ClientTrafficPolicy: ")
}
