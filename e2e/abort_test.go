package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/e2e/envoytest"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
)

// Engines that only find out by /abort_request that a client has left.
var oblivious = fakes.Config{
	Models: []string{"m"}, Dialect: fakes.SGLang, KeepOrphans: true, Slots: 64, DecodePerToken: 10 * time.Millisecond,
}

const (
	abortExtra = `"abort":{"cluster":"engines"},`
	verbose    = `"model":"m","stream":true,"max_tokens":4000,"messages":[{"role":"user","content":"hello"}]}`
)

// leave begins a streamed answer and goes away in the middle of it.
func (r *rig) leave(body string) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/chat/completions", strings.NewReader(body))
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer of-the-client")
	resp, err := r.client.Do(req)
	require.NoError(r.t, err)
	defer resp.Body.Close()
	require.Equal(r.t, http.StatusOK, resp.StatusCode)
	lines := bufio.NewReader(resp.Body)
	for range 4 {
		_, err := lines.ReadString('\n')
		require.NoError(r.t, err)
	}
}

// rids are the names that engines were told requests by, in order, and those that
// they were told to abort.
func (r *rig) rids() (named, aborted []string) { return r.ridsOf("Bearer of-the-client") }

// ridsOf is rids of clients with an authorization.
func (r *rig) ridsOf(authorization string) (named, aborted []string) {
	for _, e := range r.fleet.Engines() {
		var own []string
		for _, record := range e.Requests() {
			own = append(own, gjson.GetBytes(record.Body, "rid").Str)
		}
		for _, a := range e.Aborts() {
			require.Contains(r.t, own, a.Rid, "told the engine that has it")
			require.Equal(r.t, authorization, a.Header.Get("authorization"))
			require.Empty(r.t, a.Header.Get("x-pointsman-endpoint"))
			aborted = append(aborted, a.Rid)
		}
		named = append(named, own...)
	}
	slices.Sort(named)
	slices.Sort(aborted)
	return named, aborted
}

func (r *rig) inEngines() (n int) {
	for _, e := range r.fleet.Engines() {
		n += e.Counters().InFlight
	}
	return n
}

// 50 clients leave in the middle of their answers: each engine is told of each of
// its requests, and gives their places free.
func TestAborts_reach_the_engines(t *testing.T) {
	for _, h := range hosts() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: fakes.Replicate(oblivious, 2), filter: anyModels, extra: abortExtra, concurrency: 2})
			r.awaitAborts()
			many(50, 10, func(int) string { r.leave("{" + verbose); return "" })
			r.eventually(func() bool { _, aborted := r.rids(); return len(aborted) == 50 }, "not every request is aborted")
			named, aborted := r.rids()
			require.Equal(t, named, aborted)
			require.Len(t, slices.Compact(aborted), 50)
			r.eventually(func() bool { return r.inEngines() == 0 }, "engines go on")
			r.awaitInflight(0)

			// What ends by itself is not aborted, and neither is an error.
			many(20, 4, func(int) string { return r.chat("m", 20).engine() })
			require.Equal(t, http.StatusBadRequest, r.post(`{"model":"m","messages":[]}`).status)
			// A client's own rid is the client's business.
			r.leave(`{"rid":"mine",` + verbose)
			r.leave(`{"n":2,` + verbose)
			r.awaitInflight(0)
			_, aborted = r.rids()
			require.Len(t, aborted, 50)
			require.Equal(t, 2, r.inEngines(), "nobody tells them")
			for _, e := range r.fleet.Engines() {
				for _, record := range e.Requests() {
					if body := string(record.Body); strings.Contains(body, "mine") || strings.Contains(body, `"n":2`) {
						require.Equal(t, 1, strings.Count(body, "rid")+strings.Count(body, `"n":2`), body)
					}
				}
			}
		})
	}
}

