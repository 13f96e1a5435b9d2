package fakes

import (
	"fmt"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes/kvfeed"
	"github.com/pointsman/pointsman/hostsim/fakes/kvwire"
)

// DefaultTopic is the topic of KV events when KVConfig has none.
const DefaultTopic = "kv-events"

// KVConfig gives an engine a prefix cache that behaves as its dialect's does, and on request its publishers. The zero
// value is a cache that nobody hears of: cached tokens are in the usage and cost no prefill time.
type KVConfig struct {
	Publish bool // KV events on ZMQ, one port per rank
	Load    bool // SGLang's load frames on ZMQ, one port per rank

	Topic    string // of KV events; "" is DefaultTopic
	NoReplay bool   // no replay socket
	Buffer   int    // batches that can be replayed; 0 is what engines keep, 10,000
	Queue    int    // messages that wait for a subscriber, which loses what comes then; 0 is kvfeed.DefaultQueue

	// StartAfter is how long after the process the ports of KV events open. Batches are numbered and kept meanwhile.
	StartAfter time.Duration

	HostBlocks int    // host tier behind the device, blocks per rank; 0 is none
	Chunk      int    // prompt tokens of one prefill step, each with a batch of its own; 0 is the whole prompt
	ByteHashes bool   // vLLM: whole digests instead of integers
	HashSeed   string // vLLM: PYTHONHASHSEED; its hashes are those of sha256_cbor
}

func (k *KVConfig) withDefaults() *KVConfig {
	if k == nil {
		return nil
	}
	c := *k
	setDefault(&c.Topic, DefaultTopic)
	setDefault(&c.Buffer, kvfeed.DefaultBuffer)
	setDefault(&c.Queue, kvfeed.DefaultQueue)
	return &c
}

// kvProblems reports every problem of the prefix cache's settings.
func (c Config) kvProblems() []error {
	k := c.KV
	if k == nil {
		return nil
	}
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, n := range []boundedNumber{
		{"kv.buffer", int64(k.Buffer), 1},
		{"kv.queue", int64(k.Queue), 1},
		{"kv.start_after", int64(k.StartAfter), 0},
		{"kv.host_blocks", int64(k.HostBlocks), 0},
		{"kv.chunk", int64(k.Chunk), 0},
	} {
		if n.value < n.least {
			bad("%s: is %d, must be at least %d", n.path, n.value, n.least)
		}
	}
	if c.Dialect == SGLang && (k.ByteHashes || k.HashSeed != "") {
		bad("kv: byte_hashes and hash_seed are vLLM's, SGLang has neither")
	}
	if c.Dialect == VLLM && k.Load {
		bad("kv.load: only SGLang publishes its load, vLLM's is in its metrics")
	}
	if c.Dialect == VLLM {
		if _, err := kvwire.ParseRelease(c.Version); err != nil {
			bad("version: %w; it decides how events are encoded", err)
		}
	}
	return problems
}
