package config

import (
	"maps"
	"slices"
	"strings"
)

// Tokenize says how prompts are counted and cut into tokens (design section 5).
type Tokenize struct {
	// AskEngines: a model without an entry is counted by its engines' /tokenize, one
	// call for each request that asks.
	AskEngines bool                      `yaml:"ask_engines"`
	Models     map[string]ModelTokenizer `yaml:"models"` // by canonical name
	// CacheBytes bounds what is remembered of texts, for each model with a folder; 0
	// remembers nothing.
	CacheBytes int64 `yaml:"cache_bytes"`
	// SampleEvery: of so many answers by a folder one is compared with the engine; 0
	// compares none.
	SampleEvery int `yaml:"sample_every"`
	// MaxCalls bounds the calls to engines of one model in flight.
	MaxCalls      int    `yaml:"max_calls"`
	TimeoutMillis Millis `yaml:"timeout_ms"` // of one call to an engine
}

// ModelTokenizer is where the tokens of one model come from.
type ModelTokenizer struct {
	// Dir holds the model's tokenizer.json, tokenizer_config.json and, if it has one,
	// chat_template.jinja. Empty: only engines are asked.
	Dir string `yaml:"dir"`
	// Engine is whose way with messages the engines have, vllm or sglang; required
	// with dir.
	Engine string `yaml:"engine"`
	// AskEngine: engines' /tokenize answers what the folder does not. Default true.
	AskEngine *bool `yaml:"ask_engine"`
	// Trust takes the folder for the engines' without comparing.
	Trust bool `yaml:"trust"`
}

// Asks reports whether engines are asked.
func (m *ModelTokenizer) Asks() bool { return m.AskEngine == nil || *m.AskEngine }

// Engines of ModelTokenizer.
const (
	EngineVLLM   = "vllm"
	EngineSGLang = "sglang"
)

func defaultTokenize() Tokenize {
	return Tokenize{CacheBytes: 256 << 20, SampleEvery: 256, MaxCalls: 32, TimeoutMillis: 1000}
}

// minTextCache is the smallest memory of texts: below it no chat's beginning stays long
// enough to be met again.
const minTextCache = 1 << 20

func (c *Config) validateTokenize(p *Problems) {
	t := &c.Tokenize
	checkRange("tokenize.cache_bytes", t.CacheBytes, 0, 1<<40, "", p)
	if n := t.CacheBytes; n > 0 && n < minTextCache {
		p.add("tokenize.cache_bytes", "%d holds no chat; write at least %d, or 0 to remember nothing", n, minTextCache)
	}
	checkRange("tokenize.sample_every", int64(t.SampleEvery), 0, 1<<30, "", p)
	checkRange("tokenize.max_calls", int64(t.MaxCalls), 1, 1<<16, "", p)
	checkRange("tokenize.timeout_ms", int64(t.TimeoutMillis), 1, int64(maxSpan), " milliseconds", p)
	for _, name := range slices.Sorted(maps.Keys(t.Models)) {
		m := t.Models[name]
		m.check("tokenize.models."+name, name, p)
	}
}

func (m *ModelTokenizer) check(path, name string, p *Problems) {
	if strings.TrimSpace(name) == "" {
		p.add(path, "a model needs a name; write the one that the filter's configuration has")
	}
	switch {
	case m.Engine == EngineVLLM || m.Engine == EngineSGLang:
		if m.Dir == "" {
			p.add(path+".engine", "has no effect without dir; remove it or name the folder")
		}
	case m.Engine != "":
		p.add(path+".engine", "%q is not a choice; write vllm or sglang", m.Engine)
	case m.Dir != "":
		p.add(path+".engine", "missing; write vllm or sglang, whose way with messages the engines have")
	}
	if m.Dir == "" && !m.Asks() {
		p.add(path, "has no tokenizer; name its folder in dir, or let ask_engine be true")
	}
	if m.Trust && m.Dir == "" {
		p.add(path+".trust", "has no effect without dir; remove it or name the folder")
	}
	if m.Dir != "" && !m.Asks() && !m.Trust {
		p.add(path+".trust", "false, and ask_engine is false too: nothing would tell whether the folder has the engines' tokens; write trust: true, or let ask_engine be true")
	}
}
