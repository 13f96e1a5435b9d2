package flow

import (
	"testing"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/receipt"
	"github.com/stretchr/testify/require"
)

// waiting begins a request that waits for its body, with n bytes received so far.
func (m *machine) waiting(n core.Count) *Request {
	r, ev := m.NewRequest(), m.headers()
	ev.Received = n
	require.Equal(m.t, []EffectKind{EffectStrip, EffectPause}, kinds(r.Step(&ev)))
	return r
}

func (m *machine) tick(r *Request, received core.Count) []Effect {
	return r.Step(&Event{Kind: EventTick, Now: m.now, Received: received})
}

func TestHeaderOnly_is_latched_by_proof(t *testing.T) {
	m := newMachine(t, oneBucket, engines(1)...)
	require.True(t, m.NeedsReceived())
	r, other := m.waiting(core.Known(100)), m.waiting(core.Known(100))
	require.Empty(t, m.tick(r, core.Known(100)))
	effects := m.tick(r, core.Known(101))
	require.Equal(t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects))
	require.True(t, m.HeaderOnly())
	require.False(t, m.NeedsReceived())
	require.Equal(t, uint64(1), m.Counters[HeaderOnlyLatched])

	require.Equal(t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(m.tick(other, core.Count{})), "all who wait go on")
	r, ev := m.NewRequest(), m.headers()
	ev.ContentLength = core.Known(4000)
	effects = r.Step(&ev)
	require.Equal(t, []EffectKind{EffectStrip, EffectRoute, EffectContinue, EffectReceipt}, kinds(effects), "nobody is held any more")
	require.Equal(t, uint64(1000), r.Receipt().Input)
	require.Equal(t, receipt.SourceContentLength, r.Receipt().Source)
	require.Equal(t, uint64(1), m.Counters[HeaderOnlyLatched], "latched once")
	require.Equal(t, uint64(3), m.Counters[HeaderOnlyRouted])
	require.Equal(t, uint64(3), m.inflight())
}

func TestHeaderOnly_needs_proof(t *testing.T) {
	for name, tt := range map[string]struct {
		before  func(*machine)
		headers core.Count
		tick    core.Count
	}{
		"a slow client sends nothing":       {headers: core.Known(100), tick: core.Known(100)},
		"fewer bytes, headers were removed": {headers: core.Known(100), tick: core.Known(90)},
		"the host did not tell at first":    {tick: core.Known(100)},
		"the host does not tell any more":   {headers: core.Known(100)},
		"the host has shown a body":         {before: func(m *machine) { m.routed() }, headers: core.Known(100), tick: core.Known(500)},
		"the host has shown a part of a body": {before: func(m *machine) {
			m.waiting(core.Count{}).Step(&Event{Kind: EventBodyPart, Size: 1})
		}, headers: core.Known(100), tick: core.Known(500)},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, oneBucket, engines(1)...)
			if tt.before != nil {
				tt.before(m)
			}
			r := m.waiting(tt.headers)
			m.now = 59_999
			require.Empty(t, m.tick(r, tt.tick))
			require.True(t, r.Waiting())
			require.False(t, m.HeaderOnly())
			m.now = 60_000
			code, _ := refusal(t, m.tick(r, tt.tick))
			require.Equal(t, CodeBodyTimeout, code, "it waits until the deadline and latches nothing")
			require.False(t, m.HeaderOnly())
			require.Zero(t, m.Counters[HeaderOnlyLatched])
		})
	}
}

// A body that a host shows of a request that was not held tells nothing of how
// it treats held ones.
func TestHeaderOnly_a_body_that_was_not_held_is_no_counterproof(t *testing.T) {
	m := newMachine(t, oneBucket, engines(1)...)
	passed, ev := m.NewRequest(), m.headers()
	ev.Path = "/v1/embeddings"
	passed.Step(&ev)
	passed.Step(&Event{Kind: EventBodyPart, Size: 10})
	passed.Step(&Event{Kind: EventBody, Body: "{}"})
	require.True(t, m.NeedsReceived())
	m.tick(m.waiting(core.Known(100)), core.Known(200))
	require.True(t, m.HeaderOnly())
}

