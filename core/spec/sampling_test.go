package spec

import (
	"testing"

	"github.com/pointsman/pointsman/core/sampling"
	"github.com/stretchr/testify/require"
)

func TestValidate_sampling(t *testing.T) {
	override := func(rules string) string { return `"sampling": {"override": {` + rules + `}}, ` }
	lenient := func(rules string) string {
		return `"sampling": {"conflict": "allow", "override": {` + rules + `}}, `
	}
	for _, tt := range []struct {
		model string
		want  []string
	}{
		{`"sampling": {}, `, []string{`.override: is required; write "override": {"temperature": 0.6}, or leave "sampling" out`}},
		{override(``), []string{`.override: is required; write "override": {"temperature": 0.6}, or leave "sampling" out`}},
		{`"sampling": {"conflict": "warn", "override": {"n": 1}}, `, []string{`.conflict: "warn" is not a choice; use reject or allow`}},
		{override(`"temperature": 1, "temperature": 1`), []string{`.override.temperature: stands twice; keep one`}},
		{override(`"top_p": {"min": 0.1, "min": 0.2, "max": 1}`), []string{`.override.top_p.min: stands twice; keep one`}},
		{override(`"temprature": 1, "n": 1`), []string{`.override.temprature: unknown key; did you mean "temperature"?`}},
		{override(`"n": "1"`), []string{`.override.n: must be a number or {"min": ..., "max": ...}, is "1"`}},
		{override(`"n": true`), []string{`.override.n: must be a number or {"min": ..., "max": ...}, is true`}},
		{override(`"n": null`), []string{`.override.n: null is not a value here; leave the key out`}},
		{override(`"n": 1e400`), []string{`.override.n: must be a number or {"min": ..., "max": ...}, is 1e400`}},
		{override(`"n": {"min": "1", "max": 2}`), []string{`.override.n.min: must be a number, is "1"`}},
		{override(`"n": {"low": 1, "max": 2}`), []string{`.override.n.low: unknown key; known keys: min, max`}},
		{override(`"n": {"max": 2}`), []string{`.override.n: a band needs both ends; write {"min": ..., "max": ...}, or a number`}},
		{override(`"n": {}`), []string{`.override.n: a band needs both ends; write {"min": ..., "max": ...}, or a number`}},
		{override(`"temperature": {"min": 1, "max": 0.5}`), []string{`.override.temperature: min 1 is above max 0.5; swap or widen them`}},
		{override(`"top_p": {"min": 0, "max": 1}`), []string{`.override.top_p: the band reaches out of range; use values that are above 0, to 1`}},
		{lenient(`"top_p": {"min": 0.5, "max": 1}`), []string{`.override.top_p: a band has no effect with "conflict": "allow"; use "conflict": "reject", or leave the band out`}},
		{override(`"temperature": 2.5, "top_p": 0, "top_k": 0, "min_p": -1, "repetition_penalty": 3, "frequency_penalty": -3, "presence_penalty": 3, "n": 129`), []string{
			`.override.temperature: 2.5 is out of range; use a value that is from 0 to 2`,
			`.override.top_p: 0 is out of range; use a value that is above 0, to 1`,
			`.override.top_k: 0 is out of range; use a value that is a whole number from 1 on, or -1`,
			`.override.min_p: -1 is out of range; use a value that is from 0 to 1`,
			`.override.repetition_penalty: 3 is out of range; use a value that is above 0, to 2`,
			`.override.frequency_penalty: -3 is out of range; use a value that is from -2 to 2`,
			`.override.presence_penalty: 3 is out of range; use a value that is from -2 to 2`,
			`.override.n: 129 is out of range; use a value that is a whole number from 1 to 128`,
		}},
	} {
		var want []string
		for _, w := range tt.want {
			want = append(want, "models.m.sampling"+w)
		}
		require.Equal(t, want, problemsOf(t, sloModel(tt.model, ``)), tt.model)
	}
	require.Equal(t, []string{`models.m.buckets[0].sampling: belongs to a model; write it into "models": {"<name>": {...}}`}, problemsOf(t, sloModel(``, `"sampling": {}, `)))
}

func TestBuild_sampling(t *testing.T) {
	none := build(t, sloModel(``, ``), Handles{})
	require.Nil(t, none.Sampling("m"))
	require.Nil(t, none.Sampling("other"))

	contract := build(t, sloModel(`"sampling": {"override": {"temperature": 0.6, "top_k": -1, "top_p": {"min": 0.5, "max": 0.9}}}, `, ``), Handles{}).Sampling("m")
	var values sampling.Values
	require.Equal(t, `"temperature":0.6,"top_k":-1`, contract.Missing(&values, sampling.All))
	values.Note("top_p", "1")
	values.Note("temperature", "0.7")
	require.Equal(t, sampling.Of(sampling.Temperature, sampling.TopP), contract.Violated(&values), "reject is the default")

	contract = build(t, sloModel(`"sampling": {"override": {"temperature": 0.6}, "conflict": "allow"}, `, ``), Handles{}).Sampling("m")
	require.Zero(t, contract.Violated(&values))

	for _, s := range []*Sampling{
		{Override: &Override{N: &SamplingRule{}}},
		{Override: &Override{N: &SamplingRule{Number: new(float64)}}},
	} {
		_, err := Build(&Config{Models: map[string]Model{"m": {Sampling: s}}}, Handles{Load: noLoad{}})
		require.ErrorContains(t, err, "models.m")
		require.ErrorContains(t, err, "n: ")
	}
}

func TestValidate_generate_model(t *testing.T) {
	const bucket = `{"buckets": [{"id": "b", "groups": {"plain": {"policy": {"type": "random"}}}}]}`
	one, two := `"m": `+bucket, `"m": `+bucket+`, "n": `+bucket
	document := func(members, models string) string {
		return `{"version": 1, "state": {"cluster": "s"}, ` + members + `"models": {` + models + `}}`
	}
	for _, tt := range []struct{ members, models, want string }{
		{`"generate_model": "m", `, one, `generate_model: has no effect: /generate is not among paths; add it to "paths", or leave generate_model out`},
		{`"paths": ["/generate"], `, two, `generate_model: is required: bodies of /generate name no model, and 2 are routed; name the model they are for`},
		{`"paths": ["/generate"], "generate_model": "o", `, two, `generate_model: "o" is not among models; name one of them`},
		{`"paths": ["/generate"], "generate_model": 7, `, two, `generate_model: must be a string, is 7`},
	} {
		require.Equal(t, []string{tt.want}, problemsOf(t, document(tt.members, tt.models)), tt.members)
	}
	for _, tt := range []struct{ members, models, want string }{
		{``, one, ""},
		{`"paths": ["/generate"], `, one, "m"},
		{`"paths": ["/generate"], "generate_model": "n", `, two, "n"},
		{`"paths": ["/v1/responses", "/v1/messages", "/v1/embeddings"], `, two, ""},
	} {
		cfg, err := Decode([]byte(document(tt.members, tt.models)))
		require.NoError(t, err)
		require.Equal(t, tt.want, Defaults(cfg).GenerateModel)
	}
}
