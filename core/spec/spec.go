// Package spec is the filter's configuration: inert types, a strict decoder,
// validation that reports every problem at once, and Build, the only place
// where a specification meets the handles that policies need.
//
// Decoding and validation are pure; a Config is the same on every machine.
package spec

import (
	"slices"

	"github.com/pointsman/pointsman/core/admission"
)

// Version is the configuration version this package reads.
const Version = 1

// Config is the filter configuration, one JSON object. A pointer or an empty
// value is "not set"; Defaults fills those.
type Config struct {
	// Version must be 1.
	Version uint64 `json:"version"`
	// Proxy labels this proxy in the state service's status. For people only.
	Proxy string `json:"proxy"`
	// State says how to reach the state service. Without it the static workers
	// are the fleet and nothing is shared.
	State *State `json:"state"`
	// OnNoState says what to do while no fleet is known: reject (default), or
	// host: let the host's own load balancer choose (override_host only). Before
	// requests are rejected they wait for the first fleet, for the first two
	// seconds that a filter has any.
	OnNoState string `json:"on_no_state"`
	// EndpointMode says how the host reads the endpoint header: override_host
	// (default) or original_dst.
	EndpointMode string `json:"endpoint_mode"`
	// EndpointHeader is the request header that names the chosen engine to the host,
	// whose own configuration must read the same one. Default: x-pointsman-endpoint.
	// Hosts set up for an inference extension's endpoint picker read
	// x-gateway-destination-endpoint.
	EndpointHeader string `json:"endpoint_header"`
	// Subset keeps requests to the engines that a hop before this filter names.
	// Default: nobody names any.
	Subset *Subset `json:"subset"`
	// SLOHeaders says by whose names requests state service-level targets: sgl
	// (default), x-sgl-ttft-slo-ms and x-sgl-tps-slo; or llm_d, x-llm-d-slo-ttft-ms and
	// x-llm-d-slo-tpot-ms, the milliseconds for one output token.
	SLOHeaders string `json:"slo_headers"`
	// Priority has engines schedule requests by a priority that a request header carries.
	// Default: none is read, and bodies go on as they are.
	Priority *Priority `json:"priority"`
	// TransportRetry names up to two further engines beside the chosen one, for
	// the host to retry on when the chosen one cannot be reached or breaks off
	// before it answers. The host's route must retry (override_host only).
	TransportRetry bool `json:"transport_retry"`
	// WorkerHeader names the engine to clients: answers of routed requests carry
	// its ID in x-pointsman-worker, with transport_retry that of the engine that
	// answered. A header of that name from an engine does not pass. Answers of the
	// router itself, and of requests it does not route, carry none.
	WorkerHeader bool `json:"worker_header"`
	// Abort has engines told of requests that end before their answer does. Default:
	// they are not, and find out by the closed connection alone.
	Abort *Abort `json:"abort"`
	// Paths are the routed request paths. Default: /v1/chat/completions and
	// /v1/completions. /generate, /v1/responses, /v1/messages and /v1/embeddings
	// can be added; core/chat/README.md says what is read of each.
	Paths []string `json:"paths"`
	// GenerateModel is the model that requests to /generate are for, since they
	// name none. Default: the only model; required when there are more.
	GenerateModel string `json:"generate_model"`
	// MaxBodyBytes is the largest request body, 32 MiB at most and by default.
	MaxBodyBytes *uint64 `json:"max_body_bytes"`
	// BodyTimeoutMillis is how long a request may take to send its body after
	// its headers. Default 60 s.
	BodyTimeoutMillis *uint64 `json:"body_timeout_ms"`
	// Breaker tunes the per-engine circuit breaker.
	Breaker *Breaker `json:"breaker"`
	// Receipts says where decision records go: off (default) or log.
	Receipts string `json:"receipts"`
	// Seed makes every choice of every context repeatable. Not for production:
	// contexts then choose alike, and give requests the same rids.
	Seed *uint64 `json:"seed"`
	// Session says what carries the key of a session. Default header:
	// x-session-id.
	Session *KeyHeader `json:"session"`
	// RoutingKey says what carries a routing key. Default header:
	// x-sgl-routing-key.
	RoutingKey *KeyHeader `json:"routing_key"`
	// Workers is a static fleet, used until the state service sends one.
	Workers []Worker `json:"workers"`
	// Models maps each routed model to its buckets.
	Models map[string]Model `json:"models"`
}

