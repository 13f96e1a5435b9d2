package fakes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Dialect says whose HTTP an engine speaks.
type Dialect int

// The dialects, with the release whose shapes are followed.
const (
	VLLM   Dialect = iota // vLLM 0.32.0
	SGLang                // SGLang 0.5.23
)

// String returns the engine's name in lower case.
func (d Dialect) String() string {
	switch d {
	case VLLM:
		return "vllm"
	case SGLang:
		return "sglang"
	}
	return fmt.Sprintf("dialect(%d)", int(d))
}

// Role is the engine's part in prefill/decode disaggregation.
type Role string

// The roles, spelled as SGLang's disaggregation_mode spells them (engine-selection.md 10.1).
const (
	Plain   Role = "null"
	Prefill Role = "prefill"
	Decode  Role = "decode"
)

// Adapter is a LoRA adapter that the engine serves under its own name.
type Adapter struct {
	Name   string
	Parent string // one of Config.Models; empty means the first
}

// Defaults of a Config whose field is zero.
const (
	DefaultName            = "engine"
	DefaultModel           = "demo"
	DefaultSlots           = 16
	DefaultOutput          = 16
	DefaultBlockSize       = 16
	DefaultMaxModelLen     = 32768
	DefaultKVBlocks        = 8192
	DefaultBodyLimit       = 64 << 20
	DefaultRecordedEntries = 1024
	DefaultBootstrapPort   = 8998 // SGLang's own default
)

// RecordedBody is the number of leading body bytes that a Record keeps.
const RecordedBody = 64 << 10

// Config describes one engine. The zero value of every field has a meaning, so Config{} is a fast vLLM that serves "demo".
type Config struct {
	Name     string            // value of the x-fake-engine header; "" is DefaultName
	Headers  map[string]string // further headers of every reply
	Models   []string          // served names, the first is the base model; empty is DefaultModel
	Adapters []Adapter         // LoRA adapters
	Dialect  Dialect
	Version  string // "" is the release that Dialect names

	Slots      int // concurrent running requests per rank; 0 is DefaultSlots
	QueueLimit int // waiting requests per rank; 0 is no limit, negative is no queue at all. Beyond it: 503
	Ranks      int // data-parallel ranks, each with its own slots, queue and blocks; 0 is 1

	PrefillBase     time.Duration // spent by every request before its first token
	PrefillPerToken time.Duration // spent per prompt token
	DecodePerToken  time.Duration // between two output tokens

	DefaultOutputTokens int // output of a request without a token limit; 0 is DefaultOutput
	MaxModelLen         int // prompt and output tokens together; 0 is DefaultMaxModelLen
	BlockSize           int // tokens per KV block; 0 is DefaultBlockSize
	KVBlocks            int // blocks per rank; 0 is DefaultKVBlocks or what MaxModelLen needs, if that is more

	// ChatTokens gives the tokens of a chat from its messages as JSON, for an engine with a real vocabulary; nil is the
	// counting rule of the package comment. Concurrent callers; what it gives is not changed.
	ChatTokens func(messages string) []uint32

	KV *KVConfig // prefix cache and its publisher; nil is none: every prompt is computed whole

	// KeepOrphans has the engine not notice that a client left: the request goes on to its end, or until /abort_request
	// names it. SGLang only.
	KeepOrphans bool

	Role          Role // "" is Plain
	BootstrapPort int  // reported by a prefill engine; 0 is DefaultBootstrapPort

	BodyLimit       int64 // bytes of one request body, 413 beyond it; 0 is DefaultBodyLimit
	RecordedEntries int   // length of the ring behind Requests; 0 is DefaultRecordedEntries, negative records nothing

	StartTime time.Time // reported by the first process; zero is the clock's time at Start
	Seed      uint64    // of ids and words
	Clock     Clock     // nil is the system clock
}

