package flow

import (
	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/sampling"
)

// Counter names one of a context's counters. Names are a closed set: nothing a
// client sent becomes one.
type Counter uint8

// The counters. Those of answers follow the codes, those of picks the reasons and
// the cache decisions, those of sampling violations the fields.
const (
	RequestsRouted   Counter = iota
	RequestsPassed           // paths and methods the router does not read
	RequestsUnplaced         // no fleet known, left to the host's own choice
	ModelsListed             // model lists answered
	ChargesReleased
	EngineFailures
	PicksReplaced // the host's retry went to another engine
	HeaderOnlyLatched
	HeaderOnlyRouted
	ObservesAnswered
	ObservesUnavailable // no answer, or one that cannot be read
	ObservesLate        // no answer by the deadline
	LengthsCounted      // prompts that the service counted
	LengthsUncounted    // it said that it cannot count the model's
	LengthsUnavailable  // it did not say
	BindsWon            // every placement is ours
	BindsLost           // another request placed a key first
	BindsUnavailable
	BindsLate
	UnboundUnavailable // placements dispatched without a binding: the service was not there
	UnboundRounds      // likewise: other requests were faster each time
	UnboundRejected    // likewise: the bound engines' version group was at its limits
	BindingsRemembered // followed from memory while the service was not there
	UsedDropped        // used bindings not reported: more than one sync takes
	AbortsAsked        // unfinished requests that an engine was told to end
	SamplingUnseen     // requests of governed models whose body was not seen
	HistoryShared      // conversations taken over from another context of the proxy
	HistoryImported    // runs taken over from syncs
	HistoryDropped     // boundaries that no sync had room for
	PendingPrefixes    // lookups in which what was sent lately said more than the index
	DivertedTokens     // prompt tokens held by engines passed over for their queue
	FailedNoCandidates // buckets' selections that failed for want of engines
	FailedRunning      // likewise: at max_running_requests, the first engine that was refused
	FailedWaiting
	FailedKVTokens
	FailedPending
	FailedInflight
	FailedFault // what a person must look into
	firstAnswer
	firstPick     = firstAnswer + Counter(codeCount)
	firstCache    = firstPick + Counter(core.ReasonCount)
	firstGuard    = firstCache + Counter(core.CacheDecisionCount)
	firstField    = firstGuard + Counter(core.GuardVerdictCount)
	firstInputIDs = firstField + Counter(sampling.FieldCount)
	// CounterCount is the number of counters.
	CounterCount = firstInputIDs + Counter(idsOutcomeCount)
)

// Name is the counter's metric name. Labels are written into it the way the
// host's stat names carry them; the bootstrap's stats_tags take them out.
func (c Counter) Name() string {
	switch {
	case c >= CounterCount:
		return "pointsman_unknown_total"
	case c >= firstInputIDs:
		return "pointsman_input_ids_total_outcome=" + idsOutcome(c-firstInputIDs).String()
	case c >= firstField:
		return "pointsman_sampling_violations_total_field=" + sampling.Field(c-firstField).String()
	case c >= firstGuard:
		return "pointsman_cache_guard_total_outcome=" + core.GuardVerdict(c-firstGuard).String()
	case c >= firstCache:
		return "pointsman_cache_decisions_total_decision=" + core.CacheDecision(c-firstCache).String()
	case c >= firstPick:
		return "pointsman_picks_total_reason=" + core.Reason(c-firstPick).String()
	case c >= firstAnswer:
		return "pointsman_answers_total_code=" + Code(c-firstAnswer).String()
	case c >= FailedNoCandidates:
		return "pointsman_selection_failures_total_reason=" + failure(c)
	}
	return c.own()
}

