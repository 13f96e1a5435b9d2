package convert

import (
	"bytes"
	"encoding/json"

	"github.com/pointsman/pointsman/core/admission"
)

// document is a filter configuration to be written, in the order of its keys.
// Settings that equal their default are left out.
type document struct {
	Version        int              `json:"version"`
	State          *state           `json:"state,omitempty"`
	TransportRetry bool             `json:"transport_retry,omitempty"`
	Breaker        *breaker         `json:"breaker,omitempty"`
	Session        *keyHeader       `json:"session,omitempty"`
	RoutingKey     *keyHeader       `json:"routing_key,omitempty"`
	Workers        []worker         `json:"workers,omitempty"`
	Models         map[string]model `json:"models"`
}

type state struct {
	Cluster string `json:"cluster"`
}

type breaker struct {
	Threshold      *uint64 `json:"threshold,omitempty"`
	CoolDownMillis *uint64 `json:"cool_down_ms,omitempty"`
}

type keyHeader struct {
	Header   string  `json:"header,omitempty"`
	IdleSecs *uint64 `json:"idle_secs,omitempty"`
}

type worker struct {
	Address string   `json:"address"`
	Models  []string `json:"models"`
	Role    string   `json:"role,omitempty"`
}

type model struct {
	TTFTSLO  string    `json:"ttft_slo,omitempty"`
	TPSSLO   string    `json:"tps_slo,omitempty"`
	Sampling *sampling `json:"sampling,omitempty"`
	DPRanks  string    `json:"dp_ranks,omitempty"`
	Buckets  []bucket  `json:"buckets"`
}

type sampling struct {
	Override json.RawMessage `json:"override"`
	Conflict string          `json:"conflict,omitempty"`
}

type bucket struct {
	ID              string   `json:"id"`
	Rank            uint32   `json:"rank,omitempty"`
	Limits          *limits  `json:"limits,omitempty"`
	MaxContext      *uint64  `json:"max_context_tokens,omitempty"`
	TTFTMillis      *uint64  `json:"ttft_ms,omitempty"`
	TokensPerSecond *float64 `json:"tokens_per_second,omitempty"`
	Groups          groups   `json:"groups"`
}

type limits struct {
	Min *uint64 `json:"min,omitempty"`
	Max *uint64 `json:"max,omitempty"`
}

type groups struct {
	Plain *group `json:"plain,omitempty"`
	PD    *pd    `json:"pd,omitempty"`
}

type pd struct {
	Prefill group `json:"prefill"`
	Decode  group `json:"decode"`
}

type group struct {
	WorkerIDs *[]string `json:"worker_ids,omitempty"`
	// Kubernetes Services, namespace/name.
	WorkerServices *[]string `json:"worker_services,omitempty"`
	Policy         policy    `json:"policy"`
}

// policy has the settings of core/policy/README.md that upstream has too.
type policy struct {
	Type                 string            `json:"type"`
	Source               string            `json:"source,omitempty"`
	Choices              *uint64           `json:"choices,omitempty"`
	Fallback             string            `json:"fallback,omitempty"`
	MinMatchedTokens     *uint64           `json:"min_matched_tokens,omitempty"`
	MinMatchRatio        *float64          `json:"min_match_ratio,omitempty"`
	CandidateMinWorkers  *uint64           `json:"candidate_min_workers,omitempty"`
	CandidateRatio       *float64          `json:"candidate_ratio,omitempty"`
	CandidateMaxWorkers  *uint64           `json:"candidate_max_workers,omitempty"`
	SwitchMarginTokens   *uint64           `json:"switch_margin_tokens,omitempty"`
	WorkerQueueLimit     *uint64           `json:"worker_queue_limit,omitempty"`
	SaturationQueueFloor *uint64           `json:"saturation_queue_floor,omitempty"`
	MinLoadChoices       *uint64           `json:"min_load_choices,omitempty"`
	PressureGuard        any               `json:"pressure_guard,omitempty"` // false or guard
	Admission            *admission.Limits `json:"admission,omitempty"`
}

type guard struct {
	AbsThresholdTokens *uint64  `json:"abs_threshold_tokens,omitempty"`
	AbsThresholdMillis *float64 `json:"abs_threshold_ms,omitempty"`
	RelThreshold       *float64 `json:"rel_threshold,omitempty"`
}

// json writes the document for people.
func (d *document) json() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
