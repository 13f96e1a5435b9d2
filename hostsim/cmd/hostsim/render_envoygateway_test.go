package main

import (
	"testing"

	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/stretchr/testify/require"
)

func TestRenderEnvoyGateway(t *testing.T) {
	const filter = "../../../configs/filter/demo.json"
	code, stdout, stderr := tool(t, "render", "envoy-gateway", "--config", filter, "--namespace", "inference",
		"--engine-service", "engines:8000", "--wasm-url", "oci://registry.example/pointsman:1.0")
	require.Equal(t, exitGood, code, stderr)
	documents, err := render.Documents([]byte(stdout))
	require.NoError(t, err)
	require.Len(t, documents, 8)
	require.Contains(t, stdout, "name: inference/pointsman/http")

	code, stdout, stderr = tool(t, "render", "envoy-gateway", "--config", filter, "--engine", "127.0.0.1:8000")
	require.Equal(t, exitBad, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "refused: --engine: \"127.0.0.1:8000\" is on loopback")
	require.Contains(t, stderr, "refused: --wasm-url:")
	require.Contains(t, stderr, "hostsim: not rendered, refusals: 2")
}
