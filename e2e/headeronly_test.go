package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

const twoModels = `{
	"m": {"buckets": [{"id": "short", "limits": {"max": 200}, "groups": {"plain": {"worker_ids": ["engine-0"], "policy": {"type": "round_robin"}}}},
	                  {"id": "long", "groups": {"plain": {"worker_ids": ["engine-1"], "policy": {"type": "round_robin"}}}}]},
	"other": {"buckets": [{"id": "all", "groups": {"plain": {"policy": {"type": "round_robin"}}}}]}
}`

func twoModelEngines() []fakes.Config {
	return fakes.Replicate(fakes.Config{Models: []string{"m", "other"}, MaxModelLen: 1 << 20}, 2)
}

// A host without the header-pause flag never shows a body. The filter finds out
// within a tick or two and decides from headers from then on; nothing hangs.
func TestHeaderOnly_when_the_host_hides_bodies(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: twoModelEngines(), filter: twoModels, noHeaderPause: true})
			named := jsonHeader()
			named.Set("X-Pointsman-Model", "m")
			send := func(header http.Header, promptBytes int) answer {
				return r.do(http.MethodPost, "/v1/chat/completions", header, strings.NewReader(chatBody("m", promptBytes)))
			}
			require.Equal(t, "engine-0", send(named, 100).engine())
			require.Equal(t, "engine-0", send(named, 100).engine())
			require.Equal(t, "engine-1", send(named, 4000).engine())
			r.requireRefused(send(jsonHeader(), 100), 400, "bad_request")
			unknown := jsonHeader()
			unknown.Set("X-Pointsman-Model", "nobody")
			r.requireRefused(send(unknown, 100), 404, "model_not_found")
			require.Equal(t, 1, strings.Count(r.log(), "routing by headers only"))
			for _, e := range r.fleet.Engines() {
				for _, request := range e.Requests() {
					require.Empty(t, request.Header.Get("X-Pointsman-Model"))
				}
			}
		})
	}
}

// With the flag on, a client that takes ten seconds for its body is routed by
// that body, and the context goes on reading bodies.
func TestHeaderOnly_is_not_latched_by_a_slow_client(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: twoModelEngines(), filter: twoModels})
			body := chatBody("m", 4000)
			a := r.slowly(body, 10, time.Second)
			require.Equal(t, http.StatusOK, a.status, "%s\n%s", a.body, r.log())
			require.Equal(t, "engine-1", a.engine())
			require.Equal(t, "engine-0", r.chat("m", 100).engine(), "read from the body: no header names the model")
			require.NotContains(t, r.log(), "routing by headers only")
		})
	}
}

// A client that never finishes its body is answered when its time is over.
func TestHeaderOnly_body_time_out(t *testing.T) {
	for _, h := range oneOfEach() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, h, setup{engines: twoModelEngines(), filter: twoModels, extra: `"body_timeout_ms":300,`})
			reader, writer := io.Pipe()
			defer writer.Close()
			go func() { _, _ = writer.Write([]byte(`{"model":"m",`)) }()
			a := r.do(http.MethodPost, "/v1/chat/completions", jsonHeader(), reader)
			r.requireRefused(a, 408, "body_timeout")
			require.Equal(t, http.StatusOK, r.chat("m", 100).status)
		})
	}
}

// slowly sends a body in parts with a pause before each. The pauses are what is
// tested, not a way to wait for something.
func (r *rig) slowly(body string, parts int, pause time.Duration) answer {
	r.t.Helper()
	reader, writer := io.Pipe()
	go func() {
		defer writer.Close()
		for i := range parts {
			time.Sleep(pause)
			_, _ = io.WriteString(writer, body[i*len(body)/parts:(i+1)*len(body)/parts])
		}
	}()
	req, err := http.NewRequest(http.MethodPost, r.url+"/v1/chat/completions", reader)
	require.NoError(r.t, err)
	req.ContentLength = int64(len(body))
	req.Header = jsonHeader()
	return r.send(req)
}
