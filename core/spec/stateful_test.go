package spec

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/coretest"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/pressure"
)

// Tests of this file are about policies that need state from outside. They read
// configurations as if every prefix source were fed.

func everything(t *testing.T, doc string) *Config {
	t.Helper()
	cfg, err := decodeFed([]byte(doc), nil)
	require.NoError(t, err, doc)
	return cfg
}

// findings lists the problems of a configuration.
func findings(t *testing.T, doc string) (lines []string) {
	t.Helper()
	_, err := decodeFed([]byte(doc), nil)
	if problems, ok := errors.AsType[Problems](err); ok {
		for _, p := range problems {
			lines = append(lines, p.String())
		}
	}
	return lines
}

func stateful() Handles {
	return Handles{Load: noLoad{}, Bindings: &coretest.Bindings{}, Prefixes: &coretest.Prefixes{}}
}

// policyOf builds a one-policy configuration and gives the policy's settings.
func policyOf(t *testing.T, members string) *Policy {
	t.Helper()
	cfg := everything(t, hashed("", members))
	_, err := Build(Defaults(cfg), stateful())
	require.NoError(t, err, members)
	return cfg.Models["m"].Buckets[0].Groups.Plain.Policy
}

// A source that nothing feeds is refused: nobody would ever be found to hold a
// prompt.
func TestSources_that_are_not_fed_are_refused(t *testing.T) {
	for _, members := range []string{"", `, "source": "local"`, `, "source": "history"`, `, "source": "remote"`} {
		requireValid(t, everything(t, hashed("", `"type": "cache_aware"`+members)))
	}
	require.Equal(t, []string{`models.m.buckets[0].groups.plain.policy.source: "radix" is not a prefix source of this version; write "source": "local" or "history" or "remote"`},
		problemsOf(t, hashed("", `"type": "cache_aware", "source": "radix"`)))
}

