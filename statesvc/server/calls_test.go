package server_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/affinity"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/server"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// counted waits until the state service's metrics show a value: a call is counted
// about when it is answered.
func (s *stage) counted(t *testing.T, family, outcome string, want int) {
	t.Helper()
	line := fmt.Sprintf("pointsman_state_%s{outcome=%q} %d\n", family, outcome, want)
	s.eventually(t, func() bool { return strings.Contains(s.do(t, "GET", "/metrics", nil).body, line) }, line)
}

// call sends an observe with a body.
func (s *stage) call(t *testing.T, r *wirepb.ObserveRequest, body string) answer {
	t.Helper()
	return s.do(t, "POST", wire.ObservePath, []byte(body), wire.ObserveHeader, base64.RawURLEncoding.EncodeToString(marshal(t, r)))
}

func observed(t *testing.T, a answer) *wirepb.ObserveReply {
	t.Helper()
	require.Equal(t, http.StatusOK, a.status, a.body)
	reply := &wirepb.ObserveReply{}
	require.NoError(t, proto.Unmarshal([]byte(a.body), reply))
	return reply
}

// reader is a Prompts that counts bytes as tokens, once it is let.
type reader struct {
	let   chan struct{}
	looks atomic.Int32
}

func (r *reader) Look(ctx context.Context, q *server.PromptQuery) (*server.PromptAnswer, error) {
	r.looks.Add(1)
	switch string(q.Body) {
	case "panic":
		panic("a prompt that nobody thought of")
	case "nothing":
		return nil, nil
	case "error":
		return nil, errors.New("broken")
	}
	select {
	case <-r.let:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a := &server.PromptAnswer{Tokens: new(uint64(len(q.Body)))}
	for _, name := range q.Sources {
		a.Lookups = append(a.Lookups, &wirepb.Lookup{Source: name, Outcome: wirepb.LookupOutcome_LOOKUP_MISS})
	}
	if q.InputIDs > 0 && q.Model != "idless" {
		a.InputIDs = &wirepb.InputIDs{Verdict: wirepb.InputIDsVerdict_INPUT_IDS_GIVEN, Ids: []uint32{q.InputIDs}}
	}
	return a, nil
}

func newReader(t *testing.T, change func(*config.Config)) (*stage, *reader) {
	t.Helper()
	r := &reader{let: make(chan struct{})}
	return newStageWith(t, change, func(o *server.Options) { o.Prompts = r }), r
}

func asks() *wirepb.ObserveRequest {
	return &wirepb.ObserveRequest{Context: 1, Model: "m", Asked: "m", Path: "/v1/chat/completions", TimeoutMs: 10_000, Tokens: true, Sources: []string{"local"}}
}

// Whatever the sessions of the callers, one prompt is looked at once; whoever asks
// something else is not mixed up with them.
func TestServer_identicalPromptsAreLookedAtOnce(t *testing.T) {
	const callers = 32
	s, r := newReader(t, func(c *config.Config) { c.Limits.MaxConcurrent, c.Limits.MaxConnections = 64, 256 })
	others := []func(*wirepb.ObserveRequest){
		func(r *wirepb.ObserveRequest) { r.Model = "n" },
		func(r *wirepb.ObserveRequest) { r.Asked = "adapter" },
		func(r *wirepb.ObserveRequest) { r.Path = "/v1/completions" },
		func(r *wirepb.ObserveRequest) { r.Tokens = false },
		func(r *wirepb.ObserveRequest) { r.InputIds = 100 },
		func(r *wirepb.ObserveRequest) { r.InputIds = 200 },
		func(r *wirepb.ObserveRequest) { r.Sources = []string{"local", "remote"} },
		func(r *wirepb.ObserveRequest) { r.Model, r.Asked = "mm", "" },
	}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			request := asks()
			request.Context, request.Scopes = uint64(i+1), []*wirepb.Scope{scope(fmt.Sprint(i))}
			reply := observed(t, s.call(t, request, "one prompt"))
			require.EqualValues(t, len("one prompt"), reply.GetTokens())
			require.Len(t, reply.GetLookups(), 1)
			require.Equal(t, map[string]string{fmt.Sprint(i): "none"}, bound(reply.GetBindings()))
		})
	}
	for _, change := range others {
		wg.Go(func() {
			request := asks()
			change(request)
			require.Len(t, observed(t, s.call(t, request, "one prompt")).GetLookups(), len(request.GetSources()))
		})
	}
	wg.Go(func() { require.EqualValues(t, 5, observed(t, s.call(t, asks(), "other")).GetTokens()) })
	s.eventually(t, func() bool { return s.Waiting() == callers+len(others)+1 }, "all calls wait")
	close(r.let)
	wg.Wait()
	require.EqualValues(t, 1+len(others)+1, r.looks.Load())
	s.counted(t, "observed_prompts_total", "joined", callers-1)
	s.counted(t, "observed_prompts_total", "computed", 1+len(others)+1)
	s.counted(t, "observes_total", "answered", callers+len(others)+1)
}

