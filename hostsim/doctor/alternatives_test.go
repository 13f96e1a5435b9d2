package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A folder may hold two manifests for one gateway, of which one is applied.
func TestAlternatives_in_a_folder(t *testing.T) {
	files, err := Collect(os.DirFS("../../configs"))
	require.NoError(t, err)
	var inputs []Input
	for _, file := range files {
		name := filepath.Join("../../configs", file)
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		inputs = append(inputs, Input{Name: name, Data: data})
	}
	report := Examine(inputs, Options{})
	require.Empty(t, unexpected(report.Findings))
	var said []string
	for _, p := range report.Proxies {
		said = append(said, p.Lines...)
	}
	require.Contains(t, strings.Join(said, "\n"), "an alternative to ../../configs/istio/header-only.yaml, which has objects of the same names")
}

// Each alternative is looked at with what goes with all of them.
func TestAlternatives_share_the_rest(t *testing.T) {
	objects := strings.Split(good(t, "istio-full.yaml"), "---\n")
	filter := objects[len(objects)-1]
	rest := strings.Join(objects[:len(objects)-1], "---\n")
	small := strings.Replace(filter, "34603008", "1048576", 1)
	require.NotEqual(t, filter, small)
	report := Examine([]Input{
		{Name: "rest.yaml", Data: []byte(rest)},
		{Name: "large.yaml", Data: []byte(filter)},
		{Name: "small.yaml", Data: []byte(small)},
	}, Options{})
	require.Len(t, report.Proxies, 2)
	require.Len(t, report.Findings, 1, report.Findings)
	require.Equal(t, "buffer-limit", report.Findings[0].Rule)
	require.Equal(t, "small.yaml", report.Findings[0].File)
}

// Two filters of different names in one file, or in two, stay together.
func TestAlternatives_need_one_name(t *testing.T) {
	first := good(t, "istio-header-only.yaml")
	second := strings.Replace(first, "metadata: {name: pointsman,", "metadata: {name: pointsman-2,", 1)
	report := Examine([]Input{{Name: "a.yaml", Data: []byte(first)}, {Name: "b.yaml", Data: []byte(second)}}, Options{})
	require.Contains(t, brief(report.Findings), "error several-filters ")
}