// Subset says where a hop before the filter names the engines that a request may go
// to: ip:port addresses with commas between, as the endpoint picker protocol has them.
// A request with the hint goes to one of those engines or, when none of them takes it,
// is answered with 503; an empty hint allows none. A request without it is free.
// Clients can send headers, so use one only behind a hop that sets or removes it.
type Subset struct {
	// Header holds the hint, x-gateway-destination-endpoint-subset by custom.
	Header string `json:"header"`
	// Metadata is the namespace of the host's dynamic metadata that holds the hint
	// under x-gateway-destination-endpoint-subset, envoy.lb.subset_hint by custom. It
	// goes before header if a request has both.
	Metadata string `json:"metadata"`
}

// Priority says which header carries a request's priority, such as
// x-dynamo-request-priority or x-smg-priority. It becomes the member priority of the
// body, for chats, completions and /generate, and is the engines' to act on: the filter
// keeps no queue. A body's own priority goes before the header. Engines that do not
// schedule by priority may refuse the member.
type Priority struct {
	// Header holds a whole number, the higher the more urgent, or the name of a class.
	// Another value is answered with 400. Required.
	Header string `json:"header"`
	// Classes gives each name its number. Default: there are none.
	Classes map[string]int64 `json:"classes"`
	// LowerFirst says that the engines take lower numbers first, as vLLM does and as
	// SGLang does with --schedule-low-priority-values-first: the sign is then turned.
	LowerFirst bool `json:"lower_first"`
}

// KeyHeader says where a request has its key of a kind, and how long the key's
// bindings last. Requests pay for reading it only when a policy uses such keys. A
// header that is empty or not visible ASCII is no key, in a body an empty string
// and any other value than a string is none; a text of more than 256 bytes, or in a
// body with other characters, is used by its hash.
type KeyHeader struct {
	// Header is matched in any case. Required unless another setting is there.
	Header string `json:"header"`
	// BodyFields are members of the body that hold the key of a request without a
	// header, the first one that is a string and not empty: user, session_id,
	// prompt_cache_key or metadata.user_id. Default: none, bodies are not searched.
	BodyFields *[]string `json:"body_fields"`
	// IdleSecs is how many seconds a binding of such a key lasts without a request.
	// Default 600. The state service decides how often it looks for idle ones.
	IdleSecs *uint64 `json:"idle_secs"`
}

// State says how to reach the state service.
type State struct {
	// Cluster is the host's cluster for the state service. Required.
	Cluster string `json:"cluster"`
	// Authority is the :authority of calls. Default: the cluster's name.
	Authority string `json:"authority"`
	// TokenEnv names the environment variable that holds the bearer token.
	TokenEnv string `json:"token_env"`
	// SyncIntervalMillis is the length of a tick. Default 200.
	SyncIntervalMillis *uint64 `json:"sync_interval_ms"`
	// TimeoutMillis bounds one sync call. Default 1000.
	TimeoutMillis *uint64 `json:"timeout_ms"`
	// ObserveTimeoutMillis is how long a request waits for what the service knows
	// of it. After that it goes on with less. Default 150.
	ObserveTimeoutMillis *uint64 `json:"observe_timeout_ms"`
	// BindTimeoutMillis is how long a request waits for its new placement to be
	// stored. After that it goes on unbound. Default 150.
	BindTimeoutMillis *uint64 `json:"bind_timeout_ms"`
	// CallStream keeps one gRPC stream open to the state service for the calls that
	// requests wait for, in place of an HTTP request for each, which costs the host
	// more. The cluster must speak HTTP/2 then, best with pings. While the stream is not
	// there, and with bodies above 64 KiB, such a call is an HTTP request as without it.
	CallStream bool `json:"call_stream"`
	// PendingPrefixMillis is how long the source local takes an engine to hold what
	// it was sent, before the engine itself says so. Each context of the filter (an Envoy
	// has one a worker thread) then keeps its part of a burst with one new prefix
	// together: of what others sent it does not know. Default 5000; 0 goes by what
	// engines say alone.
	PendingPrefixMillis *uint64 `json:"pending_prefix_ms"`
}

