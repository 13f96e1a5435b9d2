package kube_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims/claimstest"
	"github.com/pointsman/pointsman/statesvc/fleet/kube"
	"github.com/stretchr/testify/require"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apiServer answers lists and watches of slices over HTTP, as much of it as the client
// needs.
type apiServer struct {
	stream bool // it can begin a watch with a list

	mu      sync.Mutex
	held    []*discovery.EndpointSlice
	version int
	watches []chan event
	asked   []string
}

type event struct {
	Type   string `json:"type"`
	Object any    `json:"object"`
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	q := r.URL.Query()
	a.asked = append(a.asked, r.URL.Path+" "+q.Get("labelSelector"))
	initial := q.Get("sendInitialEvents") == "true"
	w.Header().Set("Content-Type", "application/json")
	switch {
	case q.Get("watch") == "":
		list := discovery.EndpointSliceList{ListMeta: meta.ListMeta{ResourceVersion: fmt.Sprint(a.version)}}
		list.Kind, list.APIVersion = "EndpointSliceList", "discovery.k8s.io/v1"
		for _, s := range a.held {
			list.Items = append(list.Items, *s)
		}
		a.mu.Unlock()
		_ = json.NewEncoder(w).Encode(list)
	case initial && !a.stream:
		a.mu.Unlock()
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","message":"sendInitialEvents is forbidden","code":422}`))
	default:
		events := make(chan event, 64)
		if initial {
			for _, s := range a.held {
				events <- event{"ADDED", s}
			}
			events <- event{"BOOKMARK", a.typed(&discovery.EndpointSlice{ObjectMeta: meta.ObjectMeta{
				ResourceVersion: fmt.Sprint(a.version), Annotations: map[string]string{meta.InitialEventsAnnotationKey: "true"},
			}})}
		}
		a.watches = append(a.watches, events)
		a.mu.Unlock()
		a.pass(w, r, events)
	}
}

func (a *apiServer) pass(w http.ResponseWriter, r *http.Request, events chan event) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e := <-events:
			_ = json.NewEncoder(w).Encode(e)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func (a *apiServer) typed(s *discovery.EndpointSlice) *discovery.EndpointSlice {
	s.Kind, s.APIVersion = "EndpointSlice", "discovery.k8s.io/v1"
	return s
}

// add makes a slice and tells every watch.
func (a *apiServer) add(s *discovery.EndpointSlice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	s.ResourceVersion, s.UID = fmt.Sprint(a.version), "x"
	a.held = append(a.held, a.typed(s))
	for _, w := range a.watches {
		w <- event{"ADDED", s}
	}
}

func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`, server), 0o600))
	return path
}

// The client speaks to an API server, a new one or one that cannot begin a watch with a
// list.
func TestOpen_speaksToAnAPIServer(t *testing.T) {
	for _, stream := range []bool{true, false} {
		t.Run(fmt.Sprint("streams lists ", stream), func(t *testing.T) {
			api := &apiServer{stream: stream, version: 1}
			api.add(slice("a", pod("u1", "10.0.0.1")))
			server := httptest.NewServer(api)
			t.Cleanup(server.Close)
			cfg, err := config.Parse(fmt.Appendf(nil, "version: 1\ndiscovery: {kubernetes: {enabled: true, namespace: prod, services: [vllm], kubeconfig: %q}}", kubeconfig(t, server.URL)), os.Getenv)
			require.NoError(t, err)
			require.Empty(t, kube.Check(cfg))
			sink := &claimstest.Sink{}
			w, err := kube.Open(cfg, sink, slog.New(slog.DiscardHandler))
			require.NoError(t, err)
			w.Start()
			t.Cleanup(func() {
				w.Stop()
				server.CloseClientConnections()
			})
			sink.Await(t, "10.0.0.1:8000")
			api.add(slice("b", pod("u2", "10.0.0.2")))
			sink.Await(t, "10.0.0.1:8000", "10.0.0.2:8000")
			require.Empty(t, sink.Errors())
			api.mu.Lock()
			defer api.mu.Unlock()
			for _, asked := range api.asked {
				require.Equal(t, "/apis/discovery.k8s.io/v1/namespaces/prod/endpointslices kubernetes.io/service-name in (vllm)", asked)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	cfg, err := config.Parse([]byte("version: 1\ndiscovery: {kubernetes: {enabled: true, selector: 'a in b', kubeconfig: /none}}"), os.Getenv)
	require.NoError(t, err)
	problems := kube.Check(cfg)
	require.Len(t, problems, 2)
	require.Equal(t, "discovery.kubernetes.selector", problems[0].Path)
	require.Equal(t, "discovery.kubernetes.kubeconfig", problems[1].Path)
	_, err = kube.Open(cfg, nil, nil)
	require.Error(t, err)
	cfg.Discovery.Kubernetes.Kubeconfig = ""
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err = kube.Open(cfg, nil, nil)
	require.ErrorContains(t, err, "outside a pod write discovery.kubernetes.kubeconfig")
}