// awaitAborts waits until the filter knows that its engines can be told.
func (r *rig) awaitAborts() {
	r.t.Helper()
	r.eventually(func() bool {
		r.chat("m", 20)
		named, _ := r.rids()
		return len(named) > 0 && named[len(named)-1] != ""
	}, "no request is given a rid")
	r.awaitWorkers()
	r.eventually(func() bool { return r.inEngines() == 0 }, "engines are busy")
	for _, e := range r.fleet.Engines() {
		e.Reset()
	}
}

// A rid and sampling defaults go into one body, whose other bytes stay.
func TestAborts_rid_and_sampling_defaults(t *testing.T) {
	const models = `{"m": {"sampling": {"override": {"temperature": 0.6}},
		"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}}`
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{
				engines: fakes.Replicate(oblivious, 1), filter: models, extra: abortExtra + `"paths":["/v1/chat/completions","/v1/completions","/generate"],`,
			})
			r.awaitAborts()
			for i, sent := range []string{
				`{"model":"m","max_tokens":2, "messages":[{"role":"user","content":"h\u00e9llo"}] }`,
				`{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 200_000) + `"}]}`,
				`{"model":"m","rid":null,"max_tokens":2,"messages":[{"role":"user","content":"x"}]}`,
			} {
				r.engine(0).Reset()
				r.post(sent)
				record := r.engine(0).Requests()[0]
				rid := gjson.GetBytes(record.Body, `rid`).Str
				head, tail := fmt.Sprintf(`{"rid":%q,`, rid), `,"temperature":0.6}`
				switch i {
				case 0:
					require.Equal(t, head+sent[1:len(sent)-1]+tail, string(record.Body))
				case 1:
					require.EqualValues(t, len(head)-1+len(sent)-1+len(tail), record.BodyLength)
					require.Equal(t, head+sent[1:1000], string(record.Body[:len(head)+999]))
				case 2: // of two the last counts
					require.Equal(t, sent[:len(sent)-1], string(record.Body[:len(sent)-1]))
					require.Regexp(t, `^,"rid":"[0-9a-f]{32}","temperature":0.6}$`, string(record.Body[len(sent)-1:]))
				}
			}
		})
	}
}

// An engine that breaks off in the middle of an answer, and one that the host gives
// up on, are told as well: they may be at work for nobody.
func TestAborts_after_trouble(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := setup{engines: fakes.Replicate(oblivious, 1), filter: anyModels, extra: abortExtra}
			r := newRig(t, h, s)
			r.awaitAborts()
			engine := r.engine(0)

			engine.CutMidStream(6)
			resp, err := r.client.Post(r.url+"/v1/chat/completions", "application/json", strings.NewReader("{"+verbose))
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, resp.Body)
			require.Error(t, err)
			require.NoError(t, resp.Body.Close())
			r.eventually(func() bool { return len(engine.Aborts()) == 1 }, "a cut is not told")
			require.NoError(t, engine.Heal())
			engine.Reset()
			if h.version == "" {
				return // hostsim has no time-out of its own
			}
			r.envoy = envoys.Lend(t, envoytest.Options{
				Version: h.version, Bootstrap: h.bootstrap, Module: module.Module(t), State: r.state.addr, Engines: r.fleet.Addrs(),
				Filter:  []byte(`{"version":1,` + s.extra + `"state":{"cluster":"pointsman_state"},"models":` + s.filter + `}`),
				Manager: map[string]any{"stream_idle_timeout": "1s"},
			})
			r.url, r.log = r.envoy.URL(), r.envoy.Log
			r.awaitAborts()
			engine.SlowBy(1e6)
			require.Contains(t, []int{http.StatusRequestTimeout, http.StatusGatewayTimeout}, r.chat("m", 20).status)
			r.eventually(func() bool { return len(engine.Aborts()) == 1 }, "a time-out is not told")
			_, aborted := r.ridsOf("")
			require.Len(t, aborted, 1)
		})
	}
}
