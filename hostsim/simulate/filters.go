package simulate

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/hostsim"
)

// callTime is how long a call to the state service takes.
const callTime = time.Millisecond

// bodyLimit lets the filter's own limit speak first: 32 MiB (design section 3).
const bodyLimit = 33 << 20

// startFilters makes the contexts of one proxy: a VM each, on one host.
func (r *run) startFilters(ctx context.Context) error {
	host := hostsim.NewHost()
	for i := range r.Contexts {
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], r.Seed)
		binary.LittleEndian.PutUint64(seed[8:], uint64(i))
		vm, err := r.Module.NewVM(ctx, hostsim.VMOptions{
			PluginName: "pointsman", VMID: "pointsman", PluginConfig: r.Config, AllowOnHeadersStopIteration: true,
			BodyLimit: bodyLimit, Host: host, Clock: r.Clock, Random: rand.NewChaCha8(seed),
			Callouts: callouts{r}, GRPC: r.streams(),
		})
		if err != nil {
			return err
		}
		r.filters = append(r.filters, vm)
	}
	return nil
}

// callouts carry the filters' calls to the state service and back.
type callouts struct{ run *run }

// HasCluster implements hostsim.CalloutTransport.
func (callouts) HasCluster(string) bool { return true }

// Send implements hostsim.CalloutTransport.
func (c callouts) Send(call hostsim.Callout, done func(hostsim.CalloutReply)) (cancel func()) {
	path, _ := call.Headers.First(":path")
	header := http.Header{}
	for _, h := range call.Headers.Pairs() {
		if !strings.HasPrefix(h[0], ":") {
			header.Add(h[0], h[1])
		}
	}
	c.run.ask(path, header, call.Body, func(a *answer) {
		done(hostsim.CalloutReply{
			Headers: hostsim.NewHeaders([2]string{":status", strconv.Itoa(a.status)}),
			Body:    a.body.Bytes(),
		})
	})
	return nil
}

// ask takes a request to the state service, and the answer back.
func (r *run) ask(path string, header http.Header, body []byte, then func(*answer)) {
	request, err := http.NewRequestWithContext(r.ctx, http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		r.after(callTime, func() { then(&answer{status: http.StatusBadRequest}) })
		return
	}
	request.Header = header
	r.after(callTime/2, func() {
		a := &answer{status: http.StatusOK, header: http.Header{}}
		r.Service.ServeHTTP(a, request)
		r.after(callTime/2, func() { then(a) })
	})
}

// answer is what the state service answers (http.ResponseWriter).
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
