package sampling

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestField_keys_are_found(t *testing.T) {
	for f := range FieldCount {
		got, ok := FieldOf(f.String())
		require.True(t, ok)
		require.Equal(t, f, got)
		require.NotEmpty(t, f.Domain())
		require.True(t, All.Has(f))
	}
	for _, key := range []string{"", "N", "top", "top_p ", "repetition_penalties", "max_tokens"} {
		_, ok := FieldOf(key)
		require.False(t, ok, key)
	}
	require.Empty(t, FieldCount.String()+FieldCount.Domain())
	require.False(t, FieldCount.Allows(1))
}

// The domains of engine-selection.md 12.6, at their ends.
func TestField_domains(t *testing.T) {
	inf, below, above := math.Inf(1), math.Nextafter(0, -1), math.Nextafter(0, 1)
	for _, tc := range []struct {
		f       Field
		in, out []float64
	}{
		{Temperature, []float64{0, 1, 2}, []float64{below, math.Nextafter(2, 3), inf, math.NaN()}},
		{TopP, []float64{above, 1}, []float64{0, math.Nextafter(1, 2), -1, math.NaN()}},
		{TopK, []float64{-1, 1, 50, 1e6}, []float64{0, -2, 1.5, -0.5, inf, math.NaN()}},
		{MinP, []float64{0, 1}, []float64{below, 1.01, math.NaN()}},
		{RepetitionPenalty, []float64{above, 2}, []float64{0, 2.01, math.NaN()}},
		{FrequencyPenalty, []float64{-2, 0, 2}, []float64{-2.01, 2.01, math.NaN()}},
		{PresencePenalty, []float64{-2, 0, 2}, []float64{-2.01, 2.01, math.NaN()}},
		{N, []float64{1, 128}, []float64{0, 129, 1.5, math.NaN()}},
	} {
		for _, x := range tc.in {
			require.True(t, tc.f.Allows(x), "%s %v", tc.f, x)
		}
		for _, x := range tc.out {
			require.False(t, tc.f.Allows(x), "%s %v", tc.f, x)
		}
	}
}

func TestRead(t *testing.T) {
	unreadable := Value{Kind: Unreadable}
	for raw, want := range map[string]Value{
		``: {}, `null`: {}, `true`: {Number, 1}, `false`: {Number, 0},
		`0.5`: {Number, 0.5}, `-1`: {Number, -1}, `1E-2`: {Number, 0.01}, `1.0`: {Number, 1},
		`1e400`: unreadable, `-1e400`: unreadable, `1e-400`: {Number, 0},
		`"0.5"`: {Number, 0.5}, `" 7\n"`: {Number, 7}, `"1_000"`: {Number, 1000}, `"1_0.2_5"`: {Number, 10.25}, `"+1"`: {Number, 1}, `".5"`: {Number, 0.5},
		`"\u0031"`: {Number, 1}, `"\t2"`: {Number, 2},
		`""`: unreadable, `" "`: unreadable, `"_1"`: unreadable, `"1_"`: unreadable, `"1__0"`: unreadable, `"1_.0"`: unreadable, `"1e_5"`: unreadable,
		`"inf"`: unreadable, `"nan"`: unreadable, `"0x10"`: unreadable, `"1e400"`: unreadable, `"one"`: unreadable, `"1 2"`: unreadable, `"--1"`: unreadable,
		`"` + strings.Repeat("0", 63) + `1"`:      {Number, 1},
		`"` + strings.Repeat("0", 64) + `1"`:      unreadable,
		`"` + strings.Repeat(" ", 64) + `1"`:      unreadable,
		`"` + strings.Repeat(`\u0030`, 64) + `"`:  {Number, 0},
		`"` + strings.Repeat(`\u0030`, 65) + `"`:  unreadable,
		`"\ud800` + strings.Repeat("0", 10) + `"`: unreadable,
		`1` + strings.Repeat("0", 300) + `e-300`:  {Number, 1},
		`[]`:                                      unreadable, `{"a":1}`: unreadable, `[0.5]`: unreadable,
	} {
		require.Equal(t, want, Read(raw), raw)
	}
}

