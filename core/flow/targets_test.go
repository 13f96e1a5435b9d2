package flow

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// tiers is a cheap, slow bucket and a fast one, by preferences of both targets.
func tiers(ttft, tps string) string {
	return `"models":{"m":{"ttft_slo":"` + ttft + `","tps_slo":"` + tps + `","buckets":[
		{"id":"slow","limits":{"max":1000},"ttft_ms":2000,"tokens_per_second":10,"groups":{"plain":{"worker_ids":["e0"],"policy":{"type":"random"}}}},
		{"id":"fast","ttft_ms":200,"tokens_per_second":50,"groups":{"plain":{"worker_ids":["e1"],"policy":{"type":"random"}}}}]},
	"plain":{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"random"}}}}]}}`
}

// aimed sends a request with targets.
func (m *machine) aimed(model, ttft, tps string) (*Request, []Effect) {
	r, ev := m.NewRequest(), m.headers()
	ev.TTFTHeader, ev.TPSHeader = ttft, tps
	r.Step(&ev)
	return r, r.Step(&Event{Kind: EventBody, Now: m.now, Body: `{"model":"` + model + `"}`})
}

func TestTargets_order_buckets(t *testing.T) {
	for _, tt := range []struct{ prefer, ttft, tps, want string }{
		{"slo_first", "", "", "slow"},
		{"slo_first", "500", "", "fast"},
		{"slo_first", "2000", "", "slow"},
		{"slo_first", "100", "", "slow"}, // nobody meets it
		{"slo_first", "", "10.5", "fast"},
		{"slo_first", "", "1e1", "slow"},
		{"slo_first", "5000", "50", "fast"},
		{"best_effort", "2000", "", "slow"}, // both meet it
		{"best_effort", "", "20", "slow"},   // only the fast one meets it
		{"disabled", "0", "-1", "slow"},
		{"disabled", "soon", "fast", "slow"},
	} {
		m := newMachine(t, tiers(tt.prefer, tt.prefer), engines(2)...)
		r, effects := m.aimed("m", tt.ttft, tt.tps)
		require.Equal(t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects), "%+v", tt)
		require.Equal(t, tt.want, r.Receipt().Bucket, "%+v", tt)
	}
}

// Invalid headers are answered where they would count, and only there. D22: what
// is far too long is no target.
func TestTargets_invalid(t *testing.T) {
	const wantTTFT = "the header x-sgl-ttft-slo-ms must be a whole number of milliseconds from 1 to 86400000"
	const wantTPS = "the header x-sgl-tps-slo must be a number of tokens per second above 0"
	m := newMachine(t, tiers("slo_first", "best_effort"), engines(2)...)
	for _, ttft := range []string{"0", "-1", "1.5", "soon", "1e3", " 5", "0x10", "86400001", "9300000000000", "18446744073709551616", "\xff"} {
		_, effects := m.aimed("m", ttft, "")
		code, message := refusal(t, effects)
		require.Equal(t, CodeBadRequest, code, ttft)
		require.Equal(t, wantTTFT, message)
	}
	for _, tps := range []string{"0", "-0", "-1", "NaN", "inf", "+Inf", "1e999", "0x1p4", "1_0", "fast", "1 "} {
		_, effects := m.aimed("m", "", tps)
		code, message := refusal(t, effects)
		require.Equal(t, CodeBadRequest, code, tps)
		require.Equal(t, wantTPS, message)
	}
	require.Zero(t, m.inflight())

	// Another model does not look at them; a model nobody knows is 404 first.
	e := engine(0)
	e.Models = []string{"m", "plain"}
	m = newMachine(t, tiers("slo_first", "slo_first"), e)
	r, _ := m.aimed("plain", "soon", "fast")
	require.Equal(t, "all", r.Receipt().Bucket)
	_, effects := m.aimed("nobody", "soon", "fast")
	code, _ := refusal(t, effects)
	require.Equal(t, CodeModelNotFound, code)
}

// A full bucket of the preferred ones still overflows into the others.
func TestTargets_fall_back_out_of_the_tier(t *testing.T) {
	m := newMachine(t, tiers("slo_first", "disabled"), engines(1)...)
	r, _ := m.aimed("m", "500", "")
	require.Equal(t, "slow", r.Receipt().Bucket, "e1 of the fast bucket is not there")
	tries, _ := r.Receipt().Tries()
	require.Equal(t, "fast", tries[0].Bucket)
}

func TestTargets_in_the_receipt(t *testing.T) {
	m := newMachine(t, tiers("slo_first", "slo_first"), engines(2)...)
	r, _ := m.aimed("m", "500", "12.5")
	require.Contains(t, r.Receipt().Describe(), "peak=unknown ttft_slo_ms=500 tps_slo=12.5; order fast, slow; fast picked")
	r, _ = m.aimed("m", "", "")
	require.Contains(t, r.Receipt().Describe(), "peak=unknown; order slow, fast; slow picked")
}

func TestTargets_do_not_allocate(t *testing.T) {
	m := newMachine(t, tiers("slo_first", "slo_first"), engines(2)...)
	m.headerOnly = true
	request := requestOf("")
	request.headers.ModelHeader, request.headers.TTFTHeader, request.headers.TPSHeader = "m", "500", "12.5"
	m.play(&request)
	require.Zero(t, testing.AllocsPerRun(200, func() { m.play(&request) }))
}

// By llm-d's headers a rate is asked for as the milliseconds of one token.
func TestTargets_by_llmd_names(t *testing.T) {
	m := newMachine(t, `"slo_headers":"llm_d",`+tiers("slo_first", "slo_first"), engines(2)...)
	for rate, want := range map[string]string{"100": "slow", "99": "fast", "20": "fast", "19": "slow", "": "slow"} { // 19: nobody meets it
		r, _ := m.aimed("m", "", rate)
		require.Equal(t, want, r.Receipt().Bucket, rate)
	}
	for _, rate := range []string{"0", "12.5", "9300000000000"} {
		_, effects := m.aimed("m", "", rate)
		code, message := refusal(t, effects)
		require.Equal(t, CodeBadRequest, code)
		require.Equal(t, "the header x-llm-d-slo-tpot-ms must be a whole number of milliseconds from 1 to 86400000", message)
	}
	_, effects := m.aimed("m", "soon", "")
	_, message := refusal(t, effects)
	require.Equal(t, "the header x-llm-d-slo-ttft-ms must be a whole number of milliseconds from 1 to 86400000", message)
}