// Abort says how engines are told to end a request, which frees its place and its KV
// memory at once (engine-selection.md 12.4, 13.2). The filter gives requests to
// engines that can be told so, those of SGLang, a rid of its own; not those that have
// one, nor those that ask for several answers, nor in paths whose bodies have no rid.
// When the client leaves, the host gives the engine up, or the engine breaks off,
// that rid is named to the engine in POST /abort_request with the request's own
// authorization header. Nothing waits for that call or its outcome.
type Abort struct {
	// Cluster is the host's cluster of the engines. It must choose its host by the
	// header x-pointsman-endpoint, as the one that requests are routed to does.
	// Required.
	Cluster string `json:"cluster"`
	// TimeoutMillis bounds one such call. Default 5000.
	TimeoutMillis *uint64 `json:"timeout_ms"`
}

// Breaker tunes the circuit breaker (engine-selection.md 14.3).
type Breaker struct {
	// Threshold is the number of consecutive failures that open it. Default 3.
	Threshold *uint64 `json:"threshold"`
	// CoolDownMillis is how long it stays open. Default 30 s.
	CoolDownMillis *uint64 `json:"cool_down_ms"`
}

// Worker is one engine of a static fleet.
type Worker struct {
	// ID is unique. Default: the address.
	ID string `json:"id"`
	// Address is a literal ip:port. Required.
	Address string `json:"address"`
	// Models are the names the engine serves. Required.
	Models []string `json:"models"`
	// Role is plain (default), prefill or decode.
	Role string `json:"role"`
	// VersionGroup is the label that a prefill engine has in common with the decode
	// engines it pairs with. Default: the group of those without one.
	VersionGroup string `json:"version_group"`
	// Services are the Kubernetes Services the engine is behind, namespace/name.
	Services []string `json:"services"`
	// Engine is sglang where the engine is told of requests to abort. Default: it is
	// not known to be.
	Engine string `json:"engine"`
}

// Model is the routing of one model.
type Model struct {
	// Aliases are further names that clients may ask for. The body is not
	// rewritten, so the engines must serve the alias too.
	Aliases []string `json:"aliases"`
	// Tokens says where the prompt lengths that buckets go by come from: exact
	// (default), the state service counts them; ambiguous, it is asked only when an
	// estimate, with the error that was seen so far, leaves open which buckets take
	// the request; estimate, a quarter of the body's bytes. Without a state service
	// that can count, and without a bucket with a bound, nothing is asked.
	Tokens string `json:"tokens"`
	// TTFTSLO orders buckets by whether their ttft_ms meets the milliseconds to the
	// first token that a request asks for in x-sgl-ttft-slo-ms: disabled (default),
	// slo_first, or best_effort, which keeps the buckets that meet it for last.
	// Without the header it has no effect.
	TTFTSLO string `json:"ttft_slo"`
	// TPSSLO does the same by tokens_per_second and the header x-sgl-tps-slo.
	TPSSLO string `json:"tps_slo"`
	// Sampling holds requests to sampling parameters. Default: they are not looked
	// at.
	Sampling *Sampling `json:"sampling"`
	// InputIDs has chats forwarded with the token ids that the state service made of
	// them, so that the engine does not tokenize them again. Default: bodies go on
	// without.
	InputIDs *InputIDs `json:"input_ids"`
	// DPRanks says when an engine of several data-parallel ranks is told which one is to
	// compute a request: prefix (default), when the engine was chosen for a prefix that
	// one of them holds; always, by the routing key or the session, else where the
	// prefix is, else where least is in flight (engine-selection.md 8.7). An engine of
	// which nobody knows how many ranks it has is told nothing then.
	DPRanks string `json:"dp_ranks"`
	// Policy is the policy of groups that have none of their own. A group's own
	// policy replaces it whole: no setting of it is taken over. Each group has its
	// own instance.
	Policy *Policy `json:"policy"`
	// PrefillPolicy stands in for policy in prefill groups.
	PrefillPolicy *Policy `json:"prefill_policy"`
	// DecodePolicy stands in for policy in decode groups.
	DecodePolicy *Policy `json:"decode_policy"`
	// Buckets are tried in order of SLO preferences, capacity, rank and ID.
	// Required.
	Buckets []Bucket `json:"buckets"`
}

