package hostsim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
)

const (
	notFound    = "error: error status returned by host: not found"
	badArgument = "error: error status returned by host: bad argument"
)

func TestBuffers_copyFromRules(t *testing.T) {
	tests := []struct{ splice, want, status string }{
		{"0,0,NEW", "NEWabcdef", "0"},
		{"0,2,NEW", "NEWcdef", "0"},
		{"0,6,NEW", "NEW", "0"},
		{"0,2147483647,NEW", "NEW", "0"},
		{"0,3,", "def", "0"},
		{"6,0,NEW", "abcdefNEW", "0"},
		{"2147483647,0,NEW", "abcdefNEW", "0"},
		{"3,1,NEW", "abcdef", "2"},
		{"1,0,NEW", "abcdef", "2"},
	}
	for _, tt := range tests {
		b := newBench(t, nil)
		s, rec := b.start("headers:pause body:pause end:splice:"+tt.splice, false)
		s.RequestData([]byte("abc"), false)
		s.RequestData([]byte("def"), true)
		require.Equal(t, tt.want, string(rec.Request().Body), tt.splice)
		require.Contains(t, b.logs, "splice -> "+tt.status)
	}
}

func TestBuffers_partialReads(t *testing.T) {
	tests := map[string]string{
		"0,3": "abc", "2,3": "cde", "4,100": "ef", "6,1": notFound, "9,1": notFound, "0,0": notFound,
	}
	for window, want := range tests {
		b := newBench(t, nil)
		s, _ := b.start("headers:pause body:pause end:read:"+window, false)
		s.RequestData([]byte("abc"), false)
		s.RequestData([]byte("def"), true)
		// The SDK turns an empty answer, which is OK with size 0, into "not found".
		require.Contains(t, b.logs, "read -> "+want)
	}
}

func TestBuffers_emptyIsOK(t *testing.T) {
	b := newBench(t, nil)
	s, _ := b.start("headers:pause end:read:0,10", false)
	b.trace.Reset()
	s.RequestData(nil, true)
	for _, c := range b.trace.Calls() {
		if c.Name == "proxy_get_buffer_bytes" {
			require.Zero(t, c.Result)
			return
		}
	}
	t.Fatal("the guest did not read")
}

func TestBuffers_frontSpliceMovesOnlyTheEdit(t *testing.T) {
	b := newBench(t, func(o *hostsim.VMOptions) { o.BodyLimit = 40 << 20 })
	s, rec := b.start("headers:pause body:pause end:splice:0,1,{key,", false)
	s.RequestData(append([]byte("{"), make([]byte, 32<<20)...), false)
	b.trace.Reset()
	s.RequestData([]byte("}"), true)
	moved := 0
	for _, c := range b.trace.Calls() {
		moved += c.ToGuest + c.FromGuest
	}
	require.Less(t, moved, 200)
	require.Len(t, rec.Request().Body, 32<<20+1+len("{key,"))
}

func TestHeaders_values(t *testing.T) {
	b := newBench(t, nil)
	_, rec := b.start("headers:get:X-Two headers:get:x-none headers:set:X-Two=c headers:get:x-two headers:del:X-GONE "+
		"headers:get:x-gone headers:add:x-new=1", true,
		[2]string{"X-Two", "a"}, [2]string{"x-two", "b"}, [2]string{"x-gone", "1"})
	require.Equal(t, []string{
		"get X-Two -> a", "get x-none -> " + notFound, "get x-two -> c", "get x-gone -> " + notFound,
	}, b.logs[1:])
	require.Equal(t, [][2]string{{"x-two", "c"}, {"x-new", "1"}}, rec.Request().Headers.Pairs()[4:])
}

func TestHeaders_pairsAreCapped(t *testing.T) {
	many := func(n int) [][2]string {
		var more [][2]string
		for i := range n {
			more = append(more, [2]string{fmt.Sprintf("x-%d", i), "v"})
		}
		return more
	}
	tests := []struct {
		more [][2]string
		want string
	}{
		{many(1020), "pairs -> 1024"},
		{many(1021), "pairs -> error: error status returned by host: internal failure"},
		{[][2]string{{"x-big", strings.Repeat("v", 1<<20)}}, "pairs -> error: error status returned by host: internal failure"},
	}
	for _, tt := range tests {
		b := newBench(t, nil)
		_, rec := b.start("headers:pairs: headers:get:x-do", true, tt.more...)
		require.Contains(t, b.logs, tt.want)
		require.Equal(t, len(tt.more)+4, rec.Request().Headers.Len(), "single values still work")
	}
}

func TestRouteCache_isClearedPerEdit(t *testing.T) {
	b := newBench(t, nil)
	s, _ := b.start("headers:set:a=1 headers:add:b=1 headers:del:a headers:foreign:clear_route_cache", true)
	require.Equal(t, 4, s.RouteClears())
}