func TestValues_of_a_repeated_key_the_last_one_counts(t *testing.T) {
	var vs Values
	for _, raw := range []string{`null`, `0.5`} {
		require.True(t, vs.Note("top_p", raw))
	}
	require.Equal(t, Value{Number, 0.5}, vs[TopP])
	require.True(t, vs.Note("top_p", `null`))
	require.Equal(t, Values{}, vs)
	require.False(t, vs.Note("max_tokens", `1`))
}

func contract(t *testing.T, allow bool, rules Rules) *Contract {
	t.Helper()
	c, err := New(rules, allow)
	require.NoError(t, err)
	return c
}

func TestNew_refuses(t *testing.T) {
	for _, tc := range []struct {
		rules Rules
		allow bool
		want  error
	}{
		{Rules{Temperature: Fix(2.1)}, false, ErrDomain},
		{Rules{TopP: Fix(0)}, true, ErrDomain},
		{Rules{N: Fix(1.5)}, false, ErrDomain},
		{Rules{TopP: Between(0, 1)}, false, ErrDomain},
		{Rules{Temperature: Between(0, 3)}, false, ErrDomain},
		{Rules{Temperature: Between(1, 0.5)}, false, ErrBackwards},
		{Rules{Temperature: Between(0, 1)}, true, ErrIdle},
	} {
		_, err := New(tc.rules, tc.allow)
		require.ErrorIs(t, err, tc.want)
	}
	_, err := New(Rules{TopK: Fix(0)}, false)
	require.EqualError(t, err, "top_k: the value lies outside of the field's domain")
}

func TestContract_violations(t *testing.T) {
	strict := contract(t, false, Rules{Temperature: Fix(0.5), TopP: Between(0.2, 0.8), N: Fix(1)})
	for _, tc := range []struct {
		members string
		want    Set
	}{
		{``, 0},
		{`"temperature":null,"top_p":null`, 0},
		{`"temperature":0.5,"top_p":0.2,"n":true`, 0},
		{`"temperature":"5e-1","top_p":"0.8"`, 0},
		{`"temperature":0.6`, Of(Temperature)},
		{`"temperature":"warm"`, Of(Temperature)},
		{`"temperature":[0.5]`, Of(Temperature)},
		{`"top_p":0.19`, Of(TopP)},
		{`"top_p":0.81`, Of(TopP)},
		{`"top_p":1e400`, Of(TopP)},
		{`"n":2,"temperature":1,"top_p":1,"top_k":-7`, Of(Temperature, TopP, N)},
		{`"top_k":"free","min_p":{}`, 0},
	} {
		values := valuesOf(t, tc.members)
		require.Equal(t, tc.want, strict.Violated(&values), tc.members)
	}
	first, ok := Of(N, TopP).First()
	require.True(t, ok)
	require.Equal(t, TopP, first)
	_, ok = Set(0).First()
	require.False(t, ok)

	lenient := contract(t, true, Rules{Temperature: Fix(0.5)})
	for _, members := range []string{`"temperature":1`, `"temperature":"warm"`, `"temperature":1e400`} {
		values := valuesOf(t, members)
		require.Zero(t, lenient.Violated(&values), "other values pass, readable or not")
		require.Empty(t, lenient.Missing(&values, All), "and stay as they are")
	}
}

// valuesOf reads the members of an object with the standard decoder.
func valuesOf(t *testing.T, members string) (vs Values) {
	t.Helper()
	var raw map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte("{"+members+"}"), &raw))
	for key, value := range raw {
		vs.Note(key, string(value))
	}
	return vs
}

