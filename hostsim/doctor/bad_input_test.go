package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

func lines(text string) iter.Seq[string] { return strings.Lines(text) }

// laughs is a document whose aliases stand for a billion values.
func laughs() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

// Every input that cannot be read gives one line that says why.
func TestBad_inputs(t *testing.T) {
	for name, tc := range map[string]struct{ data, want string }{
		"empty":           {"", "is empty"},
		"only space":      {" \n\n", "is empty"},
		"only a comment":  {"# nothing\n", "holds no YAML document"},
		"not YAML":        {"a: [b\nc: d: e\n", "not valid YAML: line 1"},
		"binary":          {"\x00\x01\x02\xff", "not valid YAML"},
		"a text":          {"hello", "is a text, not a configuration"},
		"a list":          {"- 1\n- 2\n", "is a list, not a configuration"},
		"broken JSON":     {"{\n\"a\": \"\t\n\"\nb}", "not valid JSON at line 2"},
		"cut JSON":        {`{"a": [1, 2`, "not valid JSON: it ends too early"},
		"unknown kind":    {"apiVersion: extensions.istio.io/v1alpha1\nkind: WasmPlugin\nspec: [1]\n", "is a list, must be a mapping (WasmPlugin)"},
		"another file":    {"name: x\ndependencies: {}\n", "is none of the configurations that doctor knows"},
		"laughs":          {laughs(), "aliases stand for more than 100000 values"},
		"itself":          {"a: &a [*a]\n", "nested more than 200 deep"},
		"deep JSON":       {strings.Repeat("[", 1<<20), "nested more than 200 deep"},
		"deep flow":       {"a: " + strings.Repeat("[", 1<<20), "not valid YAML"},
		"deep sequences":  {strings.Repeat("- ", 1<<20), "not valid YAML"},
		"deep mappings":   {strings.Repeat("{a: ", 1<<20), "not valid"},
		"a key of a list": {"? [a]\n: b\n", "line 1: a key must be a plain text"},
		"large YAML":      {"a: " + strings.Repeat("x", tree.MaxYAML), "bytes of YAML, which is what doctor reads"},
		"large JSON":      {`{"a": "` + strings.Repeat("x", 50<<20) + `"}`, "bytes of JSON, which is what doctor reads"},
		"a template":      {"{{ if .Values.a }}\na: b\n{{ end }}\n", "give doctor its output"},
	} {
		t.Run(name, func(t *testing.T) {
			report := Examine([]Input{{Name: "x.yaml", Data: []byte(tc.data), Asked: true}}, Options{})
			require.NotEmpty(t, report.Findings)
			what := report.Findings[0].What
			require.Contains(t, what, tc.want)
			require.NotContains(t, what, "\n")
			require.Less(t, len(what), 400)
			require.Equal(t, Error, report.Findings[0].Severity)
		})
	}
}

// A file that is JSON by its name is not read as the YAML that it would be.
func TestBad_JSON_file(t *testing.T) {
	report := Examine([]Input{{Name: "x.json", Data: []byte("{\n\"a\": 1,\n}"), Asked: true}}, Options{})
	require.Len(t, report.Findings, 1)
	require.Contains(t, report.Findings[0].What, "not valid JSON at line 3")
}

// What cannot be read does not keep the rest from being looked at.
func TestBad_inputs_beside_good_ones(t *testing.T) {
	f := readFault(t, "testdata/faults/buffer-limit.edit")
	inputs := append([]Input{
		{Name: "gone.yaml", Err: errors.New("open gone.yaml: no such file"), Asked: true},
		{Name: "folder/package.json", Data: []byte(`{"name": "x"}`)},
		{Name: "folder/litellm.yaml", Data: []byte("models: [{name: x}]\n")},
		{Name: "folder/chart.yaml", Data: []byte("a: {{ .Values.a }}\n")},
	}, f.inputs...)
	report := Examine(inputs, Options{})
	require.Len(t, report.Findings, 2)
	require.Equal(t, "unreadable", report.Findings[0].Rule)
	require.Equal(t, "buffer-limit", report.Findings[1].Rule)
	require.Equal(t, []string{"folder/package.json: unknown", "folder/litellm.yaml: unknown"}, report.Skipped)
}

// A file with a hundred thousand mistakes of one kind is reported in bounded time, the
// first ones of each rule by name.
func TestBad_inputs_have_bounded_reports(t *testing.T) {
	var b strings.Builder
	b.WriteString("static_resources:\n")
	for i := range 100_000 {
		fmt.Fprintf(&b, "  x%d: 1\n", i)
	}
	report := Examine([]Input{{Name: "x.yaml", Data: []byte(b.String()), Asked: true}}, Options{})
	require.Len(t, report.Findings, maxFindings)
	require.Equal(t, 100_000-maxFindings, report.More)
	var out bytes.Buffer
	require.NoError(t, report.WriteText(&out))
	require.Contains(t, out.String(), "and 99900 more of rules that are named above")
}

// Kinds of every sort may stand in one file.
func TestMixed_kinds(t *testing.T) {
	mixed := strings.Join([]string{
		good(t, "statesvc.yaml"), good(t, "istio-header-only.yaml"), good(t, "envoy-gateway.yaml"),
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  statesvc.yaml: |\n    version: 1\n    listen: nowhere\n    fleet: {static: [{address: \"10.0.0.7:8000\"}]}\n",
		good(t, "override-host.yaml"),
	}, "\n---\n")
	report := Examine([]Input{{Name: "all.yaml", Data: []byte(mixed), Asked: true}}, Options{})
	require.Len(t, report.Proxies, 3)
	require.Equal(t, []string{"all.yaml: Deployment"}, report.Skipped)
	bad := worst(report.Findings)
	require.Len(t, bad, 1, "%+v", bad)
	require.Equal(t, `data["statesvc.yaml"].listen`, bad[0].Path)
}

// Nothing a file holds reaches a terminal as a control character.
func TestText_holds_no_controls(t *testing.T) {
	bad := "static_resources:\n  clusters:\n    - {name: \"a\\e[2J\", \"x\\e]0;\": 1, type: \"\\e[1m\"}\n"
	report := Examine([]Input{{Name: "x\x1b.yaml", Data: []byte(bad), Asked: true}}, Options{})
	require.NotEmpty(t, report.Findings)
	var out bytes.Buffer
	require.NoError(t, report.WriteText(&out))
	require.NotContains(t, out.String(), "\x1b")
}

func FuzzExamine(f *testing.F) {
	for _, name := range []string{"override-host.yaml", "istio-full.yaml", "istio-header-only.yaml", "envoy-gateway.yaml", "statesvc.yaml"} {
		text, err := readGood(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		report := Examine([]Input{{Name: "x", Data: data, Asked: true}}, Options{Version: &Version{1, 36, 4}})
		require.NoError(t, report.WriteText(&bytes.Buffer{}))
	})
}