func TestValidate_stateful_policies(t *testing.T) {
	for members, want := range map[string]string{
		`"type": "sticky", "fallback": "consistent_hash"`:                             `.fallback: "consistent_hash" is not a choice; use round_robin, random, power_of_two or load_based`,
		`"type": "session_aware", "fallback": "random"`:                               `.fallback: has no effect on session_aware; leave it out or use sticky`,
		`"type": "sticky", "choices": 2`:                                              `.choices: has no effect on sticky; leave it out or use power_of_two`,
		`"type": "session_aware", "key": "session"`:                                   `.key: has no effect on session_aware; leave it out or use consistent_hash`,
		`"type": "session_aware", "pressure_guard": {}`:                               `.pressure_guard: has no effect on session_aware; leave it out or use cache_aware`,
		`"type": "session_aware", "pressure_guard": false`:                            `.pressure_guard: has no effect on session_aware; leave it out or use cache_aware`,
		`"type": "sticky", "source": "local"`:                                         `.source: has no effect on sticky; leave it out or use cache_aware`,
		`"type": "sticky", "min_matched_tokens": 1`:                                   `.min_matched_tokens: has no effect on sticky; leave it out or use cache_aware`,
		`"type": "sticky", "min_match_ratio": 1`:                                      `.min_match_ratio: has no effect on sticky; leave it out or use cache_aware`,
		`"type": "sticky", "candidate_min_workers": 1`:                                `.candidate_min_workers: has no effect on sticky; leave it out or use cache_aware`,
		`"type": "sticky", "candidate_ratio": 1`:                                      `.candidate_ratio: has no effect on sticky; leave it out or use cache_aware`,
		`"type": "sticky", "candidate_max_workers": 1`:                                `.candidate_max_workers: has no effect on sticky; leave it out or use cache_aware`,
		`"type": "sticky", "switch_margin_tokens": 1`:                                 `.switch_margin_tokens: has no effect on sticky; leave it out or use cache_aware`,
		`"type": "sticky", "worker_queue_limit": 1`:                                   `.worker_queue_limit: has no effect on sticky; leave it out or use cache_aware`,
		`"type": "sticky", "saturation_queue_floor": 1`:                               `.saturation_queue_floor: has no effect on sticky; leave it out or use cache_aware`,
		`"type": "power_of_two", "min_load_choices": 1`:                               `.min_load_choices: has no effect on power_of_two; leave it out or use cache_aware`,
		`"type": "cache_aware", "choices": 2`:                                         `.choices: has no effect on cache_aware; leave it out or use power_of_two`,
		`"type": "cache_aware", "prefix_bytes": 2`:                                    `.prefix_bytes: has no effect on cache_aware; leave it out or use consistent_hash`,
		`"type": "cache_aware", "source": "My Index"`:                                 `.source: "My Index" is not the name of a prefix source; use 1 to 64 lower-case letters, digits, hyphens or underscores`,
		`"type": "cache_aware", "min_match_ratio": 1.01`:                              `.min_match_ratio: 1.01 is out of range; use a number from 0 to 1`,
		`"type": "cache_aware", "min_match_ratio": -0.5`:                              `.min_match_ratio: -0.5 is out of range; use a number from 0 to 1`,
		`"type": "cache_aware", "candidate_ratio": 2`:                                 `.candidate_ratio: 2 is out of range; use a number from 0 to 1`,
		`"type": "cache_aware", "candidate_min_workers": 0`:                           `.candidate_min_workers: 0 is out of range; use at least 1 or leave it out`,
		`"type": "cache_aware", "candidate_max_workers": 0`:                           `.candidate_max_workers: 0 is out of range; use at least 1 or leave it out`,
		`"type": "cache_aware", "candidate_min_workers": 33`:                          `.candidate_min_workers: at least 33 candidates of at most 32; set candidate_min_workers to candidate_max_workers or less`,
		`"type": "cache_aware", "candidate_max_workers": 7`:                           `.candidate_max_workers: at least 8 candidates of at most 7; set candidate_min_workers to candidate_max_workers or less`,
		`"type": "cache_aware", "worker_queue_limit": 0`:                              `.worker_queue_limit: 0 is out of range; use at least 1 or leave it out`,
		`"type": "cache_aware", "saturation_queue_floor": 1`:                          `.saturation_queue_floor: has no effect without worker_queue_limit; set worker_queue_limit or leave it out`,
		`"type": "cache_aware", "worker_queue_limit": 4, "saturation_queue_floor": 0`: `.saturation_queue_floor: 0 is out of range; use at least 1 or leave it out`,
		`"type": "cache_aware", "worker_queue_limit": 4, "saturation_queue_floor": 5`: `.saturation_queue_floor: 5 is above worker_queue_limit 4; lower it or raise worker_queue_limit`,
		`"type": "cache_aware", "source": "remote", "private_match": true`:            `.private_match: an indexer does not tell what prompts share; leave it out or use "source": "local" or "history"`,
		`"type": "sticky", "private_match": true`:                                     `.private_match: has no effect on sticky; leave it out or use cache_aware`,
		`"type": "cache_aware", "min_load_choices": 0`:                                `.min_load_choices: 0 is out of range; use 1 to 65536`,
		`"type": "cache_aware", "pressure_guard": {"rel_threshold": 1}`:               `.pressure_guard.rel_threshold: 1 is out of range; use a number above 1`,
		`"type": "cache_aware", "pressure_guard": {"abs_threshold_ms": -1}`:           `.pressure_guard.abs_threshold_ms: -1 is out of range; use a number of at least 0`,
		`"type": "cache_aware", "pressure_guard": {"abs_threshold_tokens": -1}`:       `.pressure_guard.abs_threshold_tokens: must be a whole number, zero or more, is -1`,
		`"type": "cache_aware", "pressure_guard": {"abs_threshold": 1}`:               `.pressure_guard.abs_threshold: unknown key; known keys: abs_threshold_tokens, abs_threshold_ms, rel_threshold`,
		`"type": "cache_aware", "pressure_guard": {"-": true}`:                        `.pressure_guard.-: unknown key; known keys: abs_threshold_tokens, abs_threshold_ms, rel_threshold`,
		`"type": "cache_aware", "pressure_guard": true`:                               `.pressure_guard: must be an object or false, is true; leave it out for its defaults`,
		`"type": "cache_aware", "pressure_guard": 3`:                                  `.pressure_guard: must be an object, is 3`,
		`"type": "cache_aware", "pressure_guard": null`:                               `.pressure_guard: null is not a value here; leave the key out`,
		`"type": "cache_aware", "pressure_guard": false, "switch_margin_tokens": 5`:   `.switch_margin_tokens: has no effect: only the pressure guard switches to an engine that holds less; leave it out or leave "pressure_guard": false out`,
		`"type": "cache_aware", "rel_threshold": 2`:                                   `.rel_threshold: belongs to the pressure guard; write it into "pressure_guard": {...} of a cache_aware policy`,
		`"type": "cache_aware", "disable_pressure_guard": true`:                       `.disable_pressure_guard: is spelled otherwise here; use "pressure_guard": false in a cache_aware policy`,
		`"type": "cache_aware", "cache_affinity_min_matched_tokens": 1`:               `.cache_affinity_min_matched_tokens: is spelled otherwise here; use "min_matched_tokens" in a cache_aware policy`,
		`"type": "session_aware", "idle_secs": 1`:                                     `.idle_secs: belongs to a kind of key; write it into "session" or "routing_key" at the top level`,
		`"type": "session_aware", "affinity_mode": "soft"`:                            `.affinity_mode: is dropped: a binding is reused whenever its engine is admitted, there is no soft mode; leave it out`,
		`"type": "session_aware", "session_affinity_mode": "global-rebind"`:           `.session_affinity_mode: is dropped: a session is bound in each bucket and stage, there are no global modes; leave it out`,
		`"type": "stiky"`: `.type: "stiky" is not a policy; did you mean "sticky"?`,
	} {
		require.Equal(t, []string{"models.m.buckets[0].groups.plain.policy" + want}, findings(t, hashed("", members)), members)
	}
	require.Len(t, findings(t, hashed("", `"type": "cache_aware", "min_match_ratio": 2, "candidate_ratio": 3, "candidate_min_workers": 40,
		"worker_queue_limit": 0, "saturation_queue_floor": 0, "min_load_choices": 0, "key": "x", "pressure_guard": {"rel_threshold": 0, "abs_threshold_ms": -2}`)), 9, "all at once")
}

