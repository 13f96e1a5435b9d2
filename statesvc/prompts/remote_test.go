package prompts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/statesvc/indexer"
	"github.com/pointsman/pointsman/statesvc/kvindex/sglhash"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/tokenize"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// elsewhere is an indexer that gives one answer.
type elsewhere struct {
	answer  indexer.Answer
	hashes  []int64
	within  time.Duration // that it was given; 0 for no bound
	ignored int
}

func (e *elsewhere) Match(ctx context.Context, hashes []int64) indexer.Answer {
	e.hashes = append([]int64(nil), hashes...)
	if end, ok := ctx.Deadline(); ok {
		e.within = time.Until(end)
	}
	return e.answer
}

func (e *elsewhere) Ignore(_ indexer.Ignored, n int) { e.ignored += n }

func remotely(q *server.PromptQuery) { q.Sources = []string{policy.SourceRemote} }

// What became of a lookup elsewhere, and what a filter is told of it.
func TestLook_remote_outcomes(t *testing.T) {
	matched := func(list ...indexer.Match) indexer.Answer {
		return indexer.Answer{Outcome: indexer.Matched, Matches: list}
	}
	for name, c := range map[string]struct {
		answer  indexer.Answer
		want    *wirepb.Lookup
		ignored int
	}{
		"held": {
			answer: matched(indexer.Match{Address: "http://b", Blocks: 2}, indexer.Match{Address: "http://a", Blocks: 1}),
			want:   &wirepb.Lookup{Outcome: wirepb.LookupOutcome_LOOKUP_HIT, Blocks: 10, Depths: []*wirepb.Depth{{Worker: "a", Blocks: 4}, {Worker: "b", Blocks: 8}}},
		},
		"named twice": {
			answer: matched(indexer.Match{Address: "http://b", Blocks: 1}, indexer.Match{Address: "http://b", Blocks: 2}),
			want:   &wirepb.Lookup{Outcome: wirepb.LookupOutcome_LOOKUP_HIT, Blocks: 10, Depths: []*wirepb.Depth{{Worker: "b", Blocks: 8}}},
		},
		"by others only": {
			answer:  matched(indexer.Match{Address: "http://a/", Blocks: 2}, indexer.Match{Address: "http://elsewhere", Blocks: 2}),
			want:    &wirepb.Lookup{Outcome: wirepb.LookupOutcome_LOOKUP_MISS, Blocks: 10},
			ignored: 1, // a slash more is another address; an engine of another model is known
		},
		"by nobody": {
			answer: indexer.Answer{Outcome: indexer.Empty},
			want:   &wirepb.Lookup{Outcome: wirepb.LookupOutcome_LOOKUP_MISS, Blocks: 10},
		},
		"timeout":     {indexer.Answer{Outcome: indexer.Timeout, Why: "w"}, &wirepb.Lookup{Detail: "timeout: w"}, 0},
		"unreachable": {indexer.Answer{Outcome: indexer.Unreachable, Why: "w"}, &wirepb.Lookup{Detail: "unreachable: w"}, 0},
		"overloaded":  {indexer.Answer{Outcome: indexer.Overloaded, Why: "w"}, &wirepb.Lookup{Detail: "overloaded: w"}, 0},
		"too large":   {indexer.Answer{Outcome: indexer.TooLarge, Why: "w"}, &wirepb.Lookup{Detail: "too_large: w"}, 0},
		"senseless":   {indexer.Answer{Outcome: indexer.Senseless, Why: "w"}, &wirepb.Lookup{Detail: "senseless: w"}, 0},
		"rejected":    {indexer.Answer{Outcome: indexer.Rejected, Why: "w"}, &wirepb.Lookup{Outcome: wirepb.LookupOutcome_LOOKUP_INVALID, Detail: "rejected: w"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{tokens: exact(), trust: full(), size: 4, remote: &elsewhere{answer: c.answer}}
			answer := s.look(t, remotely)
			require.EqualValues(t, 10, *answer.Tokens, "the length does not depend on it")
			c.want.Source = policy.SourceRemote
			require.True(t, proto.Equal(c.want, answer.Lookups[0]), answer.Lookups[0].String())
			require.Equal(t, c.ignored, s.remote.ignored)
		})
	}
}

// What is asked: the blocks that an engine can take from its cache, by its own hashes.
func TestLook_remote_query(t *testing.T) {
	hashes := func(o sglhash.Options, tokens ...uint32) []int64 {
		list, err := sglhash.Hashes(nil, tokens, o)
		require.NoError(t, err)
		return list
	}
	first := exact().IDs
	for name, c := range map[string]struct {
		size   int
		bigram bool
		body   string
		want   []int64
	}{
		"blocks":          {size: 4, want: hashes(sglhash.Options{BlockSize: 4}, first[:8]...)},
		"the last token":  {size: 5, want: hashes(sglhash.Options{BlockSize: 5}, first[:5]...)},
		"pairs":           {size: 3, bigram: true, want: hashes(sglhash.Options{BlockSize: 3, Bigram: true}, first...)},
		"a salt":          {size: 4, body: `{"model":"m","messages":[],"cache_salt":"s"}`, want: hashes(sglhash.Options{BlockSize: 4, Salt: "s"}, first[:8]...)},
		"less than block": {size: 16},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{tokens: exact(), trust: full(), size: c.size, bigram: c.bigram, remote: &elsewhere{answer: indexer.Answer{Outcome: indexer.Empty}}}
			lookup := s.look(t, func(q *server.PromptQuery) {
				remotely(q)
				q.Until = time.Now().Add(time.Hour)
				if c.body != "" {
					q.Body = []byte(c.body)
				}
			}).Lookups[0]
			require.Equal(t, wirepb.LookupOutcome_LOOKUP_MISS, lookup.GetOutcome())
			require.Equal(t, c.want, s.remote.hashes)
			if c.want != nil {
				require.InDelta(t, 48*time.Minute, s.remote.within, float64(time.Minute), "a part of the caller's time is left to answer in")
			}
		})
	}
}

// What cannot be asked is unavailable, with what to do about it.
func TestLook_remote_unasked(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scene)
		query  func(*server.PromptQuery)
		says   string
	}{
		"no indexer":    {func(s *scene) { s.remote = nil }, nil, "name one under kv.remote.endpoints"},
		"no block size": {func(s *scene) { s.cutErr = errors.New("write kv.remote.block_size") }, nil, "write kv.remote.block_size"},
		"no tokens":     {func(s *scene) { s.tokens.Certainty = tokenize.Estimated }, nil, "tokens are not known"},
		"an adapter":    {func(*scene) {}, func(q *server.PromptQuery) { q.Asked = "poet" }, "adapter"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{tokens: exact(), trust: full(), size: 4, remote: &elsewhere{}}
			c.change(s)
			remote := s.remote
			lookup := s.look(t, func(q *server.PromptQuery) {
				remotely(q)
				if c.query != nil {
					c.query(q)
				}
			}).Lookups[0]
			require.Equal(t, wirepb.LookupOutcome_LOOKUP_UNAVAILABLE, lookup.GetOutcome())
			require.Contains(t, lookup.GetDetail(), c.says)
			require.True(t, remote == nil || remote.hashes == nil)
		})
	}
}
