package istio_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/istio"
)

var update = flag.Bool("update", false, "write golden files")

const whole = `{
  "version": 1,
  "transport_retry": true,
  "state": {"cluster": "pointsman_state", "token_env": "STATE_TOKEN", "call_stream": true},
  "abort": {"cluster": "engines"},
  "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]}}
}`

const byHeaders = `{
	"version": 1,
	"state": {"cluster": "pointsman_state", "token_env": "STATE_TOKEN"},
	"models": {
		"a": {"tokens": "estimate", "buckets": [{"id": "short", "limits": {"max": 200}, "groups": {"plain": {"policy": {"type": "session_aware"}}}}]},
		"b": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]}
	}
}`

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func options() render.Options {
	return render.Options{
		Listen: "127.0.0.1:8080", State: "10.0.0.5:9090", Engines: []string{"10.0.0.7:8000", "10.0.0.8:8001"},
		Namespace: "llm", Selector: map[string]string{"app.kubernetes.io/name": "edge", "istio": "ingressgateway"},
		Wasm: render.Wasm{URL: "oci://registry.example.com/pointsman/filter:1", SHA256: sum},
	}
}

func rendered(t *testing.T, filter string, o render.Options) (string, error) {
	t.Helper()
	in, err := render.Read([]byte(filter), o)
	require.NoError(t, err)
	files, err := istio.Render(in)
	if err != nil {
		require.Empty(t, files)
		return "", err
	}
	require.Len(t, files, 1)
	require.Equal(t, istio.File, files[0].Name)
	return string(files[0].Text), nil
}

// The usual forms are the shipped manifests, which package configs compares.
func TestRender_golden(t *testing.T) {
	file, headers := options(), options()
	file.Wasm, file.State, file.Engines = render.Wasm{Path: "/etc/filter.wasm"}, "state.example.com:9090", []string{"a.example.com:8000", "b.example.com:8000"}
	headers.HeaderOnly = true
	for _, tc := range []struct {
		name, filter string
		options      render.Options
	}{
		{"full-by-discovery", whole, options()},
		{"full-by-file-and-names", whole, file},
		{"header-only", byHeaders, headers},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text, err := rendered(t, tc.filter, tc.options)
			require.NoError(t, err)
			golden := "testdata/" + tc.name + ".yaml"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), text, "run the test with -update")
		})
	}
}

// What the filter is given names Istio's clusters, and is a configuration still.
func TestRender_gives_the_filter_the_names_of_the_mesh(t *testing.T) {
	o := options()
	o.HeaderOnly = true
	text, err := rendered(t, byHeaders, o)
	require.NoError(t, err)
	documents, err := render.Documents([]byte(text))
	require.NoError(t, err)
	last := string(documents[len(documents)-1])
	_, config, ok := strings.Cut(last, `"pluginConfig":`)
	require.True(t, ok)
	config, _, ok = strings.Cut(config, `,"pluginName"`)
	require.True(t, ok)
	cfg, err := spec.Decode([]byte(config))
	require.NoError(t, err)
	require.Equal(t, spec.State{Cluster: "outbound|9090||state.pointsman.internal", Authority: "state.pointsman.internal", TokenEnv: "STATE_TOKEN"}, *cfg.State)
}

// A stream of calls makes the state service's cluster speak HTTP/2, in full mode and by
// headers alone, and leaves the engines' one alone.
func TestRender_callStream(t *testing.T) {
	stream := strings.Replace(byHeaders, `"cluster": "pointsman_state"`, `"cluster": "pointsman_state", "call_stream": true`, 1)
	headers := options()
	headers.HeaderOnly = true
	for _, tc := range []struct {
		filter  string
		options render.Options
		want    int
	}{{whole, options(), 1}, {stream, headers, 1}, {byHeaders, headers, 0}} {
		text, err := rendered(t, tc.filter, tc.options)
		require.NoError(t, err)
		documents, err := render.Documents([]byte(text))
		require.NoError(t, err)
		upgrades, pings := 0, 0
		for _, d := range documents {
			upgrades += strings.Count(string(d), `"h2UpgradePolicy":"UPGRADE"`)
			for _, p := range gjson.GetBytes(d, `spec.configPatches.#(applyTo=="CLUSTER")#`).Array() {
				options := p.Get("patch.value.typed_extension_protocol_options").String()
				if !strings.Contains(options, "connection_keepalive") {
					continue
				}
				pings++
				require.Equal(t, "state.pointsman.internal", p.Get("match.cluster.service").String())
				require.NotContains(t, options, `"http_protocol_options"`)
			}
		}
		require.Equal(t, tc.want, upgrades)
		require.Equal(t, tc.want, pings)
	}
}

func refusal(path, reason, instead string) render.Refusal {
	return render.Refusal{Path: path, Reason: reason, Instead: instead}
}