// withDefaults returns c with every zero field filled in; it shares no slice with c.
func (c Config) withDefaults() Config {
	c.Models = slices.Clone(c.Models)
	c.Adapters = slices.Clone(c.Adapters)
	if len(c.Models) == 0 {
		c.Models = []string{DefaultModel}
	}
	for i := range c.Adapters {
		setDefault(&c.Adapters[i].Parent, c.Models[0])
	}
	setDefault(&c.Name, DefaultName)
	setDefault(&c.Version, map[Dialect]string{VLLM: "0.32.0", SGLang: "0.5.23"}[c.Dialect])
	setDefault(&c.Slots, DefaultSlots)
	setDefault(&c.Ranks, 1)
	setDefault(&c.DefaultOutputTokens, DefaultOutput)
	setDefault(&c.MaxModelLen, DefaultMaxModelLen)
	setDefault(&c.BlockSize, DefaultBlockSize)
	if c.BlockSize > 0 {
		setDefault(&c.KVBlocks, max(DefaultKVBlocks, ceilDiv(c.MaxModelLen, c.BlockSize)))
	}
	setDefault(&c.Role, Plain)
	setDefault(&c.BootstrapPort, DefaultBootstrapPort)
	setDefault(&c.BodyLimit, DefaultBodyLimit)
	setDefault(&c.RecordedEntries, DefaultRecordedEntries)
	if c.Clock == nil {
		c.Clock = systemClock{}
	}
	c.KV = c.KV.withDefaults()
	return c
}

// validate reports every problem of a config with defaults filled in, each with its path.
func (c Config) validate() error {
	var problems []error
	bad := func(path, format string, args ...any) {
		problems = append(problems, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
	}
	if c.Dialect != VLLM && c.Dialect != SGLang {
		bad("dialect", "unknown value %d, use VLLM or SGLang", int(c.Dialect))
	}
	if c.KeepOrphans && c.Dialect != SGLang {
		bad("keep_orphans", "needs the dialect whose requests can be aborted by rid, use SGLang")
	}
	if !slices.Contains([]Role{Plain, Prefill, Decode}, c.Role) {
		bad("role", "unknown value %q, use null, prefill or decode", string(c.Role))
	}
	if strings.ContainsAny(c.Name, "\r\n\x00") {
		bad("name", "must be usable as a header value")
	}
	for _, n := range c.numbers() {
		if n.value < n.least {
			bad(n.path, "is %d, must be at least %d", n.value, n.least)
		}
	}
	if c.BootstrapPort > 65535 {
		bad("bootstrap_port", "is %d, must be at most 65535", c.BootstrapPort)
	}
	if c.BlockSize > 0 && c.KVBlocks > 0 && c.MaxModelLen > c.KVBlocks*c.BlockSize {
		bad("max_model_len", "is %d, but kv_blocks x block_size hold only %d tokens", c.MaxModelLen, c.KVBlocks*c.BlockSize)
	}
	problems = append(problems, c.kvProblems()...)
	return errors.Join(append(problems, c.nameProblems()...)...)
}

type boundedNumber struct {
	path         string
	value, least int64
}

func (c Config) numbers() []boundedNumber {
	return []boundedNumber{
		{"slots", int64(c.Slots), 1},
		{"ranks", int64(c.Ranks), 1},
		{"prefill_base", int64(c.PrefillBase), 0},
		{"prefill_per_token", int64(c.PrefillPerToken), 0},
		{"decode_per_token", int64(c.DecodePerToken), 0},
		{"default_output_tokens", int64(c.DefaultOutputTokens), 1},
		{"max_model_len", int64(c.MaxModelLen), 2},
		{"block_size", int64(c.BlockSize), 1},
		{"kv_blocks", int64(c.KVBlocks), 1},
		{"bootstrap_port", int64(c.BootstrapPort), 1},
		{"body_limit", c.BodyLimit, 1},
	}
}

// nameProblems reports served names that are empty or taken, and adapters without a parent.
func (c Config) nameProblems() []error {
	var problems []error
	taken := map[string]bool{}
	claim := func(path, name string) {
		switch {
		case name == "":
			problems = append(problems, fmt.Errorf("%s: is empty", path))
		case taken[name]:
			problems = append(problems, fmt.Errorf("%s: %q is served twice", path, name))
		}
		taken[name] = true
	}
	for i, m := range c.Models {
		claim(fmt.Sprintf("models[%d]", i), m)
	}
	for i, a := range c.Adapters {
		claim(fmt.Sprintf("adapters[%d].name", i), a.Name)
		if !slices.Contains(c.Models, a.Parent) {
			problems = append(problems, fmt.Errorf("adapters[%d].parent: %q is not one of models", i, a.Parent))
		}
	}
	return problems
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func ceilDiv(n, by int) int { return (n + by - 1) / by }