// A prompt that takes too long costs the answer about the prompt, not the bindings.
func TestServer_aLatePromptLeavesTheBindings(t *testing.T) {
	s, _ := newReader(t, nil)
	request := asks()
	request.TimeoutMs, request.Scopes = 300, []*wirepb.Scope{scope("x")}
	reply := observed(t, s.call(t, request, "slow"))
	require.Nil(t, reply.Tokens)
	require.Empty(t, reply.GetLookups())
	require.Equal(t, map[string]string{"x": "none"}, bound(reply.GetBindings()))
	s.counted(t, "observed_prompts_total", "late", 1)
}

// Neither an error nor a panic over one prompt takes the call, the connection or
// the service down.
func TestServer_aPromptThatFailsIsUnavailable(t *testing.T) {
	s, _ := newReader(t, nil)
	for i, body := range []string{"error", "nothing", "panic"} {
		request := asks()
		request.Scopes = []*wirepb.Scope{scope("x")}
		reply := observed(t, s.call(t, request, body))
		require.Nil(t, reply.Tokens)
		require.Len(t, reply.GetBindings(), 1)
		s.counted(t, "observed_prompts_total", "failed", i+1)
		s.counted(t, "observes_total", "incomplete", i+1)
	}
}

// stubborn is a Prompts that goes on when nobody waits any more.
type stubborn struct{ let chan struct{} }

func (s stubborn) Look(context.Context, *server.PromptQuery) (*server.PromptAnswer, error) {
	<-s.let
	return &server.PromptAnswer{}, nil
}

// Callers that do not wait cannot pile up work behind their backs.
func TestServer_looksThatGoOnAreBounded(t *testing.T) {
	p := stubborn{make(chan struct{})}
	s := newStageWith(t, func(c *config.Config) { c.Limits.MaxConcurrent = 1 }, func(o *server.Options) { o.Prompts = p })
	defer close(p.let)
	hasty := asks()
	hasty.TimeoutMs = 20
	observed(t, s.call(t, hasty, "first"))
	s.counted(t, "observed_prompts_total", "late", 1)
	observed(t, s.call(t, asks(), "second"))
	s.counted(t, "observed_prompts_total", "overloaded", 1)
}

func TestServer_observedBodiesAreBounded(t *testing.T) {
	s, r := newReader(t, nil)
	close(r.let)
	at := strings.Repeat("x", int(small.MaxObserveBodyBytes))
	require.EqualValues(t, len(at), observed(t, s.call(t, asks(), at)).GetTokens())
	requireEnvelope(t, s.call(t, asks(), at+"x"), 413, "payload_too_large")
	s.counted(t, "observes_total", "refused", 1)

	// Nobody reads the body of one that asks nothing about it.
	require.Empty(t, observed(t, s.call(t, &wirepb.ObserveRequest{Context: 1}, at+"x")).GetLookups())
	require.EqualValues(t, 1, r.looks.Load())
}

func TestServer_withoutPromptsTheyAreUnavailable(t *testing.T) {
	s := newStage(t, nil)
	reply := observed(t, s.call(t, asks(), "hello"))
	require.Nil(t, reply.Tokens)
	require.True(t, reply.GetUncounted(), "so that the context does not ask in vain")
	s.counted(t, "observed_prompts_total", "unasked", 1)
	s.counted(t, "observes_total", "incomplete", 1)
}