// InputIDs says how chats are forwarded with their token ids (engine-selection.md 12.5).
// The member input_ids is added to the body, which is otherwise left as it is, if the
// engine reads it there, as SGLang does; if the ids are certain to be what the engine
// would make of the chat, so that its tokenizer was compared with the engine's; and if
// the chat is a plain one: messages of text without tools, without reasoning, in an order
// that no template rewrites, without settings of the template, and with a question at the
// end. All others go on without, counted by the reason, and so does a chat that the state
// service cannot be asked about in time.
type InputIDs struct {
	// MaxTokens is the longest chat that is forwarded so. Default 32768.
	MaxTokens *uint64 `json:"max_tokens"`
}

// Bucket is a range of request lengths and the engines for it.
type Bucket struct {
	// ID is unique within the model. Required.
	ID string `json:"id"`
	// Rank orders buckets of equal capacity, lowest first. Default 0.
	Rank uint32 `json:"rank"`
	// Limits is the inclusive range of input tokens. Default: any.
	Limits *Limits `json:"limits"`
	// MaxContextTokens bounds input plus requested output. Default: none.
	MaxContextTokens *uint64 `json:"max_context_tokens"`
	// TTFTMillis estimates the milliseconds to the first token here. A bucket
	// without an estimate meets no target.
	TTFTMillis *uint64 `json:"ttft_ms"`
	// TokensPerSecond estimates the rate of one answer here.
	TokensPerSecond *float64 `json:"tokens_per_second"`
	// Groups is either plain or pd.
	Groups Groups `json:"groups"`
}

// Limits is an inclusive range of input tokens.
type Limits struct {
	Min *uint64 `json:"min"` // default: any length from 1 on
	Max *uint64 `json:"max"` // default: any length
}

// Groups holds exactly one of a plain group and a prefill/decode pair.
type Groups struct {
	Plain *Group `json:"plain"`
	PD    *PD    `json:"pd"`
}

// PD is a prefill/decode pair; both groups are required.
type PD struct {
	Prefill *Group `json:"prefill"`
	Decode  *Group `json:"decode"`
}

// Group is the membership and the policy of one stage.
type Group struct {
	// WorkerIDs names the members. Not set: every engine that serves the model
	// in this stage. An empty list: none.
	WorkerIDs *[]string `json:"worker_ids"`
	// WorkerServices names Kubernetes Services, namespace/name: members are the
	// engines behind one of them, of those in worker_ids if both are set. Not set:
	// any. An empty list: none.
	WorkerServices *[]string `json:"worker_services"`
	// Policy picks an engine. Default: that of the stage or the model; required
	// where neither has one.
	Policy *Policy `json:"policy"`
}

