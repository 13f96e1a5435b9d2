package statesvc_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc"
	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/enginetest"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/pointsman/pointsman/statesvc/fleet/kube"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	typed "k8s.io/client-go/kubernetes/typed/discovery/v1"
)

// cluster is a service that follows the slices of a fake API server.
type cluster struct {
	*testing.T
	service *statesvc.Service
	slices  typed.EndpointSliceInterface
	seq     uint64
	reply   *wire.SyncReply // the last one to context 7
}

// listing is the fake client, which cannot begin a watch with a list.
type listing struct{ kube.Slices }

func (listing) IsWatchListSemanticsUnSupported() bool { return true }

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, slices: fake.NewClientset().DiscoveryV1().EndpointSlices("prod"), reply: &wire.SyncReply{}}
	open := func(cfg *config.Config, sink claims.Sink, log *slog.Logger) (statesvc.Source, error) {
		return kube.New(kube.Options{Config: cfg.Discovery.Kubernetes, MaxStringBytes: 256, Slices: listing{c.slices}, Sink: sink, Logger: log})
	}
	s, err := statesvc.New(parse(t, fastHeader+"discovery: {kubernetes: {enabled: true, services: [vllm]}}\n"), statesvc.Options{Kubernetes: open})
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(func() {
		require.NoError(t, s.Stop(context.Background()))
		http.DefaultClient.CloseIdleConnections()
	})
	<-s.Ready()
	c.service = s
	return c
}

// publish makes or replaces a slice of one pod, without an address when e is nil.
func (c *cluster) publish(name string, e *enginetest.Engine, uid string, change ...func(*discovery.EndpointSlice)) {
	c.Helper()
	s := &discovery.EndpointSlice{
		ObjectMeta:  meta.ObjectMeta{Namespace: "prod", Name: name, Labels: map[string]string{discovery.LabelServiceName: "vllm"}},
		AddressType: discovery.AddressTypeIPv4,
	}
	endpoint := discovery.Endpoint{TargetRef: &corev1.ObjectReference{UID: types.UID(uid)}}
	if e != nil {
		at := netip.MustParseAddrPort(e.Address())
		endpoint.Addresses = []string{at.Addr().String()}
		s.Ports = []discovery.EndpointPort{{Port: new(int32(at.Port()))}}
	}
	s.Endpoints = []discovery.Endpoint{endpoint}
	for _, f := range change {
		f(s)
	}
	_, err := c.slices.Update(context.Background(), s, meta.UpdateOptions{})
	if err != nil {
		_, err = c.slices.Create(context.Background(), s, meta.CreateOptions{})
	}
	require.NoError(c, err)
}

func (c *cluster) drop(name string) {
	c.Helper()
	require.NoError(c, c.slices.Delete(context.Background(), name, meta.DeleteOptions{}))
}

// report is a sync of context 7 that has what is given in flight.
func (c *cluster) report(gauges ...wire.WorkerGauge) *wire.SyncReply {
	c.Helper()
	c.seq++
	c.reply = sync(c.T, c.service, &wire.SyncRequest{Context: 7, Seq: c.seq, Replica: c.reply.Replica, Version: c.reply.Version, Workers: gauges})
	return c.reply
}

// until reports again and again, so that the context lives, until the list is as wanted.
func (c *cluster) until(what string, gauges []wire.WorkerGauge, holds func([]workerEntry) bool) []workerEntry {
	c.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		c.report(gauges...)
		list := workers(c.T, c.service)
		if holds(list) {
			return list
		}
		require.True(c, time.Now().Before(deadline), "%s: %+v", what, list)
		time.Sleep(5 * time.Millisecond)
	}
}

func ids(list []workerEntry) string {
	var out []string
	for _, w := range list {
		out = append(out, w.ID)
	}
	return strings.Join(out, " ")
}

