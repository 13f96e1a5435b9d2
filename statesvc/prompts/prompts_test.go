package prompts_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvindex"
	"github.com/pointsman/pointsman/statesvc/prompts"
	"github.com/pointsman/pointsman/statesvc/pump"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// scene is a model "m" on engines a and b, whose tokens and index are written down.
type scene struct {
	tokens  tokenize.Tokens
	err     error
	matches []pump.Match
	trust   map[string]zmqsub.Trust
	ranks   map[string]int // of engines with several
	asked   kvindex.Prompt
	age     core.Count

	shared int
	remote *elsewhere
	size   int // of blocks, as the engines say
	bigram bool
	cutErr error
}

func (s *scene) Has(model string) bool { return model == "m" }

func (s *scene) Tokens(_ context.Context, _ string, dialect chat.Dialect, body string) (tokenize.Tokens, error) {
	tokens := s.tokens
	tokens.Facts, _ = chat.Peek(body, dialect)
	return tokens, s.err
}

func (s *scene) Match(p kvindex.Prompt, r *pump.Result) {
	s.asked, r.Matches, r.Shared, r.Age = p, s.matches, s.shared, s.age
}

func (s *scene) Ranks(worker string) int { return s.ranks[worker] }

func (s *scene) Trust(worker string) (zmqsub.Trust, string) { return s.trust[worker], "restarted" }

func (s *scene) Serving(name string) []string {
	if name == "m" || name == "poet" {
		return []string{"a", "b"}
	}
	return nil
}

func (s *scene) At(url string) string {
	worker, _ := strings.CutPrefix(url, "http://")
	if worker != "a" && worker != "b" && worker != "elsewhere" {
		return ""
	}
	return worker
}

func (s *scene) Cut(string) (int, bool, error) { return s.size, s.bigram, s.cutErr }

func (s *scene) look(t *testing.T, change func(q *server.PromptQuery)) *server.PromptAnswer {
	t.Helper()
	q := &server.PromptQuery{Model: "m", Asked: "m", Path: "/v1/chat/completions", Tokens: true, Sources: []string{"local"}, Body: []byte(`{"model":"m","messages":[]}`)}
	if change != nil {
		change(q)
	}
	o := prompts.Options{Tokenizer: s, Index: s, Engines: s, Logger: slog.New(slog.DiscardHandler)}
	if s.remote != nil {
		o.Remote, o.Places = s.remote, s
	}
	answer, err := prompts.New(o).Look(t.Context(), q)
	require.NoError(t, err)
	return answer
}

// exact is a prompt of ten tokens.
func exact() tokenize.Tokens {
	return tokenize.Tokens{IDs: []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, Longest: 10, Total: 10, Certainty: tokenize.Exact, Origin: tokenize.FromBPE}
}

func holds(worker string, rank uint32, blocks int, trust zmqsub.Trust) pump.Match {
	return pump.Match{
		Match: kvindex.Match{Owner: kvindex.Owner{Worker: worker, Rank: rank}, BlockSize: 4, Blocks: blocks, Tokens: 4 * blocks, Within: [4]int{1, blocks, blocks, blocks}, Certain: true},
		Trust: trust,
	}
}

func full() map[string]zmqsub.Trust {
	return map[string]zmqsub.Trust{"a": zmqsub.TrustFull, "b": zmqsub.TrustFull}
}

