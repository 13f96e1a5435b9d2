package config_test

import (
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/stretchr/testify/require"
)

func TestParse_remoteProblems(t *testing.T) {
	for name, c := range map[string]struct{ yaml, says string }{
		"no scheme":        {"kv: {remote: {endpoints: ['10.0.0.5:50051']}}", `kv.remote.endpoints[0]: "10.0.0.5:50051" is not an endpoint; write http://host:port`},
		"another scheme":   {"kv: {remote: {endpoints: ['grpc://h:1']}}", "kv.remote.endpoints[0]: \"grpc://h:1\" has no scheme that is known"},
		"no host":          {"kv: {remote: {endpoints: ['http://:50051']}}", "write http://host:port without a path"},
		"a path":           {"kv: {remote: {endpoints: ['http://h:1/kv']}}", "write http://host:port without a path"},
		"port 0":           {"kv: {remote: {endpoints: ['http://h:0']}}", "has no port from 1 to 65535"},
		"credentials":      {"kv: {remote: {endpoints: ['http://u:p@h:1']}}", "is not an endpoint"},
		"relative socket":  {"kv: {remote: {endpoints: ['unix://run/x']}}", "has no absolute path; write unix:///path"},
		"twice":            {"kv: {remote: {endpoints: ['http://h:1', 'http://h:1/']}}", `kv.remote.endpoints[1]: "http://h:1/" is also kv.remote.endpoints[0]`},
		"itself":           {"kv: {remote: {endpoints: ['http://127.0.0.1:50051']}}\nindexer: {listen: '127.0.0.1:50051'}", "is indexer.listen of this service"},
		"one text":         {"kv: {remote: {endpoints: 'http://h:1'}}", "kv.remote.endpoints: want a list"},
		"no time":          {"kv: {remote: {endpoints: ['http://h:1'], timeout_ms: 0}}", "kv.remote.timeout_ms: 0 is out of range; write 1 to 10000 milliseconds"},
		"no places":        {"kv: {remote: {endpoints: ['http://h:1'], max_inflight: 0}}", "kv.remote.max_inflight: 0 is out of range"},
		"bigram alone":     {"kv: {remote: {endpoints: ['http://h:1'], bigram: true}}", "kv.remote.bigram: goes with kv.remote.block_size"},
		"time unused":      {"kv: {remote: {timeout_ms: 50}}", "kv.remote.timeout_ms: has no effect without kv.remote.endpoints"},
		"places unused":    {"kv: {remote: {max_inflight: 5}}", "kv.remote.max_inflight: has no effect"},
		"size unused":      {"kv: {remote: {block_size: 16}}", "kv.remote.block_size: has no effect"},
		"misspelt":         {"kv: {remote: {endpoint: x}}", "kv.remote.endpoint: unknown key; did you mean endpoints?"},
		"listen":           {"indexer: {listen: '50051'}", `indexer.listen: "50051" is not host:port; write for example 127.0.0.1:50051`},
		"the same port":    {"indexer: {listen: '127.0.0.1:9090'}", `indexer.listen: "127.0.0.1:9090" is also listen`},
		"nothing to serve": {"kv: {enabled: false}\nindexer: {listen: '127.0.0.1:50051'}", "indexer.listen: answers from the index of KV events, and kv.enabled is false"},
		"no connections":   {"indexer: {max_connections: 0}", "indexer.max_connections: 0 is out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse([]byte("version: 1\n"+c.yaml+"\n"), func(string) string { return "" })
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestParseIndexerEndpoint(t *testing.T) {
	for endpoint, want := range map[string]config.IndexerEndpoint{
		"http://10.0.0.5:50051":   {Target: "dns:///10.0.0.5:50051"},
		"http://kv.prod.svc":      {Target: "dns:///kv.prod.svc:80"},
		"https://kv.prod.svc/":    {Target: "dns:///kv.prod.svc:443", TLS: true},
		"http://[::1]:50051":      {Target: "dns:///[::1]:50051"},
		"unix:///run/kv/api.sock": {Target: "unix:///run/kv/api.sock"},
	} {
		got, err := config.ParseIndexerEndpoint(endpoint)
		require.NoError(t, err, endpoint)
		require.Equal(t, want, got, endpoint)
	}
}
