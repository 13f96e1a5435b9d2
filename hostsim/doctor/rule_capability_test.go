package doctor

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The list is that of the filter's own declarations, but for logging, the version of the
// interface and memory, which the host never restricts.
func TestCapabilities_are_those_of_the_filter(t *testing.T) {
	var declared []string
	for _, file := range []string{"imports_wasip1.go", "exports.go"} {
		text, err := os.ReadFile("../../wasmfilter/internal/abi/" + file)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`(?m)^//go:wasm(?:import env|export) (proxy_\w+)`).FindAllStringSubmatch(string(text), -1) {
			declared = append(declared, found[1])
		}
	}
	needed := []string{"proxy_log", "proxy_abi_version_0_2_0", "proxy_on_memory_allocate"}
	for _, name := range append(neededCapabilities(), streamCapabilities()...) {
		if strings.HasPrefix(name, "proxy_") {
			needed = append(needed, name)
		}
	}
	require.ElementsMatch(t, declared, needed)
}

// A list that names all of it is right, and one for call_stream needs more.
func TestCapabilities_all_allowed(t *testing.T) {
	allowing := func(text string, names []string) []string {
		list := strings.Join(names, ": {}, ") + ": {}"
		text = strings.Replace(text, "failure_policy: FAIL_RELOAD",
			"capability_restriction_config: {allowed_capabilities: {"+list+"}}\n                        failure_policy: FAIL_RELOAD", 1)
		return brief(Examine([]Input{{Name: "envoy.yaml", Data: []byte(text)}}, Options{}).Findings)
	}
	plain := good(t, "override-host.yaml")
	require.Empty(t, allowing(plain, neededCapabilities()))

	stream := strings.Replace(plain, `"state": {"cluster": "pointsman_state"}`, `"state": {"cluster": "pointsman_state", "call_stream": true}`, 1)
	stream = strings.Replace(stream, "{http_protocol_options: {}}", "{http2_protocol_options: {connection_keepalive: {interval: 5s, timeout: 2s}}}", 1)
	require.Empty(t, allowing(stream, append(neededCapabilities(), streamCapabilities()...)))
	require.Len(t, allowing(stream, neededCapabilities()), 1)
}
