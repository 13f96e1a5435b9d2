package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pointsman/pointsman/hostsim/render"
	"github.com/pointsman/pointsman/hostsim/render/kubernetes"
	"github.com/stretchr/testify/require"
)

// The state service takes the configuration that is deployed by default, and it says of
// itself what the manifests say.
func TestRenderKubernetes_default(t *testing.T) {
	want := kubernetes.DefaultStatesvc("inference")
	got, err := deployed(want.Text)
	require.NoError(t, err)
	require.LessOrEqual(t, got.GraceSeconds, want.GraceSeconds)
	got.GraceSeconds, got.Files = want.GraceSeconds, nil
	require.Equal(t, want, got)
}

func TestRenderKubernetes(t *testing.T) {
	const filter = "../../../configs/filter/demo.json"
	code, stdout, stderr := tool(t, "render", "kubernetes", "--config", filter, "--image", "r.example/statesvc:1", "--namespace", "inference")
	require.Equal(t, exitGood, code, stderr)
	documents, err := render.Documents([]byte(stdout))
	require.NoError(t, err)
	require.Len(t, documents, 9)

	folder := t.TempDir()
	listed := filepath.Join(folder, "statesvc.yml")
	require.NoError(t, os.WriteFile(listed, []byte("version: 1\nlisten: 0.0.0.0:9090\nfleet: {static: [{address: '10.0.0.7:8000'}]}\n"), 0o600))
	code, stdout, stderr = tool(t, "render", "kubernetes", "--config", filter, "--image", "r.example/statesvc:1", "--statesvc", listed, "-o", folder)
	require.Equal(t, exitGood, code, stderr)
	require.Empty(t, stdout)
	written, err := filepath.Glob(folder + "/*.yaml")
	require.NoError(t, err)
	require.Len(t, written, 7, "no Role")

	text := filepath.Join(t.TempDir(), "statesvc.yaml")
	require.NoError(t, os.WriteFile(text, []byte("version: 1\nfleet: {static: [{address: '10.0.0.7:8000'}]}\n"), 0o600))
	code, stdout, stderr = tool(t, "render", "kubernetes", "--config", filter, "--image", "r.example/statesvc:1", "--statesvc", text)
	require.Equal(t, exitBad, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "refused: --statesvc listen: is on loopback")
	require.Contains(t, stderr, "not rendered, refusals: 1")
	require.NoError(t, os.WriteFile(text, []byte("version: 1\nlistn: 1\n"), 0o600))
	code, _, stderr = tool(t, "render", "kubernetes", "--config", filter, "--image", "r.example/statesvc:1", "--statesvc", text)
	require.Equal(t, exitBad, code)
	require.Contains(t, stderr, "did you mean listen?")

	code, _, stderr = tool(t, "render", "kubernetes", "--config", filter)
	require.Equal(t, exitBad, code)
	require.Contains(t, stderr, "refused: --image: is not given")
}
