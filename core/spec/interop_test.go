package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInterop_settings(t *testing.T) {
	cfg := Defaults(everything(t, grouped(``, ``)))
	require.Equal(t, "x-pointsman-endpoint", cfg.EndpointHeader)
	require.Equal(t, SLOHeadersSGL, cfg.SLOHeaders)

	doc := grouped(`"endpoint_header": "X-Gateway-Destination-Endpoint", "subset": {"header": "X-Gateway-Destination-Endpoint-Subset", "metadata": "envoy.lb.subset_hint"}, "slo_headers": "llm_d", `, ``)
	cfg = Defaults(everything(t, doc))
	require.Equal(t, "x-gateway-destination-endpoint", cfg.EndpointHeader)
	require.Equal(t, Needs{Subset: "x-gateway-destination-endpoint-subset", SubsetMetadata: "envoy.lb.subset_hint"}, build(t, doc, Handles{}).Needs())
}

func TestInterop_is_refused(t *testing.T) {
	for _, tc := range []struct {
		members string
		want    []string
	}{
		{`"endpoint_header": "x-pointsman-engine", `, []string{`endpoint_header: "x-pointsman-engine" is one of the router's own; use another header`}},
		{`"endpoint_header": "a b", `, []string{`endpoint_header: "a b" is not a header name; use letters, digits and hyphens`}},
		{`"endpoint_header": "Host", `, []string{`endpoint_header: "host" has a meaning of its own; use another header`}},
		{`"subset": {}, `, []string{`subset: says neither header nor metadata; write "header": "x-gateway-destination-endpoint-subset" or leave it out`}},
		{`"subset": {"header": "x-pointsman-endpoint"}, `, []string{`subset.header: "x-pointsman-endpoint" is one of the router's own; use another header`}},
		{`"endpoint_header": "x-e", "subset": {"header": "X-E"}, `, []string{
			`subset.header: is the endpoint header, which is removed from requests; write "header": "x-gateway-destination-endpoint-subset"`,
		}},
		{`"subset": {"metadata": "a\u0000b"}, `, []string{`subset.metadata: has a NUL in it; write the namespace's name`}},
		{`"priority": {"classes": {"7": 1, "bulk": -2000000}}, `, []string{
			`priority.header: is required; name the header, like "x-dynamo-request-priority"`,
			`priority.classes.7: "7" is no name of a class; use a word`,
			`priority.classes.bulk: -2000000 is out of range; use -1000000 to 1000000`,
		}},
		{`"priority": {"header": "x-pointsman-endpoint"}, `, []string{`priority.header: "x-pointsman-endpoint" is one of the router's own; use another header`}},
		{`"slo_headers": "aibrix", `, []string{`slo_headers: "aibrix" is not a choice; use sgl or llm_d`}},
	} {
		require.Equal(t, tc.want, findings(t, grouped(tc.members, ``)), tc.members)
	}
}
