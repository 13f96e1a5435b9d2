package envoy_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/envoy"
)

var update = flag.Bool("update", false, "write golden files")

// plain has a state service and nothing else of note.
const plain = `{"version": 1, "state": {"cluster": "pointsman_state"},
 "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]}}}`

// named has everything that the bootstrap shows: other paths, names and limits.
const named = `{
  "version": 1,
  "endpoint_mode": "original_dst",
  "paths": ["/v1/chat/completions", "/generate"],
  "max_body_bytes": 1048576,
  "body_timeout_ms": 1500000,
  "state": {"cluster": "llm: state", "token_env": "STATE_TOKEN", "call_stream": true},
  "abort": {"cluster": "llm-engines"},
  "endpoint_header": "x-gateway-destination-endpoint",
  "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]}}
}`

func options() render.Options {
	return render.Options{Listen: "0.0.0.0:8080", Admin: "127.0.0.1:9901", State: "10.0.0.5:9090", Engines: []string{"10.0.0.7:8000"}, Wasm: render.Wasm{Path: "/etc/envoy/filter.wasm"}}
}

func rendered(t *testing.T, filter string, o render.Options) ([]byte, error) {
	t.Helper()
	in, err := render.Read([]byte(filter), o)
	require.NoError(t, err)
	files, err := envoy.Render(in)
	if err != nil {
		require.Empty(t, files)
		return nil, err
	}
	require.Len(t, files, 1)
	require.Equal(t, envoy.File, files[0].Name)
	return files[0].Text, nil
}