// own is the name of a counter that no enumeration has.
func (c Counter) own() string {
	return [...]string{
		RequestsRouted:    "pointsman_requests_total_outcome=routed",
		RequestsPassed:    "pointsman_requests_total_outcome=passed",
		RequestsUnplaced:  "pointsman_requests_total_outcome=unplaced",
		ModelsListed:      "pointsman_requests_total_outcome=models",
		ChargesReleased:   "pointsman_charges_released_total",
		EngineFailures:    "pointsman_engine_failures_total",
		PicksReplaced:     "pointsman_pick_replaced_total",
		HeaderOnlyLatched: "pointsman_header_only_latched_total",
		HeaderOnlyRouted:  "pointsman_header_only_routed_total",

		ObservesAnswered:    "pointsman_observes_total_outcome=answered",
		ObservesUnavailable: "pointsman_observes_total_outcome=unavailable",
		ObservesLate:        "pointsman_observes_total_outcome=late",
		LengthsCounted:      "pointsman_prompt_lengths_total_outcome=counted",
		LengthsUncounted:    "pointsman_prompt_lengths_total_outcome=uncounted",
		LengthsUnavailable:  "pointsman_prompt_lengths_total_outcome=unavailable",
		BindsWon:            "pointsman_binds_total_outcome=won",
		BindsLost:           "pointsman_binds_total_outcome=lost",
		BindsUnavailable:    "pointsman_binds_total_outcome=unavailable",
		BindsLate:           "pointsman_binds_total_outcome=late",
		UnboundUnavailable:  "pointsman_unbound_total_cause=unavailable",
		UnboundRounds:       "pointsman_unbound_total_cause=rounds",
		UnboundRejected:     "pointsman_unbound_total_cause=rejected",
		BindingsRemembered:  "pointsman_bindings_remembered_total",
		UsedDropped:         "pointsman_used_bindings_dropped_total",
		AbortsAsked:         "pointsman_aborts_total",
		SamplingUnseen:      "pointsman_sampling_unseen_total",
		HistoryShared:       "pointsman_history_shared_total",
		HistoryImported:     "pointsman_history_imported_total",
		HistoryDropped:      "pointsman_history_dropped_total",
		PendingPrefixes:     "pointsman_pending_prefix_hits_total",
		DivertedTokens:      "pointsman_cache_diverted_tokens_total",
	}[c]
}

// failure is the reason of one of the counters of failed selections.
func failure(c Counter) string {
	return [...]string{
		0:                                   "no_candidates",
		FailedRunning - FailedNoCandidates:  admission.MaxRunningRequests,
		FailedWaiting - FailedNoCandidates:  admission.MaxWaitingRequests,
		FailedKVTokens - FailedNoCandidates: admission.MaxKVTokens,
		FailedPending - FailedNoCandidates:  admission.MaxPendingPrefillTokens,
		FailedInflight - FailedNoCandidates: admission.MaxInflightRequests,
		FailedFault - FailedNoCandidates:    "fault",
	}[c-FailedNoCandidates]
}

// Counters are the counts of one context since it was made.
type Counters [CounterCount]uint64

func (cs *Counters) add(c Counter)      { cs[c]++ }
func (cs *Counters) answered(code Code) { cs[firstAnswer+Counter(code)]++ }

// picked counts a pick by its reason; a reason without a counter is not counted.
func (cs *Counters) picked(r core.Reason) {
	if c := firstPick + Counter(r); c < firstCache {
		cs[c]++
	}
}

// decided counts a pick that looked at prefixes by what came of it.
func (cs *Counters) decided(pick *core.Pick) {
	if c := firstCache + Counter(pick.Cache); pick.Cache != core.CacheNone && c < firstGuard {
		cs[c]++
	}
	if c := firstGuard + Counter(pick.Guard); pick.Guard != core.GuardUnasked && c < firstField {
		cs[c]++
	}
	cs[DivertedTokens] += pick.Diverted
}

// failed counts a bucket's selection that failed, whatever a later bucket makes of
// the request.
func (cs *Counters) failed(t *receipt.Try) {
	switch t.Verdict {
	case receipt.VerdictNoCandidates:
		cs[FailedNoCandidates]++
	case receipt.VerdictRejected:
		if c, known := refusedBy(t.First.Limit); known {
			cs[c]++
		}
	case receipt.VerdictFailed:
		cs[FailedFault]++
	case receipt.VerdictPicked:
	}
}

// refusedBy is the counter of a cap.
func refusedBy(limit string) (Counter, bool) {
	switch limit {
	case admission.MaxRunningRequests:
		return FailedRunning, true
	case admission.MaxWaitingRequests:
		return FailedWaiting, true
	case admission.MaxKVTokens:
		return FailedKVTokens, true
	case admission.MaxPendingPrefillTokens:
		return FailedPending, true
	case admission.MaxInflightRequests:
		return FailedInflight, true
	}
	return 0, false
}

// violated counts every field that breaks a sampling contract.
func (cs *Counters) violated(fields sampling.Set) {
	for f := range sampling.FieldCount {
		if fields.Has(f) {
			cs[firstField+Counter(f)]++
		}
	}
}
