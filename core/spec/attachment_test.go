package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/policy"
)

// attached is a configuration with members of the model, and a bucket for each list
// of members of a plain group.
func attached(model string, groups ...string) string {
	buckets := make([]string, 0, len(groups))
	for i, g := range groups {
		buckets = append(buckets, `{"id": "b`+string(rune('0'+i))+`", "groups": {"plain": {`+g+`}}}`)
	}
	return `{"version": 1, "state": {"cluster": "s"}, "models": {"m": {` + model + `"buckets": [` + strings.Join(buckets, ", ") + `]}}}`
}

// A group without a policy takes the model's; its own one replaces that whole, with
// what it leaves out at its own default.
func TestDefault_policy_is_replaced_whole(t *testing.T) {
	cfg := everything(t, attached(
		`"policy": {"type": "power_of_two", "choices": 5, "admission": {"max_inflight_requests": 4}}, `,
		``, `"policy": {"type": "power_of_two"}`, `"worker_ids": ["a"]`, `"policy": {"type": "cache_aware", "min_matched_tokens": 7}`,
	))
	router, err := Build(Defaults(cfg), stateful())
	require.NoError(t, err)
	var names []string
	instances := map[any]bool{}
	for _, b := range router.directory.find("m").model.resolver.Buckets() {
		p := b.EngineGroups()[0].Policy()
		names = append(names, p.Name())
		instances[p] = true
	}
	require.Equal(t, []string{"power_of_two", "power_of_two", "power_of_two", "cache_aware"}, names)
	require.Len(t, instances, 4, "each group has its own instance")

	m := cfg.Models["m"]
	given := func(i int) *Policy { return m.policyOf(core.StagePlain, m.Buckets[i].Groups.Plain) }
	require.Same(t, m.Policy, given(0))
	require.Same(t, m.Policy, given(2))
	require.Equal(t, &Policy{Type: PolicyPowerOfTwo}, given(1), "nothing of the default is taken over")
	require.Equal(t, uint64(7), given(3).caching().MinMatchedTokens)
	require.Equal(t, []string{policy.DefaultPrefixSource}, router.ModelNeeds("m").Prefixes)
}

// An override brings its own requirements, and so does a default (POLICY_DESIGN
// section 6).
func TestDefault_policy_has_needs(t *testing.T) {
	const session, cache = `"policy": {"type": "session_aware"}`, `"policy": {"type": "cache_aware"}`
	for _, doc := range []string{attached(session+", ", ``, cache), attached(cache+", ", session, ``)} {
		router, err := Build(Defaults(everything(t, doc)), stateful())
		require.NoError(t, err)
		require.Equal(t, DefaultSessionHeader, router.Needs().Session)
		require.Len(t, router.ModelNeeds("m").Scopes, 1)
		require.Equal(t, []string{policy.DefaultPrefixSource}, router.ModelNeeds("m").Prefixes)
	}
	router, err := Build(Defaults(everything(t, attached(session+", ", ``, ``, `"policy": {"type": "random"}`))), stateful())
	require.NoError(t, err)
	scopes := router.ModelNeeds("m").Scopes
	require.Len(t, scopes, 2)
	require.Equal(t, []string{"b0", "b1"}, []string{scopes[0].Bucket, scopes[1].Bucket})
}

