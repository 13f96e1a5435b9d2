package kube_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims/claimstest"
	"github.com/pointsman/pointsman/statesvc/fleet/kube"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a fake API server with a watcher of its namespace prod.
type cluster struct {
	*testing.T
	set  *fake.Clientset
	sink *claimstest.Sink
	sick atomic.Bool // it answers no list and no watch
}

func newCluster(t *testing.T, cfg config.KubernetesDiscovery, objects ...runtime.Object) *cluster {
	t.Helper()
	c := &cluster{T: t, set: fake.NewClientset(objects...), sink: &claimstest.Sink{}}
	c.set.PrependReactor("list", "endpointslices", func(kubetesting.Action) (bool, runtime.Object, error) {
		return c.sick.Load(), nil, errors.New("connection lost")
	})
	return c.watch(cfg)
}

func (c *cluster) watch(cfg config.KubernetesDiscovery) *cluster {
	c.Helper()
	w, err := kube.New(kube.Options{
		Config: cfg, MaxStringBytes: 256, Slices: listing{c.set.DiscoveryV1().EndpointSlices("prod")},
		Sink: c.sink, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(c, err)
	w.Start()
	c.Cleanup(w.Stop)
	return c
}

// listing is the fake client of the slices, which cannot begin a watch with a list.
type listing struct{ kube.Slices }

// IsWatchListSemanticsUnSupported is how client-go asks.
func (listing) IsWatchListSemanticsUnSupported() bool { return true }

func (c *cluster) create(s *discovery.EndpointSlice) {
	c.Helper()
	_, err := c.set.DiscoveryV1().EndpointSlices(s.Namespace).Create(context.Background(), s, meta.CreateOptions{})
	require.NoError(c, err)
}

func (c *cluster) update(s *discovery.EndpointSlice) {
	c.Helper()
	_, err := c.set.DiscoveryV1().EndpointSlices(s.Namespace).Update(context.Background(), s, meta.UpdateOptions{})
	require.NoError(c, err)
}

func (c *cluster) remove(name string) {
	c.Helper()
	require.NoError(c, c.set.DiscoveryV1().EndpointSlices("prod").Delete(context.Background(), name, meta.DeleteOptions{}))
}

var vllm = config.KubernetesDiscovery{Enabled: true, Services: []string{"vllm"}}

func TestWatcher_followsSlices(t *testing.T) {
	elsewhere := slice("x", pod("u9", "10.0.0.9"))
	elsewhere.Namespace = "test"
	other := with(slice("y", pod("u8", "10.0.0.8")), func(s *discovery.EndpointSlice) { s.Labels[discovery.LabelServiceName] = "web" })
	c := newCluster(t, vllm, slice("a", pod("u1", "10.0.0.1")), elsewhere, other)
	c.sink.Await(t, "10.0.0.1:8000")
	c.create(slice("b", pod("u2", "10.0.0.2")))
	c.sink.Await(t, "10.0.0.1:8000", "10.0.0.2:8000")
	c.update(slice("b", pod("u3", "10.0.0.3")))
	c.sink.Await(t, "10.0.0.1:8000", "10.0.0.3:8000")
	c.update(slice("b")) // loses its addresses
	c.sink.Await(t, "10.0.0.1:8000")
	c.update(slice("b", pod("u4", "10.0.0.4", terminating)))
	c.sink.Await(t, "10.0.0.1:8000", "10.0.0.4:8000")
	require.True(t, c.sink.List()[1].Worker.Draining)
	c.remove("a")
	c.sink.Await(t, "10.0.0.4:8000")
	require.Empty(t, c.sink.Errors())
}

// An endpoint that moves from one slice to another is never gone.
func TestWatcher_movesAreNoGaps(t *testing.T) {
	c := newCluster(t, vllm, slice("a", pod("u1", "10.0.0.1"), pod("u2", "10.0.0.2")))
	c.sink.Await(t, "10.0.0.1:8000", "10.0.0.2:8000")
	said := c.sink.Said()
	c.update(slice("a", pod("u1", "10.0.0.1")))
	c.create(slice("b", pod("u2", "10.0.0.2")))
	claimstest.Eventually(t, func() bool { return c.sink.Said() > said }, c.sink.Said)
	require.Equal(t, []string{"10.0.0.1:8000", "10.0.0.2:8000"}, c.sink.Addresses())
}

func TestWatcher_saysNothingBeforeTheFirstList(t *testing.T) {
	set := fake.NewClientset(slice("a", pod("u1", "10.0.0.1")))
	c := &cluster{T: t, set: set, sink: &claimstest.Sink{}}
	c.sick.Store(true)
	set.PrependReactor("list", "endpointslices", func(kubetesting.Action) (bool, runtime.Object, error) {
		return c.sick.Load(), nil, errors.New("connection lost")
	})
	c.watch(vllm)
	claimstest.Eventually(t, func() bool { return len(c.sink.Errors()) > 0 }, c.sink.Errors)
	require.Equal(t, "list EndpointSlices: connection lost", c.sink.Errors()[0])
	require.Zero(t, c.sink.Said())
	c.sick.Store(false)
	c.sink.Await(t, "10.0.0.1:8000")
}

func TestSelector(t *testing.T) {
	text, err := kube.Selector(config.KubernetesDiscovery{Selector: "app=vllm,tier in (a,b),!old", Services: []string{"x", "y"}})
	require.NoError(t, err)
	require.Equal(t, "app=vllm,tier in (a,b),!old,kubernetes.io/service-name in (x,y)", text)
	_, err = kube.Selector(config.KubernetesDiscovery{Selector: "app in vllm"})
	require.ErrorContains(t, err, "selector: ")
}