// Policy configures one policy instance.
type Policy struct {
	// Type is round_robin, random, power_of_two, load_based, consistent_hash,
	// session_aware, sticky or cache_aware; core/policy/README.md describes each.
	// Required.
	Type string `json:"type"`
	// Choices is the sample size of power_of_two. Default 2.
	Choices *uint64 `json:"choices"`
	// Key is what consistent_hash hashes: session, routing or prefix, the start of
	// the prompt. Required there.
	Key string `json:"key"`
	// LoadFactor is how many times the mean of its group an engine may have in
	// flight before consistent_hash passes it over. Default 1.25, at least 1.
	LoadFactor *float64 `json:"load_factor"`
	// LoadFloor is the number in flight below which consistent_hash passes no
	// engine over. Default 8.
	LoadFloor *uint64 `json:"load_floor"`
	// PrefixBytes is how much of the prompt's JSON text is the key of
	// "key": "prefix". Default 1024.
	PrefixBytes *uint64 `json:"prefix_bytes"`
	// Fallback is how sticky places new routing keys and requests without one:
	// round_robin (default), random, power_of_two or load_based.
	Fallback string `json:"fallback"`
	// Source names the prefix source that cache_aware asks. Default: local, the
	// state service's index of KV events; remote is an indexer that the state
	// service asks, history what was sent where.
	Source string `json:"source"`
	// PrivateMatch lets only what few prompts have in common count towards
	// min_matched_tokens and min_match_ratio: an engine that holds no more than a
	// system prompt is preferred as long as it is not busier than others. Default:
	// true with the source history, else false; remote cannot tell.
	PrivateMatch *bool `json:"private_match"`
	// MinMatchedTokens is how many tokens of the prompt an engine must hold for
	// cache_aware to prefer it. Default 1024; 0 asks for none.
	MinMatchedTokens *uint64 `json:"min_matched_tokens"`
	// MinMatchRatio is the share of the prompt it must hold, 0 to 1. Default: any.
	MinMatchRatio *float64 `json:"min_match_ratio"`
	// CandidateMinWorkers is how many such engines are looked at, at least 1.
	// Default 8.
	CandidateMinWorkers *uint64 `json:"candidate_min_workers"`
	// CandidateRatio is the share of the group that is looked at if that is more,
	// 0 to 1. Default 0.05.
	CandidateRatio *float64 `json:"candidate_ratio"`
	// CandidateMaxWorkers is the most that are looked at. Default 32.
	CandidateMaxWorkers *uint64 `json:"candidate_max_workers"`
	// SwitchMarginTokens is how many more tokens to compute the pressure guard may
	// cost. Default 1024.
	SwitchMarginTokens *uint64 `json:"switch_margin_tokens"`
	// WorkerQueueLimit is the number of waiting requests, over all ranks, from
	// which on an engine is not preferred. Default: none.
	WorkerQueueLimit *uint64 `json:"worker_queue_limit"`
	// SaturationQueueFloor is the number of waiting requests that no engine may be
	// below for prefix holders to be taken in spite of their queue. At most
	// worker_queue_limit. Default: none; then every engine must be at the limit.
	SaturationQueueFloor *uint64 `json:"saturation_queue_floor"`
	// MinLoadChoices is the sample size of cache_aware when no engine is preferred;
	// at or above the group's size the least pressed engine is found. Default 2.
	MinLoadChoices *uint64 `json:"min_load_choices"`
	// PressureGuard leaves a prefix holder whose queue is far longer than that of
	// one which holds almost as much; false turns it off.
	PressureGuard *Guard `json:"pressure_guard"`
	// Admission caps each engine. Default: none.
	Admission *admission.Limits `json:"admission"`
}

// Decode reads, checks and completes a configuration. Its error is of type
// Problems and lists everything that is wrong.
func Decode(document []byte) (*Config, error) { return decodeFed(document, fed()) }

// decodeFed is Decode with the prefix sources named that are fed; nil is all.
func decodeFed(document []byte, sources []string) (*Config, error) {
	cfg := &Config{}
	d := decoder{}
	d.decode(document, cfg)
	if len(d.problems) > 0 {
		return nil, append(d.problems, d.remaining(cfg, sources)...)
	}
	if err := validate(cfg, readable{fleet: true, models: true}, sources).err(); err != nil {
		return nil, err
	}
	return cfg, nil
}

// remaining validates what could be decoded of a faulty document, leaving out
// findings about values that decoding already complained of.
func (d *decoder) remaining(cfg *Config, sources []string) (more Problems) {
	whole := readable{fleet: !d.covers("workers") && !d.covers("state"), models: !d.covers("models")}
	for _, p := range validate(cfg, whole, sources) {
		if !d.covers(p.Path) {
			more = append(more, p)
		}
	}
	return more
}

// covers reports whether a value at the path, above or below it could not be
// decoded.
func (d *decoder) covers(path string) bool {
	for _, p := range d.problems {
		if p.Path == "" || within(path, p.Path) || within(p.Path, path) {
			return true
		}
	}
	return slices.ContainsFunc(d.meant, func(meant string) bool { return within(path, meant) })
}

// within reports whether path is base or lies below it.
func within(path, base string) bool {
	return len(path) >= len(base) && path[:len(base)] == base &&
		(len(path) == len(base) || path[len(base)] == '.' || path[len(base)] == '[')
}