func TestProperties(t *testing.T) {
	b := newBench(t, nil)
	s, _ := b.start("log:property:request.path log:property:request.method log:property:request.id "+
		"log:property:response.code_details log:number:response.code log:number:response.flags log:property:upstream.address "+
		"log:number:upstream.port log:number:upstream.request_attempt_count log:property:xds.cluster_name "+
		"log:property:source.address log:property:plugin_name log:property:plugin_vm_id log:property:plugin_root_id "+
		"log:number:request.size log:number:response.size log:number:request.duration log:property:request.headers.x-do2 "+
		"log:property:no.such log:property:request.url_path log:property:request.query headers:setproperty:llm=e1 "+
		"log:property:llm log:property:filter_state.wasm.llm", false,
		[2]string{"x-request-id", "r-1"}, [2]string{"x-do2", "h"})
	s.RequestData([]byte("12345"), true)
	s.UpstreamChosen("10.1.1.1:8000", 2)
	s.ResponseHeaders(ok200(), false)
	b.clock.Advance(5)
	b.takeLogs()
	s.ResponseData([]byte("123"), true)
	require.Equal(t, []string{
		"property request.path -> /v1/chat?x=1", "property request.method -> POST", "property request.id -> r-1",
		"property response.code_details -> via_upstream", "number response.code -> 200", "number response.flags -> 0",
		"property upstream.address -> 10.1.1.1:8000", "number upstream.port -> 8000",
		"number upstream.request_attempt_count -> 2", "property xds.cluster_name -> engines",
		"property source.address -> 10.0.0.1:4444", "property plugin_name -> steered", "property plugin_vm_id -> test",
		"property plugin_root_id -> " + notFound, "number request.size -> 5", "number response.size -> 3",
		"number request.duration -> 5", "property request.headers.x-do2 -> h", "property no.such -> " + notFound,
		"property request.url_path -> /v1/chat", "property request.query -> x=1", "property llm -> e1",
		"property filter_state.wasm.llm -> " + notFound,
	}, relaxEmpty(b.takeLogs()))
	state, ok := s.FilterState("wasm.llm")
	require.True(t, ok)
	require.Equal(t, "e1", string(state))
}

// relaxEmpty shows an empty property as the SDK's callers see it.
func relaxEmpty(logs []string) []string {
	for i, l := range logs {
		if strings.HasSuffix(l, " -> ") {
			logs[i] = l + notFound
		}
	}
	return logs
}

func TestForeignFunctions(t *testing.T) {
	b := newBench(t, nil)
	s, _ := b.start("headers:state:envoy.key=value headers:state:key=value headers:foreign:no_such=x headers:foreign:set_envoy_filter_state=zz", true)
	state, _ := s.FilterState("envoy.key")
	require.Equal(t, "value", string(state))
	require.Equal(t, []string{"state -> " + notFound, "foreign no_such -> " + notFound, "foreign set_envoy_filter_state -> " + badArgument}, b.logs[1:])
}

func TestMetrics(t *testing.T) {
	host := hostsim.NewHost()
	for range 2 {
		b := newBench(t, func(o *hostsim.VMOptions) { o.Host = host })
		b.start("headers:count:picks headers:gauge:open=3 headers:gauge:open=-1 headers:histogram:wait=7", true)
	}
	require.Equal(t, []hostsim.Metric{
		{Name: "wasmcustom.open", Type: hostsim.MetricGauge, Value: 4},
		{Name: "wasmcustom.picks", Type: hostsim.MetricCounter, Value: 2},
		{Name: "wasmcustom.wait", Type: hostsim.MetricHistogram, Value: 14, Records: 2},
	}, host.Metrics().Snapshot())
	value, ok := host.Metrics().Value("picks")
	require.True(t, ok)
	require.EqualValues(t, 2, value)
}

func TestSharedData_casRules(t *testing.T) {
	host := hostsim.NewHost()
	b := newBench(t, func(o *hostsim.VMOptions) { o.Host = host })
	b.start("headers:shared:k headers:share:k=one headers:shared:k headers:share:k=two headers:shared:k "+
		"headers:share:k@1=three headers:share:k@2=four headers:shared:k headers:share:new@77=x", true)
	require.Equal(t, []string{
		"shared k -> " + notFound, "shared k -> one@1", "shared k -> two@2",
		"share -> error: error status returned by host: cas mismatch", "shared k -> four@3",
	}, b.logs[1:])

	other := newBench(t, func(o *hostsim.VMOptions) { o.Host = host; o.VMID = "other" })
	other.start("headers:shared:k", true)
	require.Contains(t, other.logs, "shared k -> "+notFound)
	value, ok := host.SharedData("test", "k")
	require.True(t, ok)
	require.Equal(t, "four", string(value))
}

func TestSharedQueue_notifiesTheRegistrar(t *testing.T) {
	b := newBench(t, nil)
	b.start("headers:queue:events=hello", true)
	require.Contains(t, b.logs, "queue -> hello")
}

func TestClockAndRandomAndEnvironment(t *testing.T) {
	var seen [2]string
	for i := range seen {
		b := newBench(t, func(o *hostsim.VMOptions) {
			o.Random = strings.NewReader(strings.Repeat("seed", 1000))
			o.Env = map[string]string{"WHO": "me", "A": "b"}
		})
		b.start("headers:now: headers:random: headers:env:WHO headers:print:words", true)
		require.Contains(t, b.logs, "now -> 2026-01-02T03:04:05Z")
		require.Contains(t, b.logs, "env -> me")
		require.Contains(t, b.logs, "words")
		seen[i] = strings.Join(b.logs, "\n")
	}
	require.Equal(t, seen[0], seen[1])
}
