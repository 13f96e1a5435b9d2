package engineapi_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pointsman/pointsman/statesvc/engineapi"
	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/stretchr/testify/require"
)

// recordedReply is what a recorded vLLM answered to a GET of a path.
func recordedReply(t *testing.T, run, path string) string {
	t.Helper()
	f, err := os.Open("../../e2e/testdata/engines/" + run + "/requests.jsonl")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var r struct {
			Path string `json:"path"`
			Body string `json:"resp_body"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &r))
		if r.Path == path {
			return r.Body
		}
	}
	require.Fail(t, "not recorded")
	return ""
}

func TestClient_Sources(t *testing.T) {
	const sglang = `{"dp_size":2,"kv_events":{"publisher":"zmq","endpoint_host":"0.0.0.0","endpoint_port_base":5557,"topic":"kv","block_size":16,"dp_size":2,
		"load_endpoint_port_base":5600,"load_topic":"load","replay_endpoint_port_base":5657}}`
	for name, c := range map[string]struct {
		answers map[string]string
		want    engineapi.Sources
		fails   bool
	}{
		"SGLang": {map[string]string{"/server_info": sglang}, engineapi.Sources{
			Events: []engineapi.Source{{Rank: 0, Port: 5557, Replay: 5657, Topic: "kv"}, {Rank: 1, Port: 5558, Replay: 5658, Topic: "kv"}},
			Load:   []engineapi.Source{{Rank: 0, Port: 5600, Topic: "load"}, {Rank: 1, Port: 5601, Topic: "load"}},
		}, false},
		"SGLang, half a load descriptor, a host of its own, ports at the end": {map[string]string{"/server_info": `{"kv_events":{"publisher":"zmq","endpoint_host":"10.1.2.3","endpoint_port_base":65535,"dp_size":3,"load_topic":"load"}}`}, engineapi.Sources{
			Events: []engineapi.Source{{Rank: 0, Host: "10.1.2.3", Port: 65535}},
		}, false},
		"SGLang without events": {map[string]string{"/server_info": `{"kv_events":null}`}, engineapi.Sources{}, false},
		"vLLM, two ranks": {map[string]string{"/kv_event_sources": recordedReply(t, "vllm-0.32.0/dp2-bs16", "/kv_event_sources")}, engineapi.Sources{
			Events: []engineapi.Source{
				{Rank: 0, Port: 15557, Replay: 15657, Topic: "kv-events"},
				{Rank: 1, Port: 15558, Replay: 15658, Topic: "kv-events"},
			},
		}, false},
		"vLLM in development mode": {map[string]string{"/server_info": `{"vllm_config":{}}`, "/kv_event_sources": `{"0":{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://h:1","replay_endpoint":null,"topic":""}}`}, engineapi.Sources{
			Events: []engineapi.Source{{Host: "h", Port: 1}},
		}, false},
		"vLLM, off":       {map[string]string{"/kv_event_sources": `{"0":{"enable_kv_cache_events":false}}`}, engineapi.Sources{}, false},
		"neither page":    {map[string]string{}, engineapi.Sources{}, false},
		"trouble":         {map[string]string{"/server_info": "status 500"}, engineapi.Sources{}, true},
		"later trouble":   {map[string]string{"/kv_event_sources": "status 500"}, engineapi.Sources{}, true},
		"ipc":             {map[string]string{"/kv_event_sources": `{"0":{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"ipc:///x"}}`}, engineapi.Sources{}, true},
		"rank no number":  {map[string]string{"/kv_event_sources": `{"x":{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:1"}}`}, engineapi.Sources{}, true},
		"ranks for ever":  {map[string]string{"/kv_event_sources": `{"9999":{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:1"}}`}, engineapi.Sources{}, true},
		"port for no one": {map[string]string{"/kv_event_sources": `{"0":{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:0"}}`}, engineapi.Sources{}, true},
		"many ranks":      {map[string]string{"/server_info": `{"kv_events":{"publisher":"null","endpoint_port_base":1,"dp_size":2000000000}}`}, engineapi.Sources{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serve(t, c.answers).Sources(t.Context(), time.Second, 1)
			require.Equal(t, c.fails, err != nil, "%v", err)
			require.Empty(t, cmp.Diff(c.want, got))
		})
	}
}

func TestSource_Endpoint(t *testing.T) {
	s := engineapi.Source{Port: 5557}
	require.Equal(t, "tcp://10.0.0.1:5557", s.Endpoint("10.0.0.1"))
	require.Equal(t, "tcp://[::1]:5557", s.Endpoint("::1"))
	require.Empty(t, s.ReplayEndpoint("h"))
	s = engineapi.Source{Host: "pub", Port: 1, Replay: 2}
	require.Equal(t, "tcp://pub:2", s.ReplayEndpoint("h"))
}

func TestClient_Loads(t *testing.T) {
	shapes, err := os.ReadFile("../../e2e/testdata/engines/sglang-0.5.23/http_shapes.json")
	require.NoError(t, err)
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(shapes, &all))
	c := serve(t, map[string]string{"/v1/loads": `{"loads":[` + string(all["v1_loads_entry_core"]) + `,{"dp_rank":1,"num_running_reqs":1,"num_waiting_reqs":0,"num_used_tokens":5}]}`})
	got, err := c.Loads(t.Context())
	require.NoError(t, err)
	require.Equal(t, []engine.LoadStat{
		{
			Running: 3, Waiting: 2, KVUsed: 2048, KVCapacity: 65536, RankKnown: true, HasNative: true,
			Native: engine.NativeLoad{WaitingUncached: 512, KVTotal: 2560, MaxRunning: 128, PrefillTokens: 9000, PrefillMicros: 123456},
		},
		{Running: 1, KVUsed: 5, Rank: 1, RankKnown: true},
	}, got)
	for _, bad := range []string{`{}`, `{"loads":[]}`, `{"loads":[{"dp_rank":0}]}`, `{"loads":[{"num_running_reqs":-1}]}`, "status 404", "x"} {
		_, err := serve(t, map[string]string{"/v1/loads": bad}).Loads(t.Context())
		require.Error(t, err, bad)
	}
}
