package flow

import (
	"testing"
	"unsafe"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

// A body lies in memory that the host uses again after the callback, so nothing
// that outlives the callback is a part of it.
func TestRequest_keeps_nothing_of_the_body(t *testing.T) {
	const adapted = `"models":{"m":{"aliases":["nick"],"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"round_robin"}}}}]}}`
	e := engine(0)
	e.Adapters = []core.Adapter{{Name: "poet", Base: "m"}}
	for name, tt := range map[string]struct {
		body   string
		later  bool // the fleet comes after the body
		routed bool
		model  string
	}{
		"model":          {body: `{"model":"m"}`, routed: true, model: "m"},
		"alias":          {body: `{"model":"nick"}`, routed: true, model: "nick"},
		"adapter":        {body: `{"model":"poet"}`, routed: true, model: "poet"},
		"unknown":        {body: `{"model":"nobody"}`, model: "nobody"},
		"overflow":       {body: `{"model":"m","max_tokens":18446744073709551615}`, model: "m"},
		"late":           {body: `{"model":"m"}`, later: true, routed: true, model: "m"},
		"late adapter":   {body: `{"model":"poet"}`, later: true, routed: true, model: "poet"},
		"late unknown":   {body: `{"model":"nobody"}`, later: true, model: "nobody"},
		"invalid after":  {body: `{"model":"m",}`, model: "m"},
		"escaped":        {body: `{"model":"\u006d"}`, routed: true, model: "m"},
		"named in parts": {body: `{"model":"m","lora_path":"poet"}`, routed: true, model: "m"},
	} {
		t.Run(name, func(t *testing.T) {
			fleet := []wire.Worker{e}
			if tt.later {
				fleet = nil
			}
			m := newMachine(t, adapted, fleet...)
			r := m.NewRequest()
			headers := m.headers()
			r.Step(&headers)
			memory := []byte(tt.body)
			var done []EffectKind
			done = append(done, kinds(r.Step(&Event{Kind: EventBody, Now: m.now, Body: unsafe.String(&memory[0], len(memory))}))...)
			for i := range memory {
				memory[i] = '#'
			}
			if tt.later {
				m.apply(wire.SyncReply{Full: true, Workers: []wire.Worker{e}})
				done = append(done, kinds(r.Step(&Event{Kind: EventTick, Now: m.now}))...)
			}
			require.Equal(t, tt.model, r.Receipt().Model)
			if tt.routed {
				require.Contains(t, done, EffectRoute)
			} else {
				require.Contains(t, done, EffectRespond)
			}
			r.Step(&Event{Kind: EventDone})
		})
	}
}
