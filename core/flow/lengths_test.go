package flow

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/chat"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// newCounting is a scene with a bucket for prompts up to 100 tokens and one for
// longer ones, whose prompts are counted.
func newCounting(t tester, lengths spec.Lengths) *scene {
	s := newScene(t, engines(2)...)
	s.plain("short", 100, "e0")
	s.plain("long", 1000, "e1")
	s.wants = Wants{Lengths: lengths}
	return s
}

// prompt begins a request whose length is estimated at so many tokens.
func (s *scene) prompt(estimate int, more string) (*Request, []Effect) {
	s.t.Helper()
	empty := fmt.Sprintf(`{"model":"m",%s"messages":""}`, more)
	return s.chat(strings.Replace(empty, `""`, `"`+strings.Repeat("a", 4*estimate-len(empty))+`"`, 1))
}

// count answers the observe among the effects.
func (s *scene) count(r *Request, effects []Effect, reply *wire.ObserveReply) []Effect {
	s.t.Helper()
	call := s.call(effects, EffectObserve)
	require.True(s.t, call.Observe.Tokens)
	require.True(s.t, call.WithBody)
	require.Empty(s.t, call.Observe.Scopes)
	return r.Step(&Event{Kind: EventObserved, Now: s.now, Call: call.Call, Observed: reply})
}

func counted(n uint64) *wire.ObserveReply { return &wire.ObserveReply{Tokens: core.Known(n)} }

func TestLengths_what_was_counted_decides(t *testing.T) {
	s := newCounting(t, spec.LengthsExact)
	for _, tt := range []struct {
		reply  *wire.ObserveReply
		want   core.WorkerID
		input  core.Tokens
		source receipt.Source
	}{
		{counted(100), "e0", 100, receipt.SourceTokenizer},
		{counted(101), "e1", 101, receipt.SourceTokenizer},
		{counted(0), "e0", 1, receipt.SourceTokenizer},
		{nil, "e0", 60, receipt.SourceEstimate},
		{&wire.ObserveReply{}, "e0", 60, receipt.SourceEstimate},
	} {
		r, effects := s.prompt(60, "")
		s.requireRouted(r, s.count(r, effects, tt.reply), tt.want)
		require.Equal(t, tt.input, r.Receipt().Input)
		require.Equal(t, tt.source, r.Receipt().Source)
	}
	require.Equal(t, uint64(3), s.Counters[LengthsCounted])
	require.Equal(t, uint64(2), s.Counters[LengthsUnavailable])
}

func TestLengths_the_peak_follows_the_count(t *testing.T) {
	s := newCounting(t, spec.LengthsExact)
	r, effects := s.prompt(60, `"max_tokens":50,`)
	s.count(r, effects, counted(90))
	require.Equal(t, core.Known(140), r.Receipt().Peak)

	r, effects = s.prompt(60, `"max_tokens":18446744073709551000,`)
	effects = s.count(r, effects, counted(1000))
	require.Equal(t, 400, effects[0].Response.Status)
	r, effects = s.prompt(60, "")
	require.Equal(t, 400, s.count(r, effects, counted(1001))[0].Response.Status, "no bucket is so long")
}

func TestLengths_late_is_unavailable(t *testing.T) {
	s := newCounting(t, spec.LengthsExact)
	r, effects := s.prompt(60, "")
	s.call(effects, EffectObserve)
	s.now += DefaultCallTimeout
	s.requireRouted(r, r.Step(&Event{Kind: EventTick, Now: s.now}), "e0")
	require.Equal(t, uint64(1), s.Counters[LengthsUnavailable])
}

// A service that cannot count is not asked for every request (design section 1:
// no token source, no callout).
func TestLengths_uncounted_is_not_asked_again_soon(t *testing.T) {
	s := newCounting(t, spec.LengthsExact)
	r, effects := s.prompt(60, "")
	s.requireRouted(r, s.count(r, effects, &wire.ObserveReply{Uncounted: true}), "e0")
	require.Equal(t, uint64(1), s.Counters[LengthsUncounted])
	for range 3 {
		r, effects = s.prompt(60, "")
		s.requireRouted(r, effects, "e0")
	}
	s.now += recount
	_, effects = s.prompt(60, "")
	s.call(effects, EffectObserve)
}

// What is known, or cannot be sent, is not asked for.
func TestLengths_not_asked(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(s *scene)
		path   string
		body   string
	}{
		"estimate":  {func(s *scene) { s.wants.Lengths = spec.LengthsEstimated }, chatPath, `{"model":"m"}`},
		"too large": {func(s *scene) { s.state.ObserveMaxBody = 20 }, chatPath, `{"model":"m","messages":[]}`},
		"token ids": {func(s *scene) { s.paths = append(s.paths, routedPath{"/v1/completions", chat.DialectCompletions}) }, "/v1/completions", `{"model":"m","prompt":[1,2,3]}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCounting(t, spec.LengthsExact)
			tt.change(s)
			r, effects := s.post(tt.path, tt.body)
			s.requireRouted(r, effects, "e0")
		})
	}
}

// An ambiguous length is one that leaves the bucket open, by the error seen so far.
func TestLengths_ambiguous(t *testing.T) {
	s := newCounting(t, spec.LengthsAmbiguous)
	asked := func(estimate int) bool {
		r, effects := s.prompt(estimate, "")
		if effects[0].Kind != EffectObserve {
			require.Equal(t, EffectRoute, effects[0].Kind)
			r.Step(&Event{Kind: EventDone, Now: s.now})
			return false
		}
		// This model's prompts have a fifth more tokens than estimated.
		s.count(r, effects, counted(uint64(estimate)*6/5))
		r.Step(&Event{Kind: EventDone, Now: s.now})
		return true
	}
	require.False(t, asked(24), "4 times as long would fit still")
	require.True(t, asked(26))
	for range 40 {
		require.True(t, asked(82), "82 to 98 or so")
	}
	require.False(t, asked(60), "the error is known by now")
	require.False(t, asked(120))
	require.True(t, asked(84))
}

// The span of a gauge holds nearly all of what comes, whatever the tokenizer.
func TestGauge_span_holds_what_comes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, ratio := range []float64{0.3, 0.8, 1, 1.4, 3.5} {
		g, inside := &gauge{}, 0
		const prompts = 2000
		for range prompts {
			estimate := core.Tokens(50 + r.IntN(5000))
			count := core.Tokens(float64(estimate) * ratio * (1 + 0.1*r.NormFloat64()))
			if low, high := g.span(estimate); low <= count && count <= high {
				inside++
			}
			g.note(estimate, count)
		}
		require.Greater(t, inside, prompts*97/100, "%v", ratio)
		low, high := g.span(1000)
		require.Less(t, float64(high-low), 1000*ratio, "and is worth having")
	}
}

func TestGauge_bounds(t *testing.T) {
	low, high := (&gauge{}).span(1)
	require.Equal(t, []core.Tokens{1, 4}, []core.Tokens{low, high})
	low, high = (&gauge{}).span(^core.Tokens(0))
	require.LessOrEqual(t, low, high)
	g := &gauge{}
	for range 20 {
		g.note(0, 100)
	}
	low, high = g.span(1)
	require.Equal(t, []core.Tokens{95, 105}, []core.Tokens{low, high})
}
