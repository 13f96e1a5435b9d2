// Package cached runs engines whose prefix caches matter: few slots, prefill that takes
// the longer the less of a prompt is cached, caches that forget, KV events over ZMQ
// and an answer to /tokenize. They are those of the session benchmark of the peers
// (200 chats before 8 engines), made of the fake engines of hostsim/fakes, most
// with the vocabulary of a real model.
package cached

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pointsman/pointsman/e2e/bench/engine"
	"github.com/pointsman/pointsman/hostsim/fakes"
)

// Config says what engines to run, all alike.
type Config struct {
	Engines int
	Slots   int           // requests computed at once; others wait
	Fixed   time.Duration // to an answer, however much is cached
	PerKilo time.Duration // more for each 1,000 characters that are not cached
	Chars   int           // characters that a cache holds
	// Tokenizer is the folder of the model's tokenizer; empty is the word count of
	// hostsim/fakes, which costs the engines less.
	Tokenizer string
	Words     bool // no tokenizer is wanted
}

// Flag is the flag that hands a Config to a process of engines.
const Flag = "--cached"

// Sessions are the engines of the peers' session benchmark.
func Sessions(engines, chars int) Config {
	return Config{Engines: engines, Slots: 2, Fixed: 5 * time.Millisecond, PerKilo: 4 * time.Millisecond, Chars: chars}
}

// Hot are those of its one hot prompt: it takes them the same time whether they have it
// cached or not, so that nothing but balance counts, and they count words.
func Hot(engines int) Config {
	return Config{Engines: engines, Slots: 4, Fixed: 50 * time.Millisecond, Chars: 1_500_000, Words: true}
}

// Instant are engines that answer at once, so that nothing but the way there counts.
func Instant(engines int) Config { return Config{Engines: engines, Slots: 64, Chars: 4_000_000} }

// Argument is a Config as the value of Flag.
func (c Config) Argument() string {
	text, _ := json.Marshal(c) // numbers always encode
	return string(text)
}

// blockTokens are the tokens of a block, vLLM's default.
const blockTokens = 16

// longest is the most tokens of one prompt and its answer.
const longest = 128 << 10

// Start runs the engines that an argument describes. Stop must be called.
func Start(argument string) (*Server, error) {
	var c Config
	if err := json.Unmarshal([]byte(argument), &c); err != nil {
		return nil, fmt.Errorf("%s: %w", Flag, err)
	}
	v, err := c.vocabulary()
	if err != nil {
		return nil, err
	}
	perToken := v.charsPerToken()
	blocks := int(float64(c.Chars) / perToken / blockTokens)
	fleet, err := fakes.StartFleet(fakes.Replicate(fakes.Config{
		Models: []string{engine.Model}, Dialect: fakes.VLLM, Slots: c.Slots, ChatTokens: v.chatTokens(),
		PrefillBase: c.Fixed, PrefillPerToken: time.Duration(float64(c.PerKilo) * perToken / 1000),
		BlockSize: blockTokens, KVBlocks: blocks, MaxModelLen: min(longest, blocks*blockTokens),
		KV: &fakes.KVConfig{Publish: true}, RecordedEntries: -1,
	}, c.Engines)...)
	if err != nil {
		v.close()
		return nil, err
	}
	return &Server{fleet, v}, nil
}

func (c Config) vocabulary() (*vocabulary, error) {
	if c.Words {
		return nil, nil //nolint:nilnil // a nil vocabulary counts words
	}
	return openVocabulary(c.Tokenizer)
}

// Server is running engines.
type Server struct {
	fleet      *fakes.Fleet
	vocabulary *vocabulary
}

// Addrs are the engines' addresses.
func (s *Server) Addrs() (addrs []string) {
	for _, e := range s.fleet.Engines() {
		addrs = append(addrs, e.Addr())
	}
	return addrs
}

// Stop ends all engines.
func (s *Server) Stop() {
	s.fleet.StopAll()
	s.vocabulary.close()
}
