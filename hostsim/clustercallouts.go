package hostsim

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
)

// clusterCallouts carries callouts over HTTP to the hosts of a proxy's clusters. Endpoint headers of a call choose the
// host as those of a request do (envoy.md 3.2). Safe for concurrent use.
type clusterCallouts struct {
	clusters map[string]*cluster
	calls    sync.WaitGroup
}

func newClusterCallouts(clusters map[string]*cluster) *clusterCallouts {
	return &clusterCallouts{clusters: clusters}
}

// HasCluster implements CalloutTransport.
func (t *clusterCallouts) HasCluster(name string) bool { return t.clusters[name] != nil }

// Send implements CalloutTransport.
func (t *clusterCallouts) Send(c Callout, done func(CalloutReply)) (cancel func()) {
	ctx, cancel := context.WithCancel(context.Background())
	t.calls.Go(func() {
		defer cancel()
		if r, ok := t.roundTrip(ctx, c); ok {
			done(r)
		}
	})
	return cancel
}

// wait returns when no call runs any more. VMs cancel theirs when they close.
func (t *clusterCallouts) wait() { t.calls.Wait() }

// roundTrip makes the call; ok is false when it was cancelled.
func (t *clusterCallouts) roundTrip(ctx context.Context, c Callout) (r CalloutReply, ok bool) {
	cl := t.clusters[c.Cluster]
	hosts := cl.walk(c.Headers)
	for try := 1; ; try++ {
		host, err := hosts.next()
		if err != nil {
			return TextReply(http.StatusServiceUnavailable, "no healthy upstream"), true
		}
		resp, err := cl.send(ctx, calloutAttempt(host, c))
		switch {
		case err == nil:
			return readReply(resp), true
		case ctx.Err() != nil:
			return CalloutReply{}, false
		case connectFailed(err) && try <= cl.Retries:
			continue
		}
		text := noHeadersText + "connection termination"
		if connectFailed(err) {
			text = connectFailureText
		}
		return TextReply(http.StatusServiceUnavailable, text), true
	}
}

func calloutAttempt(host endpoint, c Callout) attempt {
	a := attempt{host: host, headers: c.Headers, body: http.NoBody}
	if len(c.Body) > 0 {
		a.length = int64(len(c.Body))
		a.getBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.Body)), nil }
		a.body, _ = a.getBody()
	}
	return a
}

// readReply reads a whole answer; one that breaks off or is above the limit is a reset.
func readReply(resp *http.Response) CalloutReply {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, DefaultCalloutLimit+1))
	if err != nil || len(body) > DefaultCalloutLimit {
		return CalloutReply{Reset: true}
	}
	r := CalloutReply{Headers: responseHeaders(resp), Body: body}
	if len(resp.Trailer) > 0 {
		r.Trailers = NewHeaders()
		addFields(r.Trailers, resp.Trailer)
	}
	return r
}