func TestContract_missing(t *testing.T) {
	c := contract(t, false, Rules{Temperature: Fix(0.6), TopP: Between(0.2, 0.8), TopK: Fix(1_000_000), MinP: Fix(1e-7), FrequencyPenalty: Fix(math.Copysign(0, -1)), N: Fix(1)})
	var none Values
	require.Equal(t, `"temperature":0.6,"top_k":1000000,"min_p":1e-07,"frequency_penalty":0,"n":1`, c.Missing(&none, All))
	require.True(t, json.Valid([]byte("{"+c.Missing(&none, All)+"}")))
	require.Equal(t, `"temperature":0.6`, c.Missing(&none, Of(Temperature, TopP)))
	some := valuesOf(t, `"temperature":0.6,"top_k":null,"min_p":0.5,"n":"x"`)
	require.Equal(t, `"top_k":1000000,"frequency_penalty":0`, c.Missing(&some, All), "whatever is set is left as it is")
	require.Empty(t, c.Missing(&none, 0))
}

func TestContract_says_what_it_wants(t *testing.T) {
	c := contract(t, false, Rules{Temperature: Fix(0.6), TopP: Between(0.25, 1)})
	require.Equal(t, "0.6", c.Wants(Temperature))
	require.Equal(t, "a number from 0.25 to 1", c.Wants(TopP))
	require.Equal(t, "anything", c.Wants(N))
}

func FuzzRead(f *testing.F) {
	for _, raw := range []string{`null`, `true`, `-0.5`, `1e400`, `"1_000"`, `"\u0031"`, `" 7 "`, `"inf"`, `[1]`, `{"a":1}`, `"` + strings.Repeat("9", 64) + `"`} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		raw = strings.Trim(raw, " \t\r\n") // as a scanner cuts values out
		if !json.Valid([]byte(raw)) {
			return
		}
		v := Read(raw)
		require.False(t, math.IsInf(v.Number, 0) || math.IsNaN(v.Number))
		require.Equal(t, raw == "null", v.Kind == Absent)
		if v.Kind == Number {
			require.Equal(t, v, Read(strconv.FormatFloat(v.Number, 'g', -1, 64)))
		}
	})
}

// Whatever the contract and the request, what is added makes the request keep it.
func FuzzContract(f *testing.F) {
	f.Add(0.5, 0.1, 0.9, `0.5`, `null`, false)
	f.Add(2.0, 0.0, 0.0, `"2"`, `1e400`, true)
	f.Add(math.Pi/2, 1e-300, 1.0, `[]`, `0.2`, false)
	f.Fuzz(func(t *testing.T, fixed, low, high float64, first, second string, allow bool) {
		c, err := New(Rules{Temperature: Fix(fixed), TopP: Between(low, high), FrequencyPenalty: Fix(-fixed)}, allow)
		if err != nil || !json.Valid([]byte(first)) || !json.Valid([]byte(second)) {
			return
		}
		var before Values
		before.Note("temperature", strings.TrimSpace(first))
		before.Note("top_p", strings.TrimSpace(second))
		if c.Violated(&before) != 0 {
			return
		}
		after := before
		text := "{" + c.Missing(&before, All) + "}"
		var added map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(text), &added), text)
		for key, raw := range added {
			field, known := FieldOf(key)
			require.True(t, known)
			require.Equal(t, Absent, before[field].Kind, "only what was missing")
			after.Note(key, string(raw))
		}
		require.Zero(t, c.Violated(&after), text)
		require.Empty(t, c.Missing(&after, All))
	})
}

func TestContract_given(t *testing.T) {
	var rules Rules
	rules[N], rules[TopP] = Rule{Kind: Fixed, Min: 4, Max: 4}, Rule{Kind: Band, Min: 0.5, Max: 1}
	c, err := New(rules, false)
	require.NoError(t, err)
	var values Values
	n, given := c.Given(N, &values, All)
	require.True(t, given)
	require.InDelta(t, 4, n, 0)
	_, given = c.Given(TopP, &values, All)
	require.False(t, given, "a band gives nothing")
	_, given = c.Given(N, &values, All&^Of(N))
	require.False(t, given, "the dialect has no such field")
	values.Note("n", "2")
	_, given = c.Given(N, &values, All)
	require.False(t, given)
}
