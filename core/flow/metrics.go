package flow

import (
	"cmp"
	"slices"
	"strings"
)

// Family is one metric of the filter for the people who read it. All are
// counters, and the values of a label are a closed set.
type Family struct {
	Name    string
	Label   string // empty for none
	Values  []string
	Meaning string
}

// Metrics lists the metrics that contexts count, by name. METRICS.md shows them.
func Metrics() []Family {
	families := meanings()
	for c := range CounterCount {
		name, label, _ := strings.Cut(c.Name(), "_total")
		i := slices.IndexFunc(families, func(f Family) bool { return f.Name == name+"_total" })
		if i < 0 {
			families = append(families, Family{Name: name + "_total"})
			i = len(families) - 1
		}
		f := &families[i]
		key, value, labelled := strings.Cut(strings.TrimPrefix(label, "_"), "=")
		if labelled && value != "" && value != "none" {
			f.Label, f.Values = key, append(f.Values, value)
		}
	}
	slices.SortFunc(families, func(a, b Family) int { return cmp.Compare(a.Name, b.Name) })
	return families
}

// meanings explains the metrics. Those of requests and picks count decisions: none
// says that an engine did anything with the request (POLICY_DESIGN section 8).
func meanings() []Family {
	return []Family{
		{Name: "pointsman_requests_total", Meaning: "Requests by what the router did with them: `routed` to an engine it chose; `passed` through, not being its business; `unplaced`, left to the host because no fleet is known; `models`, a model list. Those it answered with an error are in `pointsman_answers_total`."},
		{Name: "pointsman_answers_total", Meaning: "Requests the router answered itself, by the code of the error."},
		{Name: "pointsman_picks_total", Meaning: "Engines chosen, by the policy's reason, whatever became of the request then; core/policy/README.md explains each reason."},
		{Name: "pointsman_cache_decisions_total", Meaning: "Picks of `cache_aware` by what came of them: `cache_hit`, an engine that holds the prefix or what many prompts share; `cache_miss`, none holds enough or nobody could be asked; `cache_worker_queued`, the holders had a queue and another engine had none; `all_queued`, every engine had one."},
		{Name: "pointsman_cache_guard_total", Meaning: "Picks of `cache_aware` in which the pressure guard compared engines: `kept`, the one with the least to compute was taken; `switched`, one under much less pressure was."},
		{Name: "pointsman_cache_diverted_tokens_total", Meaning: "Prompt tokens held by the best of the engines that were passed over for their queue, of picks that are `cache_worker_queued`. In tokens, since prefix sources have blocks of different sizes."},
		{Name: "pointsman_selection_failures_total", Meaning: "Selections of a bucket that came to nothing, those that a later bucket made good included: `no_candidates`, no engine of a group takes requests; the cap that refused the first engine; `fault`, what the log says. What clients were told is in `pointsman_answers_total`."},
		{Name: "pointsman_history_shared_total", Meaning: "Conversations whose last turn another context of the same proxy had sent, learned from the host's shared data."},
		{Name: "pointsman_history_imported_total", Meaning: "Runs of prompt boundaries learned from other contexts through the state service."},
		{Name: "pointsman_history_dropped_total", Meaning: "Boundaries of own prompts that other proxies do not hear of, because one report takes no more."},
		{Name: "pointsman_pending_prefix_hits_total", Meaning: "Lookups at the sources `local` and `remote` for which an engine that was sent the prefix a moment ago counts for more than any that is known to hold it."},
		{Name: "pointsman_pick_replaced_total", Meaning: "Requests that the host's retry took to another engine than the chosen one."},
		{Name: "pointsman_header_only_latched_total", Meaning: "Contexts that found their host to hide bodies, and decide from headers since."},
		{Name: "pointsman_header_only_routed_total", Meaning: "Requests decided from headers."},
		{Name: "pointsman_observes_total", Meaning: "Requests that asked the state service what it knows of them: `answered`; `unavailable`, no answer or none that can be read; `late`, none by the deadline."},
		{Name: "pointsman_prompt_lengths_total", Meaning: "Prompts whose length in tokens the state service was asked for: `counted`; `uncounted`, it has nothing to count the model's prompts with, so it is not asked again for 10 s; `unavailable`, no answer. Without a count the length is estimated."},
		{Name: "pointsman_binds_total", Meaning: "Placements of new keys: `won`; `lost` to another request that was faster, whose engine is followed then; `unavailable` and `late` as above."},
		{Name: "pointsman_unbound_total", Meaning: "Placements sent on without a binding: the state service was `unavailable`, other requests were faster in all `rounds`, or the pair could not be completed with their engine, which was `rejected`."},
		{Name: "pointsman_bindings_remembered_total", Meaning: "Bindings followed from the context's own memory while the state service was not there."},
		{Name: "pointsman_used_bindings_dropped_total", Meaning: "Uses of bindings not reported, so not prolonging them, because one report takes no more."},
		{Name: "pointsman_input_ids_total", Meaning: "Chats of models with `input_ids`, by whether they were `forwarded` with their token ids. Not, by what the chat is like: `caller_input_ids`, the client sent ids itself; `no_messages`; `tools`; `non_text_content`; `reasoning_content`; `role_rewrite`, in an order that templates rewrite; `template_controls`; `assistant_continuation`, the assistant had the last word. By what is known: `tokenize_failed`, its tokens are not known for certain; `unverified`, no engine was compared with the tokenizer that told them; `too_long`; `engine`, the engine does not read ids there; `unavailable`, the state service did not say."},
		{Name: "pointsman_sampling_violations_total", Meaning: "Sampling parameters that requests were refused for, every one of a request counted."},
		{Name: "pointsman_sampling_unseen_total", Meaning: "Requests for a model with a sampling contract whose body the host did not show, so nobody held them to it."},
		{Name: "pointsman_aborts_total", Meaning: "Requests that ended before their answer, whose engine was told to end them too. Whether it did is not known."},
		{Name: "pointsman_charges_released_total", Meaning: "In-flight charges given back. Less than `routed` by what is in flight."},
		{Name: "pointsman_engine_failures_total", Meaning: "Requests that failed by an engine's fault: not reached, broke off, timed out, or answered with a status that counts against its breaker."},
	}
}