func TestValidate_cache_aware_on_decode(t *testing.T) {
	doc := strings.Replace(hashed("", `"type": "random"`), `{"plain": {"policy": {"type": "random"}}}`,
		`{"pd": {"prefill": {"policy": {"type": "cache_aware"}}, "decode": {"policy": {"type": "cache_aware"}}}}`, 1)
	require.Equal(t, []string{
		`models.m.buckets[0].groups.pd: prefill/decode dispatch is not in this version; use "plain" groups`,
		`models.m.buckets[0].groups.pd.decode.policy.type: cache_aware looks at prompt prefixes, which decode engines do not compute; use power_of_two on decode groups`,
	}, findings(t, doc))
	p := &Group{Policy: &Policy{Type: PolicyCacheAware}}
	_, err := Build(&Config{Models: map[string]Model{"m": {Buckets: []Bucket{{ID: "b", Groups: Groups{PD: &PD{Prefill: p, Decode: p}}}}}}}, stateful())
	require.ErrorContains(t, err, "use power_of_two on decode groups", "Build refuses it by itself")
}

func TestValidate_idle_secs(t *testing.T) {
	const session, sticky = `"type": "session_aware"`, `"type": "sticky"`
	for _, tt := range []struct{ top, policy, want string }{
		{`"session": {"idle_secs": 0}, `, session, `session.idle_secs: 0 is out of range; use 1 to 604800`},
		{`"routing_key": {"idle_secs": 604801}, `, sticky, `routing_key.idle_secs: 604801 is out of range; use 1 to 604800`},
		{`"session": {"idle_secs": 5}, `, onSession, `session.idle_secs: has no effect: no policy binds such keys; leave it out`},
		{`"routing_key": {"idle_secs": 5}, `, session, `routing_key: has no effect: no policy uses such keys; leave it out or use "consistent_hash" with such a "key"`},
		{`"session": {"idle_secs": 5, "eviction_interval_secs": 60}, `, session, `session.eviction_interval_secs: belongs to the state service, which drops idle bindings in its own time; leave it out`},
		{`"session_idle_secs": 5, `, session, `session_idle_secs: is spelled otherwise here; use "session": {"idle_secs": ...}`},
		{`"worker_queue_limit": 5, `, session, `worker_queue_limit: belongs to a policy; write it into "policy": {...}`},
	} {
		require.Equal(t, []string{tt.want}, findings(t, hashed(tt.top, tt.policy)))
	}
	cfg := everything(t, hashed(`"session": {"idle_secs": 30}, `, session))
	require.Equal(t, []uint64{30, 600}, []uint64{cfg.BindingIdle(policy.KeySession), cfg.BindingIdle(policy.KeyRouting)})
	r, err := Build(Defaults(cfg), stateful())
	require.NoError(t, err)
	require.Equal(t, "x-session-id", r.Needs().Session, "the header keeps its default")
	cfg = everything(t, hashed(`"routing_key": {"header": "x-r"}, `, sticky))
	require.Equal(t, uint64(600), cfg.BindingIdle(policy.KeyRouting))
}

