package doctor

import (
	"maps"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/flow"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/hostsim/doctor/tree"
	"github.com/pointsman/pointsman/statesvc/config"
)

func knowledgeRules() []Rule {
	return []Rule{
		{
			Name: "sync-expiry", Severity: Error, Looks: "a state service that forgets filters between two reports",
			Why: "their open requests are not counted for others most of the time", Fix: "set sync.expiry_ms to at least four times sync_interval_ms", check: syncExpiry,
		},
		{
			Name: "observe-body", Severity: Warning, Looks: "a state service that takes smaller bodies than filters send",
			Why: "prompts between the two limits get 413 and are routed as if nothing were known of them", Fix: "set limits.max_observe_body_bytes to 4194304 or more", check: observeBody,
		},
		{
			Name: "tokens-not-counted", Severity: Warning, Looks: "buckets with bounds on lengths, and no tokenizer for the model",
			Why: "the service cannot count, so every prompt is estimated at a quarter of its bytes and some take the wrong bucket", Fix: `add the model to tokenize.models, set tokenize.ask_engines: true, or write "tokens": "estimate"`, check: notCounted,
		},
		{
			Name: "prefixes-not-fed", Severity: Warning, Looks: `cache_aware with source "local", and no events or tokens to feed it`,
			Why: "no prefix is ever found, and every request is placed by load", Fix: `turn kv on for the engines and add the model to tokenize.models, or use "source": "history"`, check: notFed,
		},
		{
			Name: "counted-alone", Severity: Warning, Looks: "policies or caps that go by load, without a state service",
			Why: "each worker thread of each proxy counts its own requests only: a cap of 8 is 8 for each of them", Fix: `add "state", or run Envoy with --concurrency 1`, check: countedAlone,
		},
		{
			Name: "seed", Severity: Warning, Looks: "a seed",
			Why: "all contexts choose alike, and give requests the same rids", Fix: "leave seed out in production",
			check: func(m *model, report reporter) {
				for _, f := range m.filters {
					if f.spec != nil && f.spec.Seed != nil {
						report(f.at.Get("seed"), "choices are repeatable")
					}
				}
			},
		},
	}
}

func syncExpiry(m *model, report reporter) {
	m.eachPair(func(f *filterConfig, s *stateConfig) {
		every, most := *f.spec.State.SyncIntervalMillis, uint64(s.config.Sync.ExpiryMillis)
		if most < 3*every {
			report(s.at.Get("sync", "expiry_ms"), "a filter reports every %d ms and is forgotten after %d ms", every, most)
		}
	})
}

func observeBody(m *model, report reporter) {
	m.eachPair(func(_ *filterConfig, s *stateConfig) {
		if most := s.config.Limits.MaxObserveBodyBytes; most < flow.DefaultObserveMaxBody {
			report(s.at.Get("limits", "max_observe_body_bytes"), "the service takes %d bytes, filters send up to %d", most, int64(flow.DefaultObserveMaxBody))
		}
	})
}

func notCounted(m *model, report reporter) {
	m.eachPair(func(f *filterConfig, s *stateConfig) {
		for _, name := range slices.Sorted(maps.Keys(f.spec.Models)) {
			model := f.spec.Models[name]
			if bounded(&model) && model.Tokens != spec.TokensEstimate && !counted(s, name) {
				report(f.at.Get("models").Get(name, "buckets"), "buckets of %q have bounds, and the state service has no tokenizer for it", name)
			}
		}
	})
}

func notFed(m *model, report reporter) {
	m.eachPair(func(f *filterConfig, s *stateConfig) {
		events := s.config.KV.Enabled && (!closed(s) || slices.ContainsFunc(s.config.Fleet.Static, func(w config.Worker) bool { return !w.KV.Disabled && !decodes(w) }))
		eachPolicy(f.spec, func(path string, p *spec.Policy) {
			if p.Type != spec.PolicyCacheAware || p.Source != "" && p.Source != "local" {
				return
			}
			model := modelOf(f.spec, path)
			switch {
			case !events:
				report(f.at.Find(path), "the state service follows no engine's KV events")
			case !counted(s, model):
				report(f.at.Find(path), "the state service has no tokenizer for %q, and prefixes are found by tokens", model)
			}
		})
	})
}

// counted reports whether the state service can count the tokens of a model.
func counted(s *stateConfig, model string) bool {
	_, ok := s.config.Tokenize.Models[model]
	return ok || s.config.Tokenize.AskEngines
}

func decodes(w config.Worker) bool {
	stage, _ := core.ParseStage(w.Role)
	return stage == core.StageDecode
}

// modelOf is the model that a policy's path belongs to.
func modelOf(s *spec.Config, path string) string {
	for name := range s.Models {
		if at := tree.Join("models", name); path == at || strings.HasPrefix(path, at+".") {
			return name
		}
	}
	return ""
}

func countedAlone(m *model, report reporter) {
	for _, f := range m.filters {
		if f.spec == nil || f.spec.State != nil {
			continue
		}
		eachPolicy(f.spec, func(path string, p *spec.Policy) {
			switch {
			case p.Admission != nil && p.Admission.MaxInflightRequests != nil:
				report(f.at.Find(path+".admission.max_inflight_requests"), "the cap counts the requests of one worker thread")
			case p.Type == spec.PolicyPowerOfTwo || p.Type == spec.PolicyLoadBased:
				report(f.at.Find(path+".type"), "%s goes by the requests of one worker thread", p.Type)
			}
		})
	}
}