// What needs the prompt is refused with a plain WasmPlugin, and both ways out named.
func TestRender_refuses(t *testing.T) {
	headers, relative := options(), options()
	headers.HeaderOnly = true
	relative.Wasm = render.Wasm{Path: "dist/filter.wasm"}
	unhashed := headers
	unhashed.Wasm = render.Wasm{URL: "https://downloads.example/filter.wasm"}
	for _, tc := range []struct {
		name, filter string
		options      render.Options
		want         render.Refusals
	}{
		{"prompts by headers", whole, headers, render.Refusals{
			refusal("abort", "engines are told of requests by the rid that the filter writes into their bodies, and with headers alone the filter never sees a body", "no --header-only, so that an EnvoyFilter sets the flag, or no abort"),
			refusal("models.m.buckets[0].groups.plain.policy", "cache_aware goes by the prompt, and with headers alone the filter never sees a body", `no --header-only, so that an EnvoyFilter sets the flag, or "type": "session_aware" or "power_of_two"`),
		}},
		{"original_dst", strings.Replace(byHeaders, `"version": 1,`, `"version": 1, "endpoint_mode": "original_dst",`, 1), options(), render.Refusals{
			refusal("endpoint_mode", "original_dst needs a cluster that no route of Istio's can name", `"endpoint_mode": "override_host"`),
		}},
		{"a module from somewhere", byHeaders, unhashed, render.Refusals{
			refusal("--wasm-sha256", "is not given, and whatever is behind https://downloads.example/filter.wasm would run", "the output of sha256sum for the module"),
		}},
		{"a relative path", byHeaders, relative, render.Refusals{
			refusal("--wasm", `"dist/filter.wasm" is not absolute, and the proxy's container has folders of its own`, "a path that begins with a slash"),
		}},
		{"nothing", byHeaders, render.Options{}, render.Refusals{
			refusal("--namespace", `"" is no name of a namespace`, "the namespace of the gateway's pods, like istio-system"),
			refusal("--selector", "no labels say which pods are the gateway", "--selector istio=ingressgateway"),
			refusal("--listen", `"" is not host:port`, "an address like 10.0.0.7:8000"),
			refusal("--wasm", "there must be one place that the filter comes from", "--wasm PATH for a file in the proxy's container, or --wasm-url URL with --wasm-sha256"),
			refusal("--engine", "is not given: the proxy takes only engines that it knows", "--engine NAME.NAMESPACE.svc:PORT for a Kubernetes Service, or --engine IP:PORT for each engine"),
			refusal("state.cluster", "nothing says where the state service is", "--state HOST:PORT"),
		}},
		{"wrong values", byHeaders, render.Options{
			Listen: "edge:80", State: "a_b:1", Engines: []string{"engines.llm.svc:8000", "10.0.0.7:8000"}, Namespace: "A b",
			Selector: map[string]string{"a b": "c", "d": "e\n"}, Wasm: render.Wasm{URL: "ftp://x", SHA256: "12"},
		}, render.Refusals{
			refusal("--namespace", `"A b" is no name of a namespace`, "the namespace of the gateway's pods, like istio-system"),
			refusal("--selector", "a b=c is no label", "--selector istio=ingressgateway"),
			refusal("--selector", "d=e\n is no label", "--selector istio=ingressgateway"),
			refusal("--listen", `"edge:80" is a name, and proxies listen on IP addresses`, "an address like 0.0.0.0:8080"),
			refusal("--wasm-url", `"ftp://x" is none that Istio's agent fetches`, "oci://REGISTRY/NAME:TAG or https://HOST/PATH"),
			refusal("--wasm-sha256", `"12" is not the sum of a module to fetch`, "64 hexadecimal digits in lower case, beside --wasm-url"),
			refusal("--engine", "engines.llm.svc:8000 is a Service, and stands beside other engines", "that Service alone"),
			refusal("--state", `"a_b:1" has a host that is neither an IP address nor a DNS name in lower case`, "an address like 10.0.0.7:8000"),
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

func TestCheck(t *testing.T) {
	good, err := rendered(t, whole, options())
	require.NoError(t, err)
	require.NoError(t, istio.Check([]byte(good)))
	for change, want := range map[string]string{
		"resolution: STATIC=>resolutions: STATIC":                                        "resolutions",
		"resolution: STATIC=>resolution: FIXED":                                          "FIXED",
		"namespace: llm=>namespaces: llm":                                                "namespaces",
		"kind: Gateway=>kind: Gate":                                                      "Gate",
		"per_connection_buffer_limit_bytes=>per_connection_buffer_limit":                 "configPatches[0]",
		"allow_on_headers_stop_iteration: true=>allow_on_header_stop_iteration: true":    "allow_on_header_stop_iteration",
		"initial_stream_window_size=>initial_window_size":                                "initial_window_size",
		"override_host.v3.OverrideHost=>override_host.v3.OverrideHosts":                  "OverrideHosts",
		"applyTo: LISTENER=>applyTo: LISTENERS":                                          "LISTENERS",
		"applyTo: LISTENER=>applyTo: VIRTUAL_HOST":                                       "not checked",
		"- header: x-pointsman-endpoint=>- heading: x-pointsman-endpoint":                "heading",
		"apiVersion: networking.istio.io/v1\nkind: G=>apiVersion: v1\nkind: G":           "v1 is not a kind",
		"metadata: {name: pointsman, namespace: llm}\nspec=>metadata: {name: a}\nstatus": "status",
		`sha256: "` + sum + `"=>sha256: ""`:                                              "Sha256",
	} {
		from, to, _ := strings.Cut(change, "=>")
		require.Contains(t, good, from)
		require.ErrorContains(t, istio.Check([]byte(strings.Replace(good, from, to, 1))), want, change)
	}
	require.Error(t, istio.Check([]byte("a: 1\na: 2")))
}