func TestBuild_stateful_needs(t *testing.T) {
	doc := `{"version": 1, "state": {"cluster": "s"}, "models": {
	  "a": {"buckets": [
	    {"id": "two", "limits": {"max": 9}, "groups": {"plain": {"policy": {"type": "sticky", "fallback": "load_based"}}}},
	    {"id": "one", "groups": {"plain": {"policy": {"type": "session_aware"}}}}]},
	  "b": {"aliases": ["c"], "buckets": [
	    {"id": "x", "groups": {"plain": {"policy": {"type": "cache_aware", "source": "remote"}}}},
	    {"id": "y", "groups": {"plain": {"policy": {"type": "cache_aware"}}}},
	    {"id": "z", "groups": {"plain": {"policy": {"type": "cache_aware"}}}}]},
	  "d": {"buckets": [{"id": "x", "groups": {"plain": {"policy": {"type": "random"}}}}]}}}`
	r, err := Build(Defaults(everything(t, doc)), stateful())
	require.NoError(t, err)
	require.Equal(t, Needs{Session: "x-session-id", Routing: "x-sgl-routing-key", Bindings: true, Prefixes: []string{"local", "remote"}}, r.Needs())
	require.Equal(t, ModelNeeds{Scopes: []policy.Scope{
		{Kind: policy.KeyRouting, Model: "a", Bucket: "two", Stage: core.StagePlain},
		{Kind: policy.KeySession, Model: "a", Bucket: "one", Stage: core.StagePlain},
	}, Lengths: LengthsExact}, r.ModelNeeds("a"))
	target, ok := r.Route("c", adapters{})
	require.True(t, ok)
	require.Equal(t, ModelNeeds{Prefixes: []string{"local", "remote"}}, r.ModelNeeds(target.Model))
	require.Zero(t, r.ModelNeeds("d"))
	require.Zero(t, r.ModelNeeds("nobody"))

	pair := Groups{PD: &PD{Prefill: &Group{Policy: &Policy{Type: PolicySessionAware}}, Decode: &Group{Policy: &Policy{Type: PolicySessionAware}}}}
	r, err = Build(&Config{Models: map[string]Model{"m": {Buckets: []Bucket{{ID: "b", Groups: pair}}}}}, stateful())
	require.NoError(t, err)
	require.Equal(t, []policy.Scope{
		{Kind: policy.KeySession, Model: "m", Bucket: "b", Stage: core.StagePrefill}, {Kind: policy.KeySession, Model: "m", Bucket: "b", Stage: core.StageDecode},
	}, r.ModelNeeds("m").Scopes)
}

// Policies without what they ask are refused by name, never built blind.
func TestBuild_refuses_missing_handles(t *testing.T) {
	for members, want := range map[string]string{
		`"type": "session_aware"`: "session_aware needs a view of bindings",
		`"type": "sticky"`:        "sticky needs a view of bindings",
		`"type": "cache_aware"`:   "cache_aware needs a view of prefixes",
	} {
		_, err := Build(Defaults(everything(t, hashed("", members))), Handles{Load: noLoad{}})
		require.ErrorContains(t, err, want)
		var refused *core.ConfigError
		require.ErrorAs(t, err, &refused)
	}
	for want, p := range map[string]*Policy{
		`fallback "x" is not known`: {Type: PolicySticky, Fallback: "x"},
		`match ratio 2`:             {Type: PolicyCacheAware, MinMatchRatio: new(2.0)},
	} {
		_, err := Build(&Config{Models: map[string]Model{"m": {Buckets: []Bucket{{ID: "b", Groups: Groups{Plain: &Group{Policy: p}}}}}}}, stateful())
		require.ErrorContains(t, err, want)
	}
}