// Ten seconds of body with the flag on: routed by body, nothing latched.
func TestHeaderOnly_slow_client_is_routed_by_body(t *testing.T) {
	m := newMachine(t, oneBucket, engines(1)...)
	r := m.waiting(core.Known(100))
	for i := range 50 {
		m.now += 200
		if i%10 == 9 {
			r.Step(&Event{Kind: EventBodyPart, Now: m.now, Size: uint64(i)})
		}
		received := core.Known(100) // each part is shown before the next tick
		if i >= 9 {
			received = core.Known(uint64(100 + i))
		}
		require.Empty(t, m.tick(r, received))
	}
	effects := r.Step(&Event{Kind: EventBody, Now: m.now, Body: `{"model":"m","max_tokens":5}`})
	require.Equal(t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects))
	require.Equal(t, core.Known(12), r.Receipt().Peak)
	require.False(t, m.HeaderOnly())
}

// latched is a machine whose host never shows a body.
func latched(t *testing.T, members string) *machine {
	t.Helper()
	m := newMachine(t, members, engines(2)...)
	m.headerOnly = true
	return m
}

func TestHeaderOnly_model(t *testing.T) {
	const bucket = `{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"random"}}}}]}`
	for _, tt := range []struct {
		models, header string
		code           Code
		routed         string
	}{
		{`"m":` + bucket, "", CodeNone, "m"},
		{`"m":` + bucket, "m", CodeNone, "m"},
		{`"m":` + bucket, "other", CodeModelNotFound, ""},
		{`"m":` + bucket + `,"n":` + bucket, "m", CodeNone, "m"},
		{`"m":` + bucket + `,"n":` + bucket, "n", CodeNoHealthyWorkers, ""},
		{`"m":` + bucket + `,"n":` + bucket, "", CodeBadRequest, ""},
	} {
		m := latched(t, `"models":{`+tt.models+`}`)
		r, ev := m.NewRequest(), m.headers()
		ev.ModelHeader = tt.header
		effects := r.Step(&ev)
		if tt.code == CodeNone {
			require.Equal(t, []EffectKind{EffectStrip, EffectRoute, EffectContinue, EffectReceipt}, kinds(effects))
			require.Equal(t, tt.routed, r.Receipt().Model)
			continue
		}
		code, message := refusal(t, effects)
		require.Equal(t, tt.code, code)
		if code == CodeBadRequest {
			require.Contains(t, message, "x-pointsman-model")
		}
	}
}

func TestHeaderOnly_length(t *testing.T) {
	const buckets = `"models":{"m":{"buckets":[
		{"id":"short","limits":{"max":100},"groups":{"plain":{"policy":{"type":"random"}}}},
		{"id":"long","limits":{"max":1000},"groups":{"plain":{"policy":{"type":"random"}}}},
		{"id":"long too","limits":{"max":5000},"max_context_tokens":1000,"rank":1,"groups":{"plain":{"policy":{"type":"random"}}}}]}}`
	for _, tt := range []struct {
		length core.Count
		bucket string
		source receipt.Source
		text   string
	}{
		{core.Known(0), "short", receipt.SourceContentLength, "input=1 (content-length)"},
		{core.Known(403), "short", receipt.SourceContentLength, "input=100 (content-length)"},
		{core.Known(404), "long", receipt.SourceContentLength, "input=101 (content-length)"},
		{core.Count{}, "long", receipt.SourceUnknown, "input=unknown"},
	} {
		m := latched(t, buckets)
		r, ev := m.NewRequest(), m.headers()
		ev.ContentLength = tt.length
		require.Equal(t, []EffectKind{EffectStrip, EffectRoute, EffectContinue, EffectReceipt}, kinds(r.Step(&ev)))
		require.Equal(t, tt.bucket, r.Receipt().Bucket)
		require.Equal(t, tt.source, r.Receipt().Source)
		require.Contains(t, r.Receipt().Describe(), tt.text)
	}
	m := latched(t, buckets)
	r, ev := m.NewRequest(), m.headers()
	ev.ContentLength = core.Known(4004)
	code, _ := refusal(t, r.Step(&ev))
	require.Equal(t, CodeBadRequest, code)
}

func TestHeaderOnly_still_refuses_by_headers(t *testing.T) {
	m := latched(t, oneBucket)
	for code, change := range map[Code]func(*Event){
		CodePayloadTooLarge:     func(e *Event) { e.ContentLength = core.Known(32<<20 + 1) },
		CodeUnsupportedEncoding: func(e *Event) { e.ContentEncoding = "br" },
		CodeBadRequest:          func(e *Event) { e.EndOfStream = true },
	} {
		r, ev := m.NewRequest(), m.headers()
		change(&ev)
		got, _ := refusal(t, r.Step(&ev))
		require.Equal(t, code, got)
	}
}
