package spec

import (
	"slices"
	"strings"

	"github.com/pointsman/pointsman/core/chat"
)

// Choices of Config.OnNoState.
const (
	OnNoStateReject = "reject"
	OnNoStateHost   = "host"
)

// Choices of Config.EndpointMode.
const (
	EndpointOverrideHost = "override_host"
	EndpointOriginalDst  = "original_dst"
)

// DefaultEndpointHeader names the chosen engine to the host (design section 8).
const DefaultEndpointHeader = "x-pointsman-endpoint"

// SubsetKey is what the subset hint is called in the host's metadata (peers.md 2.1).
const SubsetKey = "x-gateway-destination-endpoint-subset"

// MaxPriority bounds priorities on both sides of zero.
const MaxPriority = 1_000_000

// Choices of Config.SLOHeaders.
const (
	SLOHeadersSGL  = "sgl"
	SLOHeadersLLMD = "llm_d"
)

// Choices of Config.Receipts.
const (
	ReceiptsOff = "off"
	ReceiptsLog = "log"
)

// EngineSGLang is the choice of Worker.Engine.
const EngineSGLang = "sglang"

// Choices of Policy.Type.
const (
	PolicyRoundRobin     = "round_robin"
	PolicyRandom         = "random"
	PolicyPowerOfTwo     = "power_of_two"
	PolicyLoadBased      = "load_based"
	PolicyConsistentHash = "consistent_hash"
	PolicySessionAware   = "session_aware"
	PolicySticky         = "sticky"
	PolicyCacheAware     = "cache_aware"
)

// policies lists the choices of Policy.Type.
func policies() []string {
	return []string{
		PolicyRoundRobin, PolicyRandom, PolicyPowerOfTwo, PolicyLoadBased, PolicyConsistentHash,
		PolicySessionAware, PolicySticky, PolicyCacheAware,
	}
}

// use is the advice to write one of several words.
func use(words ...string) string {
	last := len(words) - 1
	return "use " + strings.Join(words[:last], ", ") + " or " + words[last]
}

// Default headers of keys (engine-selection.md 17).
const (
	DefaultSessionHeader = "x-session-id"
	DefaultRoutingHeader = "x-sgl-routing-key"
)

// Headers of service-level targets (engine-selection.md 20).
const (
	HeaderTTFT = "x-sgl-ttft-slo-ms"
	HeaderTPS  = "x-sgl-tps-slo"
	// Those of llm-d (peers.md 2.1).
	HeaderLLMDTTFT = "x-llm-d-slo-ttft-ms"
	HeaderLLMDTPOT = "x-llm-d-slo-tpot-ms"
)

// DefaultIdle is how many seconds a binding lasts without a request
// (engine-selection.md 17).
const DefaultIdle = 600

// Where prompt lengths come from (design section 1).
const (
	TokensExact     = "exact"
	TokensAmbiguous = "ambiguous"
	TokensEstimate  = "estimate"
)

// Choices of Model.DPRanks.
const (
	DPRanksPrefix = "prefix"
	DPRanksAlways = "always"
)

// Limits and defaults of settings.
const (
	MaxBody            = 32 << 20 // engine-selection.md 3.1
	DefaultBodyTimeout = 60_000
	DefaultSync        = 200 // design section 4
	DefaultSyncTimeout = 1_000
	DefaultCallTimeout = 150   // of a call that a request waits for
	DefaultAbort       = 5_000 // engine-selection.md 13.2
	// DefaultPending covers the prefill of a long prompt, after which engines tell of
	// it, behind a short queue. One that ends too early scatters a burst, one that ends
	// late costs a wrong guess after a prompt that was never computed.
	DefaultPending = 5_000
	// DefaultInputIDs makes bodies longer by about 200 KB at most. MaxInputIDs is what a
	// context's memory is held to.
	DefaultInputIDs = 1 << 15
	MaxInputIDs     = 1 << 18
	maxDuration     = 24 * 60 * 60 * 1000
	maxLabel        = 256 // bytes; what the state service takes unless told otherwise
)

// Defaults gives a copy of cfg in which every setting that has a default is
// set. The input is not changed; maps and lists are shared.
func Defaults(cfg *Config) *Config {
	c := *cfg
	set(&c.OnNoState, OnNoStateReject)
	set(&c.EndpointMode, EndpointOverrideHost)
	set(&c.Receipts, ReceiptsOff)
	set(&c.EndpointHeader, DefaultEndpointHeader)
	c.EndpointHeader = strings.ToLower(c.EndpointHeader)
	set(&c.SLOHeaders, SLOHeadersSGL)
	if c.Paths == nil {
		c.Paths = []string{"/v1/chat/completions", "/v1/completions"}
	}
	if slices.Contains(c.Paths, chat.PathGenerate) && len(c.Models) == 1 {
		for name := range c.Models {
			set(&c.GenerateModel, name)
		}
	}
	number(&c.MaxBodyBytes, MaxBody)
	number(&c.BodyTimeoutMillis, DefaultBodyTimeout)
	if c.Abort != nil {
		a := *c.Abort
		number(&a.TimeoutMillis, DefaultAbort)
		c.Abort = &a
	}
	if c.State != nil {
		s := *c.State
		set(&s.Authority, s.Cluster)
		number(&s.SyncIntervalMillis, DefaultSync)
		number(&s.TimeoutMillis, DefaultSyncTimeout)
		number(&s.ObserveTimeoutMillis, DefaultCallTimeout)
		number(&s.BindTimeoutMillis, DefaultCallTimeout)
		number(&s.PendingPrefixMillis, DefaultPending)
		c.State = &s
	}
	return &c
}

func set(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

func number(n **uint64, value uint64) {
	if *n == nil {
		*n = &value
	}
}
