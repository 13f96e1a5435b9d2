package engineapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/statesvc/engineapi"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs an engine that answers the paths with the given bodies; a number
// is a status.
func serve(t *testing.T, answers map[string]string) *engineapi.Client {
	t.Helper()
	return client(t, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.Path]
		var status int
		if n, _ := fmt.Sscanf(body, "status %d", &status); n == 1 {
			w.WriteHeader(status)
			return
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(body))
	})))
}

func client(t *testing.T, s *httptest.Server) *engineapi.Client {
	t.Helper()
	address := netip.MustParseAddrPort(s.Listener.Addr().String())
	c := engineapi.New(engineapi.Options{
		BaseURL: "http://engine.example:80", HealthPath: "/health", MetricsPath: "/metrics", MaxMetricsBytes: 100,
		Address: func() netip.AddrPort { return address },
	})
	t.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return c
}

func TestClient_Describe(t *testing.T) {
	const models = `{"data":[{"id":"base","parent":null},{"id":"lora","parent":"base"},{"id":""},{"id":"base"}]}`
	cases := map[string]struct {
		answers map[string]string
		want    engineapi.Description
		noInfo  bool
	}{
		"vLLM": {
			answers: map[string]string{"/v1/models": models}, noInfo: true,
			want: engineapi.Description{Models: []string{"base"}, Adapters: []core.Adapter{{Name: "lora", Base: "base"}}},
		},
		"vLLM in dev mode says no role": {
			answers: map[string]string{"/v1/models": models, "/server_info": `{"vllm_config":{"model_config":{"served_model_name":"x"}}}`},
			want:    engineapi.Description{Models: []string{"base"}, Adapters: []core.Adapter{{Name: "lora", Base: "base"}}},
		},
		"SGLang prefill": {
			answers: map[string]string{"/server_info": `{"served_model_name":"m","disaggregation_mode":"prefill","disaggregation_bootstrap_port":8998,"dp_size":2}`},
			want:    engineapi.Description{Models: []string{"m"}, Stage: core.StagePrefill, BootstrapPort: 8998, Ranks: 2, Aborts: true, InputIDs: true},
		},
		"SGLang plain, old path": {
			answers: map[string]string{"/v1/models": models, "/get_server_info": `{"served_model_name":"m","disaggregation_mode":"null","dp_size":1}`},
			want:    engineapi.Description{Models: []string{"base"}, Adapters: []core.Adapter{{Name: "lora", Base: "base"}}, Stage: core.StagePlain, Ranks: 1, Aborts: true, InputIDs: true},
		},
		"SGLang decode": {
			answers: map[string]string{"/v1/models": models, "/server_info": `{"disaggregation_mode":"decode","disaggregation_bootstrap_port":8998}`},
			want:    engineapi.Description{Models: []string{"base"}, Adapters: []core.Adapter{{Name: "lora", Base: "base"}}, Stage: core.StageDecode, Aborts: true, InputIDs: true},
		},
		"an unknown mode says nothing": {
			answers: map[string]string{"/server_info": `{"served_model_name":"m","disaggregation_mode":"sideways"}`},
			want:    engineapi.Description{Models: []string{"m"}, Aborts: true, InputIDs: true},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := serve(t, c.answers).Describe(t.Context(), 5*time.Second, 1)
			require.Equal(t, c.noInfo, got.InfoErr != nil)
			require.NoError(t, got.ModelsErr)
			got.InfoErr = nil
			require.Equal(t, c.want, got)
		})
	}
}

func TestClient_Describe_triesAgainWhatMayPass(t *testing.T) {
	calls := map[string]int{}
	c := client(t, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls[r.URL.Path]++
		switch {
		case r.URL.Path != "/v1/models":
			http.NotFound(w, r)
		case calls[r.URL.Path] == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case calls[r.URL.Path] == 2:
			_, _ = w.Write([]byte("not JSON"))
		default:
			_, _ = w.Write([]byte(`{"data":[{"id":"m"}]}`))
		}
	})))
	d := c.Describe(t.Context(), 5*time.Second, 3)
	require.NoError(t, d.ModelsErr)
	require.True(t, engineapi.Final(d.InfoErr))
	require.Equal(t, map[string]int{"/v1/models": 3, "/server_info": 1, "/get_server_info": 1}, calls)
}

func TestClient_Probe(t *testing.T) {
	require.NoError(t, serve(t, map[string]string{"/health": ""}).Probe(t.Context()))
	require.NoError(t, serve(t, map[string]string{"/health": strings.Repeat("x", 1<<20)}).Probe(t.Context()))
	for _, status := range []string{"status 503", "status 302", "status 404"} {
		err := serve(t, map[string]string{"/health": status}).Probe(t.Context())
		require.ErrorContains(t, err, "GET /health: "+status)
	}
}

func TestClient_Metrics_isBoundedInSize(t *testing.T) {
	page, err := serve(t, map[string]string{"/metrics": strings.Repeat("x", 100)}).Metrics(t.Context())
	require.NoError(t, err)
	require.Len(t, page, 100)
	_, err = serve(t, map[string]string{"/metrics": strings.Repeat("x", 101)}).Metrics(t.Context())
	require.ErrorIs(t, err, engineapi.ErrTooLarge)
}

func TestClient_tellsARefusalFromATimeout(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	c := client(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := c.Probe(ctx)
	require.True(t, engineapi.TimedOut(err), "%v", err)
	require.False(t, engineapi.Refused(err))
	s.Close()
	err = c.Probe(t.Context())
	require.True(t, engineapi.Refused(err), "%v", err)
	require.False(t, engineapi.TimedOut(err))
}