// Ids come with an answer to who asks for them, within the number that was asked for; an
// answer without them is not whole, and a service that cannot tell them says so.
func TestServer_inputIDs(t *testing.T) {
	s, r := newReader(t, nil)
	close(r.let)
	require.Nil(t, observed(t, s.call(t, asks(), "hello")).GetInputIds())
	request := asks()
	request.InputIds = 7
	require.Equal(t, []uint32{7}, observed(t, s.call(t, request, "hello")).GetInputIds().GetIds())
	s.counted(t, "observes_total", "answered", 2)
	request.Model = "idless"
	require.Nil(t, observed(t, s.call(t, request, "hello")).GetInputIds())
	s.counted(t, "observes_total", "incomplete", 1)

	request = &wirepb.ObserveRequest{Context: 1, Model: "m", Path: "/v1/chat/completions", TimeoutMs: 10_000, InputIds: 7}
	require.True(t, observed(t, newStage(t, nil).call(t, request, "hello")).GetUncounted(), "so that the context does not ask in vain")
}

// stuck is a store that answers when its caller has given up.
type stuck struct{ affinity.Store }

func (stuck) Bound(ctx context.Context, _ core.Instant, _ []affinity.Digest) ([]core.WorkerID, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (stuck) Bind(ctx context.Context, _ core.Instant, _ []affinity.Proposal) ([]core.WorkerID, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// The service works on a call no longer than its caller waits.
func TestServer_callersDeadlinesEndCalls(t *testing.T) {
	s := newStageWith(t, nil, func(o *server.Options) { o.Bindings = stuck{} })
	request := &wirepb.ObserveRequest{Context: 1, TimeoutMs: 20, Scopes: []*wirepb.Scope{scope("x")}}
	require.Empty(t, observed(t, s.call(t, request, "")).GetBindings())
	s.counted(t, "observes_total", "late", 1)
	s.counted(t, "observed_scopes_total", "unavailable", 1)
	body := marshal(t, &wirepb.BindRequest{Context: 1, TimeoutMs: 20, Proposals: []*wirepb.Proposal{{Scope: scope("x"), Worker: "a"}}})
	requireEnvelope(t, s.do(t, "POST", wire.BindPath, body, contentType, protobuf), 503, "bindings_unavailable")
	s.counted(t, "binds_total", "late", 1)
	s.counted(t, "proposals_total", "unavailable", 1)
}

// When every slot is taken a call is refused at once, whatever it would have
// waited, and one that comes later is served.
func TestServer_callsAreRefusedEarly(t *testing.T) {
	s, r := newReader(t, func(c *config.Config) { c.Limits.MaxConcurrent = 2 })
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { observed(t, s.call(t, asks(), fmt.Sprint(i))) })
	}
	s.eventually(t, func() bool { return r.looks.Load() == 2 }, "both slots are taken")
	requireEnvelope(t, s.call(t, asks(), "third"), 503, "overloaded")
	requireEnvelope(t, s.do(t, "POST", wire.BindPath, nil, contentType, protobuf), 503, "overloaded")
	close(r.let)
	wg.Wait()
	observed(t, s.call(t, asks(), "fourth"))
	s.counted(t, "observes_total", "overloaded", 1)
	s.counted(t, "binds_total", "overloaded", 1)
}

func TestServer_countsWhatBecomesOfCalls(t *testing.T) {
	s := newStageWith(t, nil, func(o *server.Options) {
		o.Bindings = affinity.NewMemory(affinity.Limits{Bindings: 1, Bytes: 1 << 20})
	})
	s.bind(t, &wirepb.Proposal{Scope: scope("x"), Worker: "a"}, &wirepb.Proposal{Scope: scope("x"), Worker: "<script>b"}, &wirepb.Proposal{Scope: scope("x"), Worker: "made up"})
	s.observe(t, scope("x"), scope("y"))
	s.do(t, "POST", wire.BindPath, []byte("garbage"), contentType, protobuf)
	s.do(t, "POST", wire.ObservePath, nil)
	for _, c := range []struct {
		family, outcome string
		want            int
	}{
		{"binds_total", "answered", 1},
		{"binds_total", "refused", 1},
		{"proposals_total", "won", 1},
		{"proposals_total", "lost", 1},
		{"proposals_total", "unknown_worker", 1},
		{"observed_scopes_total", "bound", 1},
		{"observed_scopes_total", "none", 1},
		{"observes_total", "refused", 1},
	} {
		s.counted(t, c.family, c.outcome, c.want)
	}
	full := newStageWith(t, nil, func(o *server.Options) { o.Bindings = affinity.NewMemory(affinity.Limits{}) })
	require.Empty(t, full.bind(t, &wirepb.Proposal{Scope: scope("x"), Worker: "a"}))
	full.counted(t, "proposals_total", "no_room", 1)
}
