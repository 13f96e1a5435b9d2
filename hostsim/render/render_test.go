package render_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/render"
)

const withState = `{"version": 1, "state": {"cluster": "pointsman_state"}, "abort": {"cluster": "engines"},
  "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]}}}`

func read(t *testing.T, text string, o render.Options) *render.Input {
	t.Helper()
	in, err := render.Read([]byte(text), o)
	require.NoError(t, err)
	return in
}

func TestRead_reports_every_problem(t *testing.T) {
	_, err := render.Read([]byte(`{"version": 2, "model": {}}`), render.Options{})
	problems, ok := errors.AsType[spec.Problems](err)
	require.True(t, ok, "%v", err)
	require.Greater(t, len(problems), 1)
}

// What YAML reads otherwise than JSON is gone, and the configuration is the same.
func TestRead_makes_text_that_yaml_holds(t *testing.T) {
	for _, text := range []string{
		"{\t\"version\": 1, \"state\": {\"cluster\": \"s\"},\r\n\t\"models\": {\"m\": {\"buckets\": [{\"id\": \"all\", \"groups\": {\"plain\": {\"policy\": {\"type\": \"random\"}}}}]}}}",
		`{"version": 1, "state": {"cluster": "s"}, "proxy": "\ud83d\ude80 \/ \u00e9", "models": {"m": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "random"}}}}]}}}`,
	} {
		in := read(t, text, render.Options{})
		require.NotContains(t, string(in.Text), "\t")
		require.NotContains(t, string(in.Text), "\r")
		documents, err := render.Documents(in.Text)
		require.NoError(t, err)
		require.Len(t, documents, 1)
		want, err := spec.Decode([]byte(text))
		require.NoError(t, err)
		got, err := spec.Decode(documents[0])
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestWith_replaces_one_text(t *testing.T) {
	text, err := render.With([]byte(withState), "abort.cluster", `outbound|1||"x"`)
	require.NoError(t, err)
	cfg, err := spec.Decode(text)
	require.NoError(t, err)
	require.Equal(t, `outbound|1||"x"`, cfg.Abort.Cluster)
	require.Equal(t, "pointsman_state", cfg.State.Cluster)
	_, err = render.With([]byte(withState), "abort.timeout_ms", "x")
	require.ErrorContains(t, err, "no text at abort.timeout_ms")
}

// A server refuses calls whose authority is not a host, so one is set where a cluster's
// name is none.
func TestStateCluster_sets_the_authority(t *testing.T) {
	in := read(t, withState, render.Options{})
	text, err := in.StateCluster("outbound|9090||statesvc.llm", "statesvc.llm")
	require.NoError(t, err)
	cfg, err := spec.Decode(text)
	require.NoError(t, err)
	require.Equal(t, spec.State{Cluster: "outbound|9090||statesvc.llm", Authority: "statesvc.llm"}, *cfg.State)

	in.Text, err = render.With([]byte(`{"state": {"cluster": "a", "authority": "own"}}`), "state.authority", "mine")
	require.NoError(t, err)
	text, err = in.StateCluster("b", "statesvc.llm")
	require.NoError(t, err)
	require.JSONEq(t, `{"state": {"cluster": "b", "authority": "mine"}}`, string(text))
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]render.Address{
		"10.0.0.7:8000":         {Host: "10.0.0.7", Port: 8000},
		"[fd00::1]:80":          {Host: "fd00::1", Port: 80},
		"statesvc.llm.svc:9090": {Host: "statesvc.llm.svc", Port: 9090},
	} {
		got, err := render.ParseAddress(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	for _, text := range []string{"", "10.0.0.7", "10.0.0.7:0", "10.0.0.7:65536", "a:b", ":80", "A:80", "-a:80", "a..b:80", "a\nb:80", `"a":80`, "http://a:80", "a{b:80"} {
		_, err := render.ParseAddress(text)
		require.Error(t, err, "%q", text)
	}
}

func TestDocuments_refuses_what_is_not_one_reading(t *testing.T) {
	documents, err := render.Documents([]byte("a: 1\n---\n# nothing\n---\nb: [x]\n"))
	require.NoError(t, err)
	require.Len(t, documents, 2)
	require.JSONEq(t, `{"b": ["x"]}`, string(documents[1]))
	for _, text := range []string{"a: 1\na: 2\n", "a: [", "\t- a"} {
		_, err := render.Documents([]byte(text))
		require.Error(t, err, "%q", text)
	}
}

func TestTemplate_quotes_what_yaml_reads_otherwise(t *testing.T) {
	for _, word := range []string{"engines", "a.b-c", "/etc/x.wasm", "10.0.0.1", "yes", "null", "1e3", "0x10", "a: b", "a #b", "#a", "*a", "", "10.0", "fd00::1", "~", "é", "a\nb"} {
		text, err := render.Template("a: {b: {{plain .}}, c: {{quote .}}}", word)
		require.NoError(t, err)
		documents, err := render.Documents(text)
		require.NoError(t, err)
		require.Len(t, documents, 1)
		quoted, err := render.Template("{{quote .}}", word)
		require.NoError(t, err)
		require.JSONEq(t, `{"a": {"b": `+string(quoted)+`, "c": `+string(quoted)+`}}`, string(documents[0]))
	}
}

func TestRefusals_are_lines(t *testing.T) {
	var refused render.Refusals
	require.NoError(t, refused.Err())
	refused.Add("a.b", "c", "is %d", 7)
	refused.Add("--d", "", "is empty")
	require.EqualError(t, refused.Err(), "a.b: is 7; instead: c\n--d: is empty")
}
