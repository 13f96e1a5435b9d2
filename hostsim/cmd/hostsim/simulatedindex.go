package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"strings"

	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/hostsim/simulate"
	"github.com/pointsman/pointsman/statesvc/kvevents"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/prompts"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/pointsman/pointsman/statesvc/tokenize"
)

// simulatedIndex is the real KV index, told of by simulated engines, and a tokenizer
// that takes every four characters of a prompt for a token: so engines and index agree
// on blocks without anybody computing with a vocabulary.
type simulatedIndex struct {
	index   *kvindex.Index
	engines []string
	result  kvindex.Result
}

// charsPerToken makes a block of an engine a whole number of tokens.
const charsPerToken = 4

func newSimulatedIndex(engines int) *simulatedIndex {
	x := &simulatedIndex{index: kvindex.New(kvindex.Config{Seed: 1})}
	for i := range engines {
		x.engines = append(x.engines, string(workerID(i)))
	}
	return x
}

// prompts answers by it what filters ask about prompts.
func (x *simulatedIndex) prompts() *prompts.Prompts {
	return prompts.New(prompts.Options{Tokenizer: x, Index: x, Engines: x, Logger: slog.New(slog.DiscardHandler)})
}

// Stored implements simulate.Listener.
func (x *simulatedIndex) Stored(engine int, parent uint64, hashes []uint64, text string) {
	x.apply(engine, &kvevents.Event{
		Kind: kvevents.KindStored, Tier: kvevents.TierDevice, Hashes: named(hashes), Parent: kvevents.Hash(parent), HasParent: parent != 0,
		Tokens: simulatedTokens(text), BlockSize: simulate.BlockChars / charsPerToken, Scope: kvevents.ScopeFull,
	})
}

// Removed implements simulate.Listener.
func (x *simulatedIndex) Removed(engine int, hashes []uint64) {
	x.apply(engine, &kvevents.Event{Kind: kvevents.KindRemoved, Tier: kvevents.TierDevice, Hashes: named(hashes)})
}

func (x *simulatedIndex) apply(engine int, e *kvevents.Event) {
	x.index.Apply(kvindex.Owner{Worker: x.engines[engine]}, e)
}

func named(hashes []uint64) []kvevents.Hash {
	names := make([]kvevents.Hash, len(hashes))
	for i, h := range hashes {
		names[i] = kvevents.Hash(h)
	}
	return names
}

func simulatedTokens(text string) []uint32 {
	tokens := make([]uint32, 0, len(text)/charsPerToken+1)
	for ; len(text) >= charsPerToken; text = text[charsPerToken:] {
		tokens = append(tokens, binary.LittleEndian.Uint32([]byte(text[:charsPerToken])))
	}
	if text != "" { // which is in no block
		tokens = append(tokens, 0)
	}
	return tokens
}

// Has implements prompts.Tokenizer.
func (*simulatedIndex) Has(string) bool { return true }

// Tokens implements prompts.Tokenizer: those of the text that simulated engines compute.
func (*simulatedIndex) Tokens(_ context.Context, _ string, dialect chat.Dialect, body string) (tokenize.Tokens, error) {
	facts, err := chat.Peek(body, dialect)
	if err != nil {
		return tokenize.Tokens{}, err
	}
	var request struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		return tokenize.Tokens{}, err
	}
	var text strings.Builder
	for _, m := range request.Messages {
		text.WriteString("<|" + m.Role + "|>" + m.Content)
	}
	ids := simulatedTokens(text.String())
	n := uint64(len(ids))
	return tokenize.Tokens{IDs: ids, Longest: n, Total: n, Certainty: tokenize.Exact, Origin: tokenize.FromBPE, Facts: facts}, nil
}

// Serving implements prompts.Engines.
func (x *simulatedIndex) Serving(string) []string { return x.engines }

// Match implements pump.Matcher. Simulations are single-threaded.
func (x *simulatedIndex) Match(p kvindex.Prompt, r *pump.Result) {
	x.index.Match(p, &x.result)
	r.Matches, r.Shared = r.Matches[:0], x.result.Shared
	for _, m := range x.result.Matches {
		r.Matches = append(r.Matches, pump.Match{Match: m, Trust: zmqsub.TrustFull})
	}
}

// Ranks implements pump.Matcher.
func (*simulatedIndex) Ranks(string) int { return 1 }

// Trust implements pump.Matcher.
func (*simulatedIndex) Trust(string) (zmqsub.Trust, string) { return zmqsub.TrustFull, "none" }
