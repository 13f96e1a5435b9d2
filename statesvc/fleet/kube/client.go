package kube

import (
	"context"
	"fmt"
	"time"

	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Slices lists and watches the EndpointSlices of a namespace. The typed clients of
// client-go are some.
type Slices interface {
	List(ctx context.Context, o meta.ListOptions) (*discovery.EndpointSliceList, error)
	Watch(ctx context.Context, o meta.ListOptions) (watch.Interface, error)
}

// client asks the API server. It knows EndpointSlices alone: client-go's clientset links
// every kind of Kubernetes.
type client struct {
	rest      rest.Interface
	namespace string
}

// Connect prepares a client of the namespace, empty for all. kubeconfig is a file, empty
// for the pod's service account. Nothing is asked yet.
func Connect(kubeconfig, namespace string) (Slices, error) {
	cfg, err := clientConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := discovery.AddToScheme(scheme); err != nil {
		return nil, err
	}
	meta.AddToGroupVersion(scheme, discovery.SchemeGroupVersion)
	cfg.GroupVersion, cfg.APIPath = &discovery.SchemeGroupVersion, "/apis"
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	cfg.UserAgent = "pointsman-statesvc"
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	return &client{rest: c, namespace: namespace}, nil
}

func clientConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("%w; outside a pod write discovery.kubernetes.kubeconfig", err)
	}
	return cfg, nil
}

// List implements Slices.
func (c *client) List(ctx context.Context, o meta.ListOptions) (*discovery.EndpointSliceList, error) {
	list := &discovery.EndpointSliceList{}
	err := c.request(o).Do(ctx).Into(list)
	return list, err
}

// Watch implements Slices.
func (c *client) Watch(ctx context.Context, o meta.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return c.request(o).Watch(ctx)
}

func (c *client) request(o meta.ListOptions) *rest.Request {
	r := c.rest.Get().Namespace(c.namespace).Resource("endpointslices").VersionedParams(&o, meta.ParameterCodec)
	if o.TimeoutSeconds != nil {
		r = r.Timeout(time.Duration(*o.TimeoutSeconds) * time.Second)
	}
	return r
}