func TestDefault_policy_is_refused(t *testing.T) {
	const random = `"policy": {"type": "random"}`
	const noPairs = `models.m.buckets[1].groups.pd: prefill/decode dispatch is not in this version; use "plain" groups`
	pair := func(prefill, decode string) string {
		return `}}}, {"id": "pd", "groups": {"pd": {"prefill": {` + prefill + `}, "decode": {` + decode + `}`
	}
	for _, tt := range []struct {
		model, group string
		want         []string
	}{
		{random + ", ", random, []string{`models.m.policy: has no effect: every group has a policy of its own or of its stage; leave it out, or leave a group's own policy out`}},
		{`"prefill_policy": {"type": "random"}, `, random, []string{`models.m.prefill_policy: has no effect: no prefill group is without a policy of its own; leave it out, or leave a group's own policy out`}},
		{`"decode_policy": {"type": "random"}, `, random, []string{`models.m.decode_policy: has no effect: no decode group is without a policy of its own; leave it out, or leave a group's own policy out`}},
		{`"policy": {"type": "random", "choices": 3}, `, ``, []string{`models.m.policy.choices: has no effect on random; leave it out or use power_of_two`}},
		{`"policy": {"choices": 3}, `, ``, []string{`models.m.policy.type: is required; use round_robin, random, power_of_two, load_based, consistent_hash, session_aware, sticky or cache_aware`}},
		{`"policy": {"type": "fused_score"}, `, ``, []string{`models.m.policy.type: "fused_score" is dropped: policies do not add up scores; use power_of_two`}},
		{`"policy": "random", `, ``, []string{`models.m.policy: must be an object, is "random"`}},
		{`"policy": {"type": "random"}, "policy": {"type": "random"}, `, ``, []string{`models.m.policy: stands twice; keep one`}},
		{`"polcy": {"type": "random"}, `, random, []string{`models.m.polcy: unknown key; did you mean "policy"?`}},
		{``, ``, []string{`models.m.buckets[0].groups.plain.policy: is required; write "policy": {"type": "power_of_two"}, here or for all groups in the model`}},
		{`"policy": {"type": "cache_aware"}, `, pair(``, ``), []string{
			noPairs,
			`models.m.policy.type: cache_aware looks at prompt prefixes, which decode engines do not compute; use power_of_two on decode groups`,
		}},
		{`"policy": {"type": "cache_aware"}, "decode_policy": {"type": "power_of_two"}, `, pair(``, ``), []string{noPairs}},
		{`"prefill_policy": {"type": "cache_aware"}, "policy": {"type": "random"}, `, pair(``, ``), []string{noPairs}},
		{`"prefill_policy": {"type": "cache_aware"}, `, `"policy": {"type": "random"}` + pair(``, ``), []string{
			noPairs,
			`models.m.buckets[1].groups.pd.decode.policy: is required; write "policy": {"type": "power_of_two"}, here or for all groups in the model`,
		}},
	} {
		require.Equal(t, tt.want, findings(t, attached(tt.model, tt.group)), "%s%s", tt.model, tt.group)
	}
	for doc, want := range map[string]string{
		attached(``, random+`, "decode_policy": {}`):                              `models.m.buckets[0].groups.plain.decode_policy: belongs to a model; write it into "models": {"<name>": {...}}`,
		strings.Replace(attached(``, random), `"groups"`, random+`, "groups"`, 1): `models.m.buckets[0].policy: belongs to a group, or to a model for all its groups; write it into "plain", "prefill" or "decode", or into "models": {"<name>": {...}}`,
	} {
		require.Equal(t, []string{want}, findings(t, doc))
	}
}

// Of any mix of defaults and own policies each group gets the nearest, and a default
// is refused exactly when no group gets it.
func TestProperty_nearest_policy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maybe := func(label string) *Policy {
			if rapid.Bool().Draw(t, label) {
				return &Policy{Type: PolicyRandom}
			}
			return nil
		}
		m := Model{Policy: maybe("model"), PrefillPolicy: maybe("prefill"), DecodePolicy: maybe("decode")}
		taken := map[*Policy]bool{}
		missing := 0
		want := func(g *Group, order ...*Policy) {
			for _, p := range append([]*Policy{g.Policy}, order...) {
				if p != nil {
					taken[p] = true
					return
				}
			}
			missing++
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "buckets") {
			b := Bucket{ID: string(rune('a' + i))}
			if rapid.Bool().Draw(t, "pd") {
				b.Groups.PD = &PD{Prefill: &Group{Policy: maybe("p")}, Decode: &Group{Policy: maybe("d")}}
				want(b.Groups.PD.Prefill, m.PrefillPolicy, m.Policy)
				want(b.Groups.PD.Decode, m.DecodePolicy, m.Policy)
			} else {
				b.Groups.Plain = &Group{Policy: maybe("own")}
				want(b.Groups.Plain, m.Policy)
			}
			m.Buckets = append(m.Buckets, b)
		}
		idle, required := 0, 0
		for _, p := range validate(&Config{Version: 1, State: &State{Cluster: "s"}, Models: map[string]Model{"m": m}}, readable{true, true}, nil) {
			switch {
			case strings.HasPrefix(p.Reason, "has no effect"):
				idle++
			case p.Reason == "is required":
				required++
			}
		}
		for _, p := range []*Policy{m.Policy, m.PrefillPolicy, m.DecodePolicy} {
			if p != nil && !taken[p] {
				idle--
			}
		}
		if idle != 0 || required != missing {
			t.Fatalf("%+v: %d findings of defaults too many, %d groups without a policy, want %d", m, idle, required, missing)
		}
	})
}