// Endpoints that flap, come twice, lose their addresses or change roles: the fleet
// follows, and what contexts have in flight is counted as long as the pod lives.
func TestKubernetes_inflightOutlastsWhatSlicesDo(t *testing.T) {
	a, b := enginetest.Start(t), enginetest.Start(t)
	c := newCluster(t)
	c.publish("one", a, "u1")
	c.publish("two", b, "u2")
	list := c.until("both up", nil, func(l []workerEntry) bool {
		return len(l) == 2 && l[0].Healthy && l[1].Healthy
	})
	require.Equal(t, "prod/u1 prod/u2", ids(list))
	open := []wire.WorkerGauge{
		{ID: "prod/u1", Generation: list[0].Generation, Inflight: 3},
		{ID: "prod/u2", Generation: list[1].Generation, Inflight: 5},
	}
	counted := func(l []workerEntry) bool {
		return len(l) == 2 && l[0].Healthy && l[0].Inflight == 3 && l[1].Inflight == 5
	}
	c.until("counted", open, counted)

	for range 3 { // it flaps
		c.drop("one")
		c.until("gone", open, func(l []workerEntry) bool { return ids(l) == "prod/u2" && l[0].Inflight == 5 })
		c.publish("one", a, "u1")
		back := c.until("back", open, counted)
		require.Equal(t, list[0].Generation, back[0].Generation, "the same pod, the same life")
	}
	c.publish("three", a, "u1") // it comes twice
	c.publish("four", b, "u2")
	c.until("two still", open, counted)
	c.drop("one") // and moves
	c.drop("two")
	c.until("two still", open, counted)

	c.publish("three", nil, "u1") // it loses its address
	c.until("gone", open, func(l []workerEntry) bool { return ids(l) == "prod/u2" })
	c.publish("three", a, "u1", func(s *discovery.EndpointSlice) { s.Labels["pointsman.io/role"] = "prefill" })
	back := c.until("back as prefill", open, counted)
	require.Equal(t, "prefill", back[0].Role)
	c.publish("three", a, "u1", func(s *discovery.EndpointSlice) { s.Labels["pointsman.io/role"] = "decode" })
	c.until("decode in place", open, func(l []workerEntry) bool { return counted(l) && l[0].Role == "decode" })

	c.publish("three", a, "u1", func(s *discovery.EndpointSlice) { // it terminates
		s.Endpoints[0].Conditions = discovery.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
	})
	c.until("draining", open, func(l []workerEntry) bool { return counted(l) && l[0].Draining })
	open[0].Inflight = 0
	c.until("its last request ended", open, func(l []workerEntry) bool { return l[0].Inflight == 0 && l[1].Inflight == 5 })
	c.drop("three")
	c.until("gone", open[1:], func(l []workerEntry) bool { return ids(l) == "prod/u2" })

	c.publish("four", b, "u3") // another pod at the address
	last := c.until("replaced", open[1:], func(l []workerEntry) bool { return ids(l) == "prod/u3" && l[0].Healthy })
	require.Zero(t, last[0].Inflight, "nothing is in flight on a pod that is new")
	other := sync(t, c.service, &wire.SyncRequest{Context: 8, Seq: 1})
	require.Len(t, other.Workers, 1)
	require.Equal(t, []string{"prod/vllm"}, other.Workers[0].Services)
	require.Equal(t, core.StagePlain, other.Workers[0].Stage)
}

// Contexts hear of departures with their deltas, and of returns.
func TestKubernetes_deltasNameDepartures(t *testing.T) {
	e := enginetest.Start(t)
	c := newCluster(t)
	c.publish("one", e, "u1")
	c.until("up", nil, func(l []workerEntry) bool { return len(l) == 1 && l[0].Healthy })
	c.drop("one")
	deadline := time.Now().Add(20 * time.Second)
	for !slices.Contains(c.report().Removed, "prod/u1") {
		require.False(t, c.reply.Full)
		require.True(t, time.Now().Before(deadline))
		time.Sleep(time.Millisecond)
	}
	require.Empty(t, c.report().Removed)
}

func TestKubernetes_isRefusedWhereItIsNotBuiltIn(t *testing.T) {
	_, err := statesvc.New(parse(t, fastHeader+"discovery: {kubernetes: {enabled: true, services: [vllm]}}\n"), statesvc.Options{})
	require.ErrorContains(t, err, "discovery.kubernetes: this program is built without it")
}