func TestLook_depths(t *testing.T) {
	s := &scene{tokens: exact(), trust: full(), matches: []pump.Match{
		holds("b", 0, 1, zmqsub.TrustFull), holds("b", 1, 2, zmqsub.TrustPartial), holds("elsewhere", 0, 2, zmqsub.TrustFull),
	}}
	answer := s.look(t, nil)
	require.EqualValues(t, 10, *answer.Tokens)
	require.Len(t, answer.Lookups, 1)
	require.True(t, proto.Equal(&wirepb.Lookup{
		Source: "local", Outcome: wirepb.LookupOutcome_LOOKUP_HIT, Blocks: 10,
		Depths: []*wirepb.Depth{{Worker: "b", Blocks: 8, DeviceBlocks: proto.Uint64(4), Uncertain: true}},
	}, answer.Lookups[0]), answer.Lookups[0].String())

	require.Zero(t, answer.Lookups[0].GetShared())
	s.shared = 4
	require.EqualValues(t, 4, s.look(t, nil).Lookups[0].GetShared())

	s.matches = []pump.Match{{Match: kvindex.Match{Owner: kvindex.Owner{Worker: "a"}, Pending: 9, Certain: true}, Trust: zmqsub.TrustFull}}
	require.EqualValues(t, 9, s.look(t, nil).Lookups[0].GetDepths()[0].GetBlocks(), "what was sent there lately counts")
}

// Of an engine's ranks the one counts that holds the most, of equals the first. It is
// named where the engine has several.
func TestLook_rank(t *testing.T) {
	s := &scene{tokens: exact(), trust: full(), ranks: map[string]int{"a": 4, "b": 1}, matches: []pump.Match{
		holds("a", 3, 2, zmqsub.TrustFull), holds("a", 0, 1, zmqsub.TrustFull), holds("a", 2, 2, zmqsub.TrustFull), holds("b", 0, 2, zmqsub.TrustFull),
	}}
	depths := s.look(t, nil).Lookups[0].GetDepths()
	require.Len(t, depths, 2)
	require.Equal(t, proto.Uint32(2), depths[0].Rank)
	require.EqualValues(t, 8, depths[0].GetBlocks())
	require.Equal(t, []uint32{2, 3}, depths[0].Ranks)
	require.Nil(t, depths[1].Rank)
	require.Empty(t, depths[1].Ranks)

	s.matches = s.matches[1:2]
	only := s.look(t, nil).Lookups[0].GetDepths()[0]
	require.Equal(t, proto.Uint32(0), only.Rank, "the first one is a rank too")
	require.Empty(t, only.Ranks)
}

// How old the knowledge is: of a holder, what its rank last told; of the lookup, what any
// engine did. Unknown is left out.
func TestLook_age(t *testing.T) {
	s := &scene{tokens: exact(), trust: full(), matches: []pump.Match{holds("a", 0, 1, zmqsub.TrustFull), holds("a", 1, 2, zmqsub.TrustFull), holds("b", 0, 1, zmqsub.TrustFull)}}
	s.matches[0].Age, s.matches[1].Age, s.age = core.Known(7), core.Known(900), core.Known(0)
	lookup := s.look(t, nil).Lookups[0]
	require.Equal(t, proto.Uint64(0), lookup.AgeMs)
	require.Equal(t, proto.Uint64(900), lookup.GetDepths()[0].AgeMs, "of the rank that holds the most")
	require.Nil(t, lookup.GetDepths()[1].AgeMs)
	s.age = core.Count{}
	require.Nil(t, s.look(t, nil).Lookups[0].AgeMs)
}

// A miss is known; without events nobody knows.
func TestLook_miss_and_unavailable(t *testing.T) {
	s := &scene{tokens: exact(), trust: full()}
	require.Equal(t, wirepb.LookupOutcome_LOOKUP_MISS, s.look(t, nil).Lookups[0].GetOutcome())
	s.trust = map[string]zmqsub.Trust{"b": zmqsub.TrustPartial}
	require.Equal(t, wirepb.LookupOutcome_LOOKUP_MISS, s.look(t, nil).Lookups[0].GetOutcome(), "one engine is known to hold nothing")

	s.trust = nil
	lookup := s.look(t, nil).Lookups[0]
	require.Equal(t, wirepb.LookupOutcome_LOOKUP_UNAVAILABLE, lookup.GetOutcome())
	require.Contains(t, lookup.GetDetail(), "restarted")

	lookup = s.look(t, func(q *server.PromptQuery) { q.Sources = []string{"remote", "local"} }).Lookups[0]
	require.Equal(t, "remote", lookup.GetSource())
	require.Equal(t, wirepb.LookupOutcome_LOOKUP_UNAVAILABLE, lookup.GetOutcome())
}