func TestPolicy_caching(t *testing.T) {
	require.Equal(t, policy.DefaultCaching(), policyOf(t, `"type": "cache_aware"`).caching())
	require.Equal(t, policy.DefaultCaching(), policyOf(t, `"type": "cache_aware", "pressure_guard": {}`).caching())
	require.Equal(t, policy.Caching{
		Source: "local", MinMatchedTokens: 1024, CandidateMinWorkers: 8, CandidateRatio: 0.05, CandidateMaxWorkers: 32, SwitchMargin: 1024,
		MinLoadChoices: 2, Guard: &pressure.Guard{AbsTokens: 1024, Rel: 1.5},
	}, policy.DefaultCaching(), "engine-selection.md 9.1")
	all := policyOf(t, `"type": "cache_aware", "source": "s", "min_matched_tokens": 0, "min_match_ratio": 0.25, "candidate_min_workers": 2,
		"candidate_ratio": 0.5, "candidate_max_workers": 6, "switch_margin_tokens": 7, "worker_queue_limit": 8, "saturation_queue_floor": 4,
		"min_load_choices": 9, "pressure_guard": {"abs_threshold_tokens": 10, "abs_threshold_ms": 11.5, "rel_threshold": 12}`)
	want := policy.Caching{
		Source: "s", MinMatchRatio: 0.25, CandidateMinWorkers: 2, CandidateRatio: 0.5, CandidateMaxWorkers: 6, SwitchMargin: 7,
		WorkerQueueLimit: 8, SaturationQueueFloor: 4, MinLoadChoices: 9,
		Guard: &pressure.Guard{AbsTokens: 10, AbsMillis: new(11.5), Rel: 12},
	}
	require.Empty(t, cmp.Diff(want, all.caching()))
	require.Nil(t, policyOf(t, `"type": "cache_aware", "pressure_guard": false`).caching().Guard)
	private := policyOf(t, `"type": "cache_aware", "private_match": true`).caching()
	require.True(t, private.Private)
	require.Equal(t, policy.DefaultPrivateChoices, private.MinLoadChoices)
	require.False(t, policyOf(t, `"type": "cache_aware", "source": "history", "private_match": false`).caching().Private)
	for _, fallback := range []string{"round_robin", "random", "power_of_two", "load_based"} {
		policyOf(t, `"type": "sticky", "fallback": "`+fallback+`"`)
	}
}

// Without a state service nobody keeps bindings.
func TestValidate_bindings_need_a_state_service(t *testing.T) {
	for name, key := range map[string]string{PolicySessionAware: "session", PolicySticky: "routing"} {
		document := `{"version": 1, "workers": [{"address": "127.0.0.1:1", "models": ["m"]}], "models": {"m": {"buckets": [{"id": "b", "groups": {"plain": {"policy": {"type": "` + name + `"}}}}]}}}`
		require.Equal(t, []string{
			`models.m.buckets[0].groups.plain.policy.type: "` + name + `" binds keys in the state service, and there is no "state"; write "state": {"cluster": ...}, or use "consistent_hash" with "key": "` + key + `", which needs none`,
		}, problemsOf(t, document))
	}
}

// What was sent counts for 5 s unless configured, and 0 is a setting.
func TestPendingPrefix(t *testing.T) {
	const document = `{"version":1,"state":{"cluster":"s"%s},"models":{"m":{"buckets":[{"id":"a","groups":{"plain":{"policy":{"type":"cache_aware"}}}}]}}}`
	for setting, want := range map[string]uint64{"": 5000, `,"pending_prefix_ms":0`: 0, `,"pending_prefix_ms":60000`: 60_000} {
		cfg, err := Decode(fmt.Appendf(nil, document, setting))
		require.NoError(t, err)
		require.Equal(t, want, *Defaults(cfg).State.PendingPrefixMillis)
	}
	_, err := Decode(fmt.Appendf(nil, document, `,"pending_prefix_ms":60001`))
	require.ErrorContains(t, err, "state.pending_prefix_ms: 60001 is out of range; use 0 to 60000")
}