// The usual forms are the shipped bootstraps, which package configs compares.
func TestRender_golden(t *testing.T) {
	names := options()
	names.Listen, names.State, names.EnvoyVersion = "[::1]:8080", "statesvc.llm.svc:9090", "v1.35.2"
	names.Engines = []string{"[fd00::7]:8000", "engines.llm.svc:8000"}
	alone := options()
	alone.Engines = nil
	for _, tc := range []struct {
		name, filter string
		options      render.Options
	}{
		{"names", named, names},
		{"only-the-filter-knows", named, alone},
		{"no-retry", plain, options()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, err := rendered(t, tc.filter, tc.options)
			require.NoError(t, err)
			golden := "testdata/" + tc.name + ".yaml"
			if *update {
				require.NoError(t, os.WriteFile(golden, text, 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(text), "run the test with -update")
		})
	}
}

// stateOptions are those of the state service's cluster, as Envoy reads them.
func stateOptions(t *testing.T, filter string) *httpv3.HttpProtocolOptions {
	t.Helper()
	text, err := rendered(t, filter, options())
	require.NoError(t, err)
	documents, err := render.Documents(text)
	require.NoError(t, err)
	var bootstrap bootstrapv3.Bootstrap
	require.NoError(t, protojson.Unmarshal(documents[0], &bootstrap))
	state := bootstrap.StaticResources.Clusters[0]
	require.Equal(t, "pointsman_state", state.Name)
	var o httpv3.HttpProtocolOptions
	require.NoError(t, state.TypedExtensionProtocolOptions["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"].UnmarshalTo(&o))
	return &o
}

// A stream of calls needs HTTP/2 and pings; without one the state service gets HTTP/1.1.
func TestRender_callStream(t *testing.T) {
	stream := strings.Replace(plain, `"cluster": "pointsman_state"`, `"cluster": "pointsman_state", "call_stream": true`, 1)
	pings := stateOptions(t, stream).GetExplicitHttpConfig().GetHttp2ProtocolOptions().GetConnectionKeepalive()
	require.Equal(t, 5*time.Second, pings.GetInterval().AsDuration())
	require.Equal(t, 2*time.Second, pings.GetTimeout().AsDuration())
	off := stateOptions(t, plain).GetExplicitHttpConfig()
	require.NotNil(t, off.GetHttpProtocolOptions())
	require.Nil(t, off.GetHttp2ProtocolOptions())
}

func refusal(path, reason, instead string) render.Refusal {
	return render.Refusal{Path: path, Reason: reason, Instead: instead}
}

// All refusals of an input come at once, each with its path, the reason and what to
// write instead.
func TestRender_refuses(t *testing.T) {
	with := func(change func(*render.Options)) render.Options {
		o := options()
		change(&o)
		return o
	}
	const static = `{"version": 1, "workers": [{"address": "10.0.0.7:8000", "models": ["m"]}],
 "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]}}}`
	for _, tc := range []struct {
		name, filter string
		options      render.Options
		want         render.Refusals
	}{
		{"everything", plain, render.Options{EnvoyVersion: "1.34.9"}, render.Refusals{
			refusal("--envoy-version", "Envoy 1.34.9 cannot hold a request's headers until its body is known: allow_on_headers_stop_iteration came with 1.35", "1.35 or later"),
			refusal("--listen", `"" is not host:port`, "an address like 10.0.0.7:8000"),
			refusal("--admin", `"" is not host:port`, "an address like 10.0.0.7:8000"),
			refusal("--wasm", "is empty", "--wasm /etc/envoy/filter.wasm"),
			refusal("state.cluster", "nothing says where the state service is", "--state HOST:PORT"),
			refusal("endpoint_mode", "is override_host: Envoy takes only engines that it knows, and none is given", `--engine HOST:PORT for each engine, or "endpoint_mode": "original_dst"`),
		}},
		{"versions", plain, with(func(o *render.Options) { o.EnvoyVersion = "2.0" }), render.Refusals{
			refusal("--envoy-version", `"2.0" is no version of Envoy 1`, "a version like 1.36 or 1.40.0"),
		}},
		{"a state service for nobody", static, with(func(o *render.Options) { o.Engines = nil }), render.Refusals{
			refusal("--state", "the configuration has no state service", `"state": {"cluster": "pointsman_state"} in the configuration, or no --state`),
		}},
		{"addresses", plain, with(func(o *render.Options) {
			o.Listen, o.Engines = "localhost:80", []string{"http://10.0.0.7:8000", "10.0.0.7:8000", "10.0.0.7:8000"}
		}), render.Refusals{
			refusal("--listen", `"localhost:80" is a name, and proxies listen on IP addresses`, "an address like 0.0.0.0:8080"),
			refusal("--engine", `"http://10.0.0.7:8000" is not host:port`, "an address like 10.0.0.7:8000"),
			refusal("--engine", "10.0.0.7:8000 stands twice", "each engine once"),
		}},
		{"one name for two clusters", `{"version": 1, "state": {"cluster": "x"}, "abort": {"cluster": "x"}` + plain[len(`{"version": 1, "state": {"cluster": "pointsman_state"}`):], options(), render.Refusals{
			refusal("abort.cluster", `"x" is the state service's cluster`, `"abort": {"cluster": "engines"}`),
		}},
		{"a name of the bootstrap's own", `{"version": 1, "state": {"cluster": "engines"}` + plain[len(`{"version": 1, "state": {"cluster": "pointsman_state"}`):], options(), render.Refusals{
			refusal("state.cluster", `"engines" is what the bootstrap calls its engines`, "another name"),
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := rendered(t, tc.filter, tc.options)
			var refused render.Refusals
			require.ErrorAs(t, err, &refused)
			require.Equal(t, tc.want, refused)
		})
	}
}

// A key that no type has, a type that nobody has, a value that Envoy's rules refuse:
// each is found, in extensions too.
func TestCheck(t *testing.T) {
	lb := func(config string) string {
		return `{"name": "c", "load_balancing_policy": {"policies": [{"typed_extension_config": {"name": "x", "typed_config": ` + config + `}}]}}`
	}
	const at = `"@type": "type.googleapis.com/envoy.extensions.load_balancing_policies.override_host.v3.OverrideHost"`
	for text, want := range map[string]string{
		`{"name": "c", "connect_time_out": "1s"}`:            "connect_time_out",
		`{"name": "c", "connect_timeout": 1}`:                "unexpected token 1",
		`{"name": ""}`:                                       "Name",
		lb(`{"@type": "type.googleapis.com/envoy.Nothing"}`): "envoy.Nothing",
		lb(`{` + at + `, "override_host_source": []}`):       "override_host_source",
		lb(`{` + at + `, "override_host_sources": []}`):      "OverrideHostSources",
	} {
		require.ErrorContains(t, envoy.Check([]byte(text), &clusterv3.Cluster{}), want, text)
	}
	for text, into := range map[string]proto.Message{
		`{"connect_timeout": "1s"}`: &clusterv3.Cluster{},
		`{"typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", "stream_idle_timeout": "1s"}}`: &listenerv3.Filter{},
	} {
		require.Error(t, envoy.Check([]byte(text), proto.Clone(into)), text)
		require.NoError(t, envoy.CheckPart([]byte(text), into), text)
	}
	require.Error(t, envoy.CheckPart([]byte(lb(`{`+at+`, "override_host_sources": []}`)), &clusterv3.Cluster{}))
	require.Error(t, envoy.Check([]byte(`{"x": 1}`), &bootstrapv3.Bootstrap{}))
}

func TestMinor(t *testing.T) {
	for text, want := range map[string]int{"1.36": 36, "1.40.0": 40, "v1.9.12": 9} {
		got, ok := envoy.Minor(text)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "1", "2.1", "1.36.4.1", "1.36-dev", " 1.36", "1.9999999999999999999"} {
		_, ok := envoy.Minor(text)
		require.False(t, ok, text)
	}
}