func TestLook_without_exact_tokens(t *testing.T) {
	for _, tt := range []struct {
		tokens  tokenize.Tokens
		counted bool
	}{
		{tokenize.Tokens{Longest: 7, Certainty: tokenize.Counted, Reason: tokenize.ReasonUnverified}, true},
		{tokenize.Tokens{Longest: 7, Certainty: tokenize.Estimated, Reason: tokenize.ReasonEngine}, false},
		{tokenize.Tokens{Longest: 1, Certainty: tokenize.Exact}, true},
	} {
		s := &scene{tokens: tt.tokens, trust: full(), matches: []pump.Match{holds("a", 0, 2, zmqsub.TrustFull)}}
		answer := s.look(t, nil)
		require.Equal(t, tt.counted, answer.Tokens != nil, "an estimate of ours is no better than the filter's own")
		require.False(t, answer.Uncounted)
		require.Equal(t, wirepb.LookupOutcome_LOOKUP_UNAVAILABLE, answer.Lookups[0].GetOutcome())
		require.Contains(t, answer.Lookups[0].GetDetail(), string(tt.tokens.Reason))
	}
	answer := (&scene{}).look(t, func(q *server.PromptQuery) { q.Model = "other" })
	require.True(t, answer.Uncounted)
	require.Nil(t, answer.Tokens)
	require.Contains(t, answer.Lookups[0].GetDetail(), "tokenize.models")

	_, err := prompts.New(prompts.Options{Tokenizer: &scene{err: errors.New("no request")}}).Look(t.Context(), &server.PromptQuery{Model: "m"})
	require.ErrorContains(t, err, "no request")
}

// Ids come to who asks for them, and to nobody else.
func TestLook_input_ids(t *testing.T) {
	s := &scene{tokens: exact(), trust: full()}
	s.tokens.Compared = true
	require.Nil(t, s.look(t, nil).InputIDs)
	chat := func(most uint32) func(*server.PromptQuery) {
		return func(q *server.PromptQuery) {
			q.InputIDs, q.Body = most, []byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
		}
	}
	require.Equal(t, exact().IDs, s.look(t, chat(10)).InputIDs.GetIds())
	few := s.look(t, chat(9)).InputIDs
	require.Equal(t, wirepb.InputIDsVerdict_INPUT_IDS_TOO_LONG, few.GetVerdict())
	require.Empty(t, few.GetIds())
	answer := s.look(t, func(q *server.PromptQuery) { chat(10)(q); q.Model = "other" })
	require.True(t, answer.Uncounted)
	require.Nil(t, answer.InputIDs)
}

// Equal tokens are another prefix under another salt or adapter.
func TestLook_names_what_the_engine_looks_up(t *testing.T) {
	for name, tt := range map[string]struct {
		asked, path, body string
		salt, lora        string
	}{
		"plain":               {"m", "/v1/chat/completions", `{"model":"m"}`, "", ""},
		"salt":                {"m", "/v1/chat/completions", `{"model":"m","cache_salt":"pepper"}`, "pepper", ""},
		"adapter as model":    {"poet", "/v1/chat/completions", `{"model":"poet"}`, "", "poet"},
		"adapter in the body": {"m", "/generate", `{"text":"x","lora_path":"poet"}`, "", "poet"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{tokens: exact(), trust: full()}
			s.look(t, func(q *server.PromptQuery) { q.Asked, q.Path, q.Body = tt.asked, tt.path, []byte(tt.body) })
			require.Equal(t, kvindex.Prompt{Tokens: exact().IDs, Salt: tt.salt, LoRA: tt.lora}, s.asked)
		})
	}
}
