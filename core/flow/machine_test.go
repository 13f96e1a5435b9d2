package flow

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/spec"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/stretchr/testify/require"
)

const chatPath = "/v1/chat/completions"

// oneBucket routes model "m" over every engine, one after the other.
const oneBucket = `"models":{"m":{"buckets":[{"id":"all","groups":{"plain":{"policy":{"type":"round_robin"}}}}]}}`

// tester is a test, of this package or of rapid.
type tester interface {
	require.TestingT
	Helper()
}

// machine is a context with its fleet, and a clock that tests move by hand.
type machine struct {
	*Context
	t   tester
	now core.Instant
	seq uint64
}

// newMachine makes a context of a configuration's members. With no engines the
// fleet is unknown.
func newMachine(t tester, members string, engines ...wire.Worker) *machine {
	t.Helper()
	cfg, err := spec.Decode([]byte(`{"version":1,"state":{"cluster":"s"},` + members + `}`))
	require.NoError(t, err)
	cfg = spec.Defaults(cfg)
	known := fleet.New(cfg.BreakerConfig(), cfg.Static())
	router, err := spec.Build(cfg, spec.Handles{Load: known})
	require.NoError(t, err)
	m := &machine{Context: NewContext(cfg, router, known, 7), t: t}
	if len(engines) > 0 {
		m.apply(wire.SyncReply{Full: true, Workers: engines})
	}
	return m
}

func (m *machine) apply(reply wire.SyncReply) {
	m.t.Helper()
	m.seq++
	reply.Replica, reply.Seq, reply.Version = 1, m.seq, m.seq
	require.NoError(m.t, m.Fleet.Apply(&reply, m.now))
}

// engine is a healthy plain engine of model "m", number i.
func engine(i int) wire.Worker {
	return wire.Worker{
		ID: core.WorkerID(fmt.Sprintf("e%d", i)), Address: fmt.Sprintf("10.0.%d.%d:80", i/256, i%256), Models: []string{"m"},
		Stage: core.StagePlain, Generation: 1, Healthy: true,
	}
}

func engines(n int) (list []wire.Worker) {
	for i := range n {
		list = append(list, engine(i))
	}
	return list
}

// headers is a chat request's headers event, its body still to come.
func (m *machine) headers() Event {
	return Event{Kind: EventHeaders, Now: m.now, Method: "POST", Path: chatPath}
}

// chat sends a whole chat request and returns the effects of its body.
func (m *machine) chat(body string) (*Request, []Effect) {
	m.t.Helper()
	r := m.NewRequest()
	ev := m.headers()
	require.Equal(m.t, []EffectKind{EffectStrip, EffectPause}, kinds(r.Step(&ev)))
	return r, r.Step(&Event{Kind: EventBody, Now: m.now, Body: body})
}

// routed sends a small chat request, which must reach an engine.
func (m *machine) routed() *Request {
	m.t.Helper()
	r, effects := m.chat(`{"model":"m"}`)
	require.Equal(m.t, []EffectKind{EffectRoute, EffectContinue, EffectReceipt}, kinds(effects))
	return r
}

// answer ends a routed request with a status of the engine.
func (m *machine) answer(r *Request, status int) {
	r.Step(&Event{Kind: EventResponse, Now: m.now, Status: status})
	r.Step(&Event{Kind: EventDone, Now: m.now})
}

// trip opens the breaker of every engine that serves "m".
func (m *machine) trip() {
	for range m.Fleet.Serving("m") {
		for range breaker.DefaultThreshold {
			m.answer(m.routed(), 500)
		}
	}
}

// inflight is the number of requests in flight to all engines of "m".
func (m *machine) inflight() (n uint64) {
	for _, w := range m.Fleet.Serving("m") {
		n += m.Fleet.Inflight(w)
	}
	return n
}

func kinds(effects []Effect) (list []EffectKind) {
	for _, e := range effects {
		list = append(list, e.Kind)
	}
	return list
}

// refusal is the one answer among the effects; it is checked to be a whole envelope.
func refusal(t tester, effects []Effect) (Code, string) {
	t.Helper()
	var response *Response
	for i := range effects {
		if effects[i].Kind == EffectRespond {
			require.Nil(t, response, "one answer only")
			response = &effects[i].Response
		}
		require.NotContains(t, []EffectKind{EffectRoute, EffectContinue, EffectPause}, effects[i].Kind)
	}
	require.NotNil(t, response, "no answer among %v", kinds(effects))
	require.Equal(t, EffectReceipt, effects[len(effects)-1].Kind)
	require.Equal(t, response.Code.Status(), response.Status)
	require.Equal(t, response.Status == 503, response.RetryAfter)
	var body struct {
		Error struct{ Type, Code, Message string }
	}
	decoder := json.NewDecoder(strings.NewReader(string(response.Body)))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&body), "%s", response.Body)
	require.False(t, decoder.More())
	require.Equal(t, response.Code.String(), body.Error.Code)
	kind := "invalid_request_error"
	if response.Status >= 500 {
		kind = "server_error"
	}
	require.Equal(t, kind, body.Error.Type)
	require.NotEmpty(t, body.Error.Message)
	return response.Code, body.Error.Message
}
